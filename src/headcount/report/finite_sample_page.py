"""The page of a finite-sample study: its terms over n on logarithmic axes."""

from matplotlib.figure import Figure

from headcount.report.study_page import StudyPage
from headcount.studies.decomposition import RiskPoint, Term
from headcount.studies.finite_sample import FiniteSample

COLOURS = {
    Term.APPROXIMATION: "#4269d0", Term.PRECISION: "#9c6b4e",
    Term.ESTIMATION: "#efb118", Term.OPTIMISATION: "#ff725c",
}  # fmt: skip


def place(found: FiniteSample, point: RiskPoint) -> int:
    return point.n or 0 if found.axis == "n" else point.at[found.axis]


def figure(found: FiniteSample) -> Figure:
    canvas = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = canvas.add_subplot()
    at = [place(found, point) for point in found.curve]
    risk = [point.risk for point in found.curve]
    axes.plot(at, [r.value for r in risk], color="black", marker="o", lw=2, label="risk")
    low = [max(r.interval.low, 1e-300) if r.interval else r.value for r in risk]
    high = [r.interval.high if r.interval else r.value for r in risk]
    axes.fill_between(at, low, high, color="black", alpha=0.12, lw=0)
    for term, colour in COLOURS.items():
        values = [point.terms[term] for point in found.curve]
        drawn = [(x, v.value) for x, v in zip(at, values, strict=True) if v and v.value > 0]
        if drawn:
            axes.plot(*zip(*drawn, strict=True), color=colour, marker=".", lw=1.4, label=str(term))
    axes.axhline(found.trivial, color="grey", ls=":", lw=1)
    axes.annotate("best constant answer", (at[0], found.trivial), fontsize=8, va="bottom")
    if found.needed is not None:
        axes.axhline(found.needed.error, color="grey", ls="--", lw=1)
        if found.needed.n is not None:
            axes.axvline(found.needed.n, color="grey", ls="--", lw=1)
    axes.set(xscale="log", yscale="log", xlabel="samples n" if found.axis == "n" else found.axis,
             ylabel="excess risk")  # fmt: skip
    axes.set_xticks(at, [f"{x:,}" for x in at])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9)
    return canvas


def page(found: FiniteSample) -> StudyPage:
    columns = (found.axis, "risk", "interval", *map(str, Term), "largest", "seeds")
    rows = []
    for point in found.curve:
        terms, risk = point.terms, point.risk
        ends = risk.interval
        told = f"[{ends.low:.2g}, {ends.high:.2g}]" if ends else ""
        each = (None if term is None else term.value for term in terms.values())
        rows.append((place(found, point), risk.value, told, *each, str(point.dominant),
                     len(point.risks)))  # fmt: skip
    claims = (f"n = {n}: {claim}" if n else str(claim) for n, claim in found.bounds)
    notes = (*found.notes, *claims)
    caption = (
        "Excess risk and its parts; the band is a 90% interval of the mean over seeds. Parts that"
        " are zero or negative are in the table only."
    )
    return StudyPage(f"Finite samples: {found.target}", found.sentences(), figure(found), caption,
                     columns, rows, notes)  # fmt: skip
