"""The page of a finite-sample study: its terms over n on logarithmic axes."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headcount.report.axis_marks import log_ticks
from headcount.report.figures import style
from headcount.report.palette import LIGHT
from headcount.report.study_page import StudyKind, StudyPage
from headcount.report.wording import spread
from headcount.studies.decomposition import RiskPoint, Term
from headcount.studies.finite_sample import FiniteSample
from headcount.theory.sample_bounds import Quantity

BOUND_COLOURS = (LIGHT["c5"], LIGHT["c4"])
DRAWN = (Quantity.RISK, Quantity.CLIPPED_RISK)  # squared errors, as the curve
FAINT = 1e-7  # a part below this share of the trivial risk stands in the table only
LOOKS = {
    Term.APPROXIMATION: (LIGHT["c0"], "s"), Term.PRECISION: (LIGHT["c3"], "^"),
    Term.ESTIMATION: (LIGHT["c2"], "D"), Term.OPTIMISATION: (LIGHT["c1"], "v"),
}  # fmt: skip


def place(found: FiniteSample, point: RiskPoint) -> int:
    return point.n or 0 if found.axis == "n" else point.at[found.axis]


def figure(found: FiniteSample) -> Figure | None:
    """The risk with its band, and its parts; one point is no curve."""
    if len(found.curve) < 2:
        return None
    with style(StudyKind.FINITE_SAMPLE):
        return _drawn(found)


def _drawn(found: FiniteSample) -> Figure:
    canvas = Figure(figsize=(7.5, 5.2), layout="constrained", facecolor=LIGHT["paper"])
    axes = canvas.add_subplot(facecolor="none")
    at = [place(found, point) for point in found.curve]
    risk = [point.risk for point in found.curve]
    axes.plot(at, [r.value for r in risk], color=LIGHT["ink"], marker="o", lw=2, label="risk")
    low = [max(r.interval.low, r.value / 100) if r.interval else r.value for r in risk]
    high = [r.interval.high if r.interval else r.value for r in risk]
    axes.fill_between(at, low, high, color=LIGHT["ink"], alpha=0.12, lw=0)
    for term, (colour, mark) in LOOKS.items():
        values = [point.terms[term] for point in found.curve]
        least = FAINT * found.trivial
        drawn = [(x, v.value) for x, v in zip(at, values, strict=True) if v and v.value > least]
        if drawn:
            axes.plot(*zip(*drawn, strict=True), color=colour, marker=mark, ms=4, lw=1.4,
                      label=str(term))  # fmt: skip
    _draw_bounds(axes, found)
    axes.axhline(found.trivial, color=LIGHT["muted"], ls=":", lw=1)
    axes.annotate("best constant answer", (at[0], found.trivial), fontsize=8, va="bottom")
    if found.needed is not None:
        axes.axhline(found.needed.error, color=LIGHT["muted"], ls="--", lw=1)
        if found.needed.n is not None:
            axes.axvline(found.needed.n, color=LIGHT["muted"], ls="--", lw=1)
    axes.set(xscale="log", yscale="log", xlabel="samples n" if found.axis == "n" else found.axis,
             ylabel="excess risk")  # fmt: skip
    log_ticks(axes.xaxis, *axes.get_xlim(), at)
    log_ticks(axes.yaxis, *axes.get_ylim())
    canvas.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return canvas


def _draw_bounds(axes: Axes, found: FiniteSample) -> None:
    """Explicit bounds at each n, where they say more than the range of the loss, and what was
    measured of the same quantity: it is not the risk of the curve, whose answers are not clipped.
    """
    at_most: dict[str, list[tuple[int, float]]] = {}
    measured: dict[str, dict[int, float]] = {}
    for n, claim in found.bounds:
        if not (n and found.axis == "n" and claim.quantity in DRAWN) or claim.trivial:
            continue
        at_most.setdefault(f"{claim.quantity}: at most ({claim.method})", []).append(
            (n, claim.value)
        )
        if claim.measured is not None:
            measured.setdefault(f"{claim.quantity}, first seed", {})[n] = claim.measured
    for (label, points), colour in zip(at_most.items(), BOUND_COLOURS, strict=False):
        axes.plot(*zip(*points, strict=True), color=colour, ls=(0, (4, 2)), lw=1.2, label=label)
    for label, values in measured.items():
        axes.plot(list(values), list(values.values()), color=LIGHT["muted"], marker="x", ms=5,
                  lw=1, label=label)  # fmt: skip


def page(found: FiniteSample) -> StudyPage:
    columns = (found.axis, "risk", "interval", *map(str, Term), "largest", "seeds")
    rows = []
    for point in found.curve:
        terms, risk = point.terms, point.risk
        ends = risk.interval
        seeds = len(point.risks)
        told = spread(ends.low, ends.high, seeds) if ends else "1 seed" if seeds == 1 else ""
        each = (None if term is None else term.value for term in terms.values())
        rows.append((place(found, point), risk.value, told, *each, str(point.dominant),
                     seeds))  # fmt: skip
    claims = (f"n = {n}: {claim}" if n else str(claim) for n, claim in found.bounds)
    notes = (*found.notes, *claims)
    caption = (
        "Excess risk and its parts; the band is a 90% interval of the mean over seeds, for all"
        " sizes at once. Parts that are zero, negative or next to nothing are in the table only."
    )
    if found.axis == "n" and not found.labels:
        caption += (
            " Dashed: explicit bounds, each with probability 0.95, for answers clipped to the"
            " largest |y|; crosses: what was measured of them. The curve is of answers as they are."
        )
    return StudyPage(StudyKind.FINITE_SAMPLE, f"Finite samples: {found.target}",
                     found.sentences(), figure(found), caption, columns, rows, notes,
                     found.profile)  # fmt: skip
