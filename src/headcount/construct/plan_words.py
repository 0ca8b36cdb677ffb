"""A plan for people: one sentence, a page for notebooks, a figure; every word from the data."""

import html as escaping
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headcount.core.claims import Precision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headcount.construct.plan_record import Plan, Row

NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
COLUMNS = ("bias", "softmax", "layers", "heads", "neurons", "param.", "error", "reaches")


def counted(count: int, noun: str, capital: bool = False) -> str:
    """`one layer`, `12 heads`."""
    word = NUMBERS[count] if count < len(NUMBERS) else str(count)
    return f"{word if capital else word.lower()} {noun}{'' if count == 1 else 's'}"


def named(row: "Row") -> str:
    """`RoPE`, `lin (ALiBi)`: the bias by the name that people know; `peak+lin` in two layers."""
    if row.familiar is None:
        return "+".join(row.biases)
    return row.familiar if row.familiar.lower() == row.bias else f"{row.bias} ({row.familiar})"


def sentence(plan: "Plan", target: str) -> str:
    """What to take, and what is proved out of reach; no stronger than the claims."""
    from headcount.construct.plan_record import Need  # the plan imports its words

    best, what = plan.recommended, f"{target} to {plan.tol:g}"
    out = [row for row in plan.rows if row.reachable is False]
    cannot = ""
    if out:
        names = ", ".join(dict.fromkeys(named(row) for row in out))
        finest = max(claim.scope.resolution for row in out for claim in row.impossibilities[:1])
        cannot = (
            f"{names} heads without dot product cannot in one layer, however many and whatever"
            f" follows: proved where each head output may be off by up to {finest:.2g}"
        )
    if best is None or best.architecture is None:
        return f"Nothing found here reaches {what}" + (f"; {cannot}." if cannot else ".")
    if not cannot:
        cannot = _not_found(plan)
    a = best.architecture
    kind = "softmax " if best.softmax else ""
    where = counted(a.layers, f"{kind}layer", capital=True)
    each = " each" if a.layers > 1 else ""
    told = f"{where} with {counted(a.heads, f'{named(best)} head')}{each} reach"
    told += "es" if a.layers == 1 else ""
    if Need.ONE_LENGTH in best.needs:
        what += f" at the end of sequences of exactly {best.request.length} tokens"
    return f"{told} {what}" + (f"; {cannot}." if cannot else ".")


def _not_found(plan: "Plan") -> str:
    """Biases of which every row is undecided: neither weights nor a proof."""
    found = {row.bias for row in plan.rows if row.reachable is not None}
    names = list(dict.fromkeys(named(row) for row in plan.rows if row.bias not in found))
    if not names:
        return ""
    return f"with {_listed(names)} none was found, and no proof covers all such models"


def _listed(names: list[str]) -> str:
    return " or ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def unplanned(plan: "Plan") -> str:
    """What `--standard` names and no row of this plan is about, with the reason."""
    from headcount.construct.plan_record import FAMILIAR  # the plan imports its words

    planned = {row.bias for row in plan.rows}
    none = [name for name in ("learned", "sinusoidal") if FAMILIAR[name] is None]
    told = [f"{_listed(none)} positions (no construction is written)"] if none else []
    if "table" not in planned:
        told.append("T5 (its buckets do not tell these lags apart)")
    return "; ".join(told)


def cells(row: "Row") -> list[str]:
    """One line of the table."""
    a = row.architecture
    verdict = {True: "yes", False: "no", None: "undecided"}[row.reachable]
    kind = "–"
    if row.softmax:  # "softmax-bos" under the heading "softmax" is "bos"
        kind = row.request.normaliser.removeprefix("softmax").removeprefix("-") or "plain"
    asked = "–" if row.layers_asked is None else str(row.layers_asked)
    sizes = [asked, *["–"] * 3] if a is None else [str(a.layers), str(a.heads), str(a.width)]
    if a is not None:
        count = row.parameters or 0
        sizes.append(str(count) if count < 1_000_000 else f"{count:.0e}")
    return [named(row), kind, *sizes, "–" if a is None else f"{row.worst:.2g}", verdict]


def measure(plan: "Plan") -> str:
    """What the errors of the table are: promises are those of float64."""
    wide = plan.precision is Precision.FLOAT64
    promised = f"is promised in {Precision.FLOAT64}"
    return promised if wide else f"{promised} or was seen in {plan.precision}"


def remarks(row: "Row") -> list[str]:
    """What the footnotes of a row say."""
    told = [f"needs {need}" for need in row.needs]
    return told if row.reachable else [*told, row.reason]


def footnotes(plan: "Plan") -> tuple[list[str], list[str]]:
    """The texts, each once, and the marks of every row."""
    texts: list[str] = []
    marks = []
    for row in plan.rows:
        own = []
        for text in remarks(row):
            if text not in texts:
                texts.append(text)
            own.append(str(texts.index(text) + 1))
        marks.append(",".join(own))
    return texts, marks


def minimum_words(plan: "Plan") -> str:
    """`2 layers (>= 2 proved), 1 head, 6 neurons (minimum open)`."""
    best = plan.recommended
    if best is None or best.architecture is None:
        return ""
    a = best.architecture
    found = {"layers": a.layers, "heads": a.heads, "neurons": a.width}
    return ", ".join(minimum.words(found[minimum.size]) for minimum in plan.minimum)


def html(plan: "Plan") -> str:
    """A table for notebooks."""
    texts, marks = footnotes(plan)
    head = "".join(f"<th>{name}</th>" for name in (*COLUMNS, ""))
    front = plan.front
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escaping.escape(cell)}</td>" for cell in (*cells(row), mark))
        + f"<td>{'front' if row in front else ''}</td></tr>"
        for row, mark in zip(plan.rows, marks, strict=True)
    )
    notes = "".join(f"<li>{escaping.escape(text)}</li>" for text in texts)
    answer = escaping.escape(plan.words())
    return f"<p>{answer}</p><table><tr>{head}</tr>{body}</table><ol>{notes}</ol>"


def figure(plan: "Plan") -> "Figure":
    """Error against parameters: a colour per bias, the front joined."""
    from matplotlib.ticker import LogFormatter  # not needed for a plan

    from headcount.core.picture import Picture

    made = Picture(figsize=(7, 4), layout="constrained")
    axes = made.add_subplot()
    floor = plan.tol * 1e-12

    def drawn(rows: "Sequence[Row]", *style: str, **options: Any) -> None:
        sizes = [row.parameters or 1 for row in rows]
        axes.plot(sizes, [max(row.worst, floor) for row in rows], *style, **options)

    front = sorted(plan.front, key=lambda row: row.parameters or 0)
    drawn(front, ":", color="0.5", label="front")
    reachable = [row for row in plan.rows if row.reachable]
    for number, name in enumerate(dict.fromkeys(map(named, reachable))):
        for softmax, fill in ((True, "full"), (False, "none")):
            rows = [r for r in reachable if named(r) == name and r.softmax == softmax]
            label = name if softmax else f"{name}, no softmax"
            if rows:
                drawn(rows, "o", color=f"C{number}", fillstyle=fill, label=label)
    axes.axhline(plan.tol, color="0.3", linewidth=0.8, label="tolerance")
    axes.set(
        xscale="log", yscale="log", xlabel="parameters", ylabel="largest error promised or seen",
        title=f"{plan.target.kind}, tolerance {plan.tol:g}",
    )  # fmt: skip
    axes.xaxis.set_minor_formatter(LogFormatter())  # 20, not 2 x 10^1: those run into each other
    # beside the axes: marks often lie on each other, and names written there would too
    made.legend(loc="outside right upper", fontsize="small")
    return made
