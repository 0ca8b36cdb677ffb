"""The page of a robustness study: the map of insights and variants as a picture."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headcount.lab.judge.verdict import Outcome
from headcount.report.figures import style
from headcount.report.palette import BADGES, LIGHT
from headcount.report.study_page import StudyKind, StudyPage
from headcount.report.wording import spread
from headcount.studies.probes import BASE, PROBES, VARIANTS
from headcount.studies.robustness import Cell, Robustness

IDLE = "○"
SHADES = {
    Outcome.REFUTED: LIGHT["c1"],
    Outcome.UNDECIDED: LIGHT["grid"],
    Outcome.SUPPORTED: LIGHT["c2"],
}


def figure(found: Robustness) -> Figure:
    """Insights across, variants down; sign and effect in each cell, its outcome as colour too."""
    known = {probe.insight for probe in PROBES}
    single = [cell for cell in found.cells if len(cell.variants) == 1]
    cells = [cell for cell in single if cell.probe.insight in known] or single
    insights = list(dict.fromkeys(cell.probe.insight for cell in cells))
    found_names = {f"{cell.factor}: {cell.name}" for cell in cells}
    order = (f"{each.factor}: {each.name}" for each in (BASE, *VARIANTS))
    names = [name for name in order if name in found_names]
    with style(StudyKind.ROBUSTNESS):
        size = (max(7.0, 2.6 + 0.85 * len(insights)), 1.2 + 0.3 * len(names))
        canvas = Figure(figsize=size, layout="constrained", facecolor=LIGHT["paper"])
        axes = canvas.add_subplot()
        for cell in cells:
            row = names.index(f"{cell.factor}: {cell.name}")
            column = insights.index(cell.probe.insight)
            shade = SHADES.get(cell.outcome, LIGHT["grid"])
            corner = (column - 0.48, row - 0.46)
            axes.add_patch(Rectangle(corner, 0.96, 0.92, color=shade, alpha=0.35, lw=0))
            told = f"{mark(cell)} {cell.effect:.2g}"
            axes.text(column, row, told, ha="center", va="center", fontsize=8)
        axes.set(xlim=(-0.5, len(insights) - 0.5), ylim=(len(names) - 0.5, -0.5))
        axes.set_xticks(range(len(insights)), insights)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.xaxis.tick_top()
        axes.grid(visible=False)
    return canvas


def mark(cell: Cell) -> str:
    """The sign of the outcome; another one where it is open because neither model learned."""
    idle = not cell.learned and not cell.outcome.decided
    return IDLE if idle else BADGES[cell.outcome].sign


def page(found: Robustness) -> StudyPage:
    columns = ("insight", "factor", "variant", "outcome", "effect", "interval", "scale", "left",
               "seeds")  # fmt: skip
    rows = []
    for cell in found.cells:
        ends = cell.interval
        told = spread(ends.low, ends.high, len(cell.effects))
        outcome = "neither learns" if mark(cell) == IDLE else str(cell.outcome)
        left = " | ".join(f"{share:.2g}" for share in cell.left)
        rows.append((cell.probe.insight, cell.factor, cell.name, outcome, cell.effect,
                     told, cell.probe.claim.scale.unit, left, len(cell.effects)))  # fmt: skip
    turned = [f"Turned by {c.factor} {c.name}: {c.probe.insight} is {c.outcome}"
              f" (effect {c.effect:.2g})." for c in found.turning()[:10]]  # fmt: skip
    ranked = ", ".join(f"{f} ({n} of {of})" for f, n, of in found.factors() if n)
    if ranked:
        turned.insert(0, f"Factors by how many of their cells turn a conclusion: {ranked}.")
    turned += [f"Acting together: {c.factor} ({c.name}): the effect on {c.probe.insight} is"
               f" {c.effect:.2g}, not what these changes add up to alone."
               for c in found.interactions()]  # fmt: skip
    refused: dict[tuple[str, str, str], list[str]] = {}
    for insight, factor, variant, why in found.refused:
        refused.setdefault((factor, variant, why), []).append(insight)
    notes = [*turned, *(f"{', '.join(insights)} with {factor} {variant} cannot be trained: {why}."
                        for (factor, variant, why), insights in refused.items())]  # fmt: skip
    caption = (
        f"✓ supported, ✗ refuted, ? undecided, {IDLE} undecided as neither model learned the"
        " memory. Numbers are median effects on the scale of each claim: above 0 more layers,"
        " neurons, heads or dot products are better (4a: log, 4b: lin). False discovery rate 5%"
        f" over all {len(found.cells)} cells."
    )
    title = "Robustness: which insights survive which variants"
    return StudyPage(StudyKind.ROBUSTNESS, title, found.sentences(), figure(found), caption,
                     columns, rows, notes, found.profile)  # fmt: skip
