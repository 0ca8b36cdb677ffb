"""The page of a robustness study: the map of insights and variants as a picture."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from headcount.lab.judge.verdict import Outcome
from headcount.report.study_page import StudyPage
from headcount.studies.probes import PROBES
from headcount.studies.robustness import Robustness

SHADES = {Outcome.REFUTED: "#d1495b", Outcome.UNDECIDED: "#d9d9d9", Outcome.SUPPORTED: "#2e8b6f"}


def figure(found: Robustness) -> Figure:
    """Insights across, variants down; the effect in each cell, its outcome as colour."""
    known = {probe.insight for probe in PROBES}
    drawn = [c for c in found.cells if len(c.variants) == 1 and c.probe.insight in known]
    drawn = drawn or [c for c in found.cells if len(c.variants) == 1]
    insights = list(dict.fromkeys(cell.probe.insight for cell in drawn))
    names = list(dict.fromkeys(f"{c.factor}: {c.name}" for c in drawn))
    shades = list(SHADES)
    grid = np.full((len(names), len(insights)), np.nan)
    canvas = Figure(figsize=(1.6 + 0.8 * len(insights), 1.2 + 0.26 * len(names)),
                    layout="constrained")  # fmt: skip
    axes = canvas.add_subplot()
    for cell in drawn:
        row, column = names.index(f"{cell.factor}: {cell.name}"), insights.index(cell.probe.insight)
        grid[row, column] = shades.index(cell.outcome)
        axes.text(column, row, f"{cell.effect:.2g}", ha="center", va="center", fontsize=7)
    axes.imshow(grid, cmap=ListedColormap(list(SHADES.values())), vmin=0, vmax=2, aspect="auto")
    axes.set_xticks(range(len(insights)), insights)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.xaxis.tick_top()
    return canvas


def page(found: Robustness) -> StudyPage:
    columns = ("insight", "factor", "variant", "outcome", "effect", "interval", "scale", "seeds")
    rows = []
    for cell in found.cells:
        ends = cell.interval
        rows.append((cell.probe.insight, cell.factor, cell.name, str(cell.outcome), cell.effect,
                     f"[{ends.low:.2g}, {ends.high:.2g}]", cell.probe.claim.scale.unit,
                     len(cell.effects)))  # fmt: skip
    turned = [f"Turned by {c.factor} {c.name}: {c.probe.insight} is {c.outcome}"
              f" (effect {c.effect:.2g})." for c in found.turning()[:10]]  # fmt: skip
    ranked = ", ".join(f"{f} ({n} of {of})" for f, n, of in found.factors() if n)
    if ranked:
        turned.insert(0, f"Factors by how many of their cells turn a conclusion: {ranked}.")
    turned += [f"Acting together: {c.factor} ({c.name}): {c.probe.insight} is {c.outcome}, unlike"
               " with any of them alone." for c in found.interactions()]  # fmt: skip
    notes = [*turned, *(f"{i} with {f} {v} cannot be trained: {why}"
                        for i, f, v, why in found.refused)]  # fmt: skip
    caption = (
        "Green: supported, red: refuted, grey: undecided; numbers are median effects on the scale"
        " of each claim; false discovery rate 5% over the map."
    )
    title = "Robustness: which insights survive which variants"
    return StudyPage(title, found.sentences(), figure(found), caption, columns, rows, notes)
