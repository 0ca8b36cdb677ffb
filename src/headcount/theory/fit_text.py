"""A `KernelFit` for people: one line, four numbers with a sentence each, heads, a figure, HTML."""

import html as markup
from typing import TYPE_CHECKING, Any

from headcount.core.claims import phrase, rounded

if TYPE_CHECKING:
    from headcount.theory.fit_record import KernelFit

Row = tuple[str, str, str]  # name, value, sentence
MOST_SHOWN = 64  # heads in a table
FAR = 1.1  # fit over bound: told as a factor from here on


def counted(fit: "KernelFit") -> str:
    return f"{fit.heads} {fit.bias} head{'s' if fit.heads != 1 else ''}"


def one_line(fit: "KernelFit") -> str:
    """Kernel, heads, error and bound."""
    bound = fit.lower_bound
    least = f", at least {rounded(bound.value, 4, up=False)}" if bound and bound.value > 0 else ""
    return f"{fit.kernel}, {counted(fit)}: {fit.norm} error {fit.error[fit.norm]:.4g}{least}"


def title(fit: "KernelFit") -> str:
    size = fit.errors.kernel[fit.norm]
    return f"{fit.kernel}: {counted(fit)}, {fit.norm} error (the kernel itself: {size:.4g})"


def four_numbers(fit: "KernelFit") -> list[Row]:
    """Promised, possible with its floor, representable, and who tells what is learned."""
    rows = [_promised(fit), _possible(fit), _bound(fit)]
    for name, held in fit.rounded.items():
        value = f"{held.error[fit.norm]:.4g}" if held.finite else "overflows"
        kept = f"the same heads computed in {name}: what a model in that format has"
        if fit.by_chance(name):
            kept += (
                f"; by chance: {fit.digits_lost:.1f} digits are lost, it has"
                f" {held.dtype.digits:.1f}, and roundings happen to agree"
            )
        rows.append(("representable", value, kept))
    rows.append(("learned", "-", "what training finds is not computed here: headcount train"))
    tail = fit.errors.tail
    if tail.included and tail.bound > 1e-9 * fit.error.l1:
        rows.append(("tail", f"{tail.bound:.2g}", f"l1 beyond lag {tail.start - 1}: {tail.reason}"))
    return rows + [("note", "", note) for note in fit.notes]


def head_rows(fit: "KernelFit") -> list[Row]:
    """Number, rate (or other parameters) and coefficient of each head."""
    names = [f"{rate:.6g}" for rate in fit.rates]
    if fit.parameters:
        names = [", ".join(f"{k} {_short(v)}" for k, v in p.items()) for p in fit.parameters]
    made = [
        (str(h), name, _short(a))
        for h, (name, a) in enumerate(zip(names, fit.coefficients, strict=True), 1)
    ]
    left = len(made) - MOST_SHOWN
    return made if left <= 0 else [*made[:MOST_SHOWN], ("…", f"and {left} more", "")]


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 24 else f"{text[:8]}…{text[-8:]}"


def _promised(fit: "KernelFit") -> Row:
    promised = fit.promised
    if not promised.applies:
        return "promised", "does not apply", "; ".join(promised.reasons)
    value = (
        f"{promised.value:.4g}" if promised.value is not None else f"1e{promised.log10_value:.0f}"
    )
    vacuous = ", more than no head at all" if promised.vacuous else ""
    value += " (vacuous)" if promised.vacuous else ""
    said = f"the paper's bound with its constants{vacuous} ({promised.source}, n = {promised.n})"
    return "promised", value, said


def _possible(fit: "KernelFit") -> Row:
    total = fit.coefficient_sum
    shown = f"{total:.3g}" if isinstance(total, float) else f"{total[:4]}e{total.split('e')[1]}"
    said = (
        f"the best heads found reach this; their coefficients add up to sum|a| = {shown} without"
        f" signs, which costs {fit.digits_lost:.1f} digits (method: {fit.method})"
    )
    return "possible", f"{fit.error[fit.norm]:.4g}", said


def _bound(fit: "KernelFit") -> Row:
    bound, name = fit.lower_bound, "  at least"
    if bound is None:
        decays = fit.bias in ("lin", "log", "log1p")
        asked = "no lower bound was asked for"
        return name, "-", asked if decays else f"no lower bound is known for {fit.bias}"
    if bound.value == 0:
        return name, "0", "no lower bound worth showing was found: none, or far below the fit"
    shown = rounded(bound.value, 4, up=False)
    said = f"no such heads come closer: {phrase(bound.scope)}; {bound.method} ({bound.status})"
    if fit.window is None and bound.scope.lags.stop is not None:
        said += "; what these lags alone cost, all lags cost too"
    ratio = fit.error[fit.norm] / bound.value
    if ratio >= FAR:
        said += f"; the fit is {rounded(ratio, 3, up=True)} times this"
    elif ratio > 1:
        said += f"; the fit is within {rounded(100 * (ratio - 1), 2, up=True)}% of it"
    return name, shown, said


def html(fit: "KernelFit") -> str:
    """Two tables for a notebook."""
    numbers = _table(("number", "value", "what it says"), four_numbers(fit))
    heads = _table(("head", "rate", "coefficient"), head_rows(fit))
    return (
        f"<p><b>{markup.escape(title(fit))}</b></p>{numbers}"
        f"<details><summary>heads</summary>{heads}</details>"
    )


def _table(header: Row, rows: list[Row]) -> str:
    top = "".join(f"<th>{markup.escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{markup.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def figure(fit: "KernelFit") -> Any:
    """Kernel and fit above, residual below, by lag."""
    from headcount.core.picture import Picture

    made = Picture(figsize=(8, 6), layout="constrained")
    upper, lower = made.subplots(2, 1, sharex=True)
    target, drawn = fit.target, fit.drawn()
    lags, steps = range(len(target)), {"drawstyle": "steps-mid"}
    upper.plot(lags, target, color="black", linewidth=1.5, label=f"kernel {fit.kernel}", **steps)
    upper.plot(
        lags, drawn, color="tab:red", linewidth=1, linestyle="--", label=counted(fit), **steps
    )
    upper.set_ylabel("weight")
    upper.legend()
    lower.plot(lags, target - drawn, color="tab:blue", linewidth=1)
    lower.set_xlabel("lag")
    lower.set_ylabel("kernel - fit")
    lower.set_title(f"{fit.norm} error {fit.error[fit.norm]:.4g}", fontsize="medium")
    lower.set_xlim(0, _shown(target))
    return made


def curve_figure(fits: "list[KernelFit]") -> Any:
    """Error and certified floor against the number of heads."""
    from headcount.core.picture import Picture

    made = Picture(figsize=(7, 4.5), layout="constrained")
    axes = made.subplots()
    heads = [fit.heads for fit in fits]
    errors = [fit.error[fit.norm] for fit in fits]
    axes.plot(heads, errors, "o-", color="tab:red", label="possible: the best heads found")
    floors = [fit.lower_bound.value if fit.lower_bound else 0.0 for fit in fits]
    if any(floors):
        shown = [floor if floor > 0 else float("nan") for floor in floors]
        axes.plot(heads, shown, "_--", color="black", label="at least: proved")
    if min(errors) > 0:
        axes.set_yscale("log")
    axes.set_xlabel(f"{fits[0].bias} heads")
    axes.set_ylabel(f"{fits[0].norm} error")
    axes.set_title(f"kernel {fits[0].kernel}", fontsize="medium")
    axes.legend()
    return made


def _shown(target: Any) -> int:
    """Lags up to where 99.9 % of the kernel's mass lies, and a little more."""
    mass = abs(target).cumsum()
    inside = int((mass < 0.999 * mass[-1]).sum()) + 1
    return min(len(target) - 1, max(8, round(1.5 * inside)))
