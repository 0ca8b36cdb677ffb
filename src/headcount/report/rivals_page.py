"""The pages of rivals and of the zoo: what each model leaves on each memory."""

import numpy as np
from matplotlib.figure import Figure

from headcount.report.study_page import StudyPage
from headcount.studies.rivals import Rivals
from headcount.studies.zoo import ZooProfile

TINY = 1e-4  # smaller losses look alike in the picture


def figure(found: Rivals) -> Figure:
    """Models across, memories down; dark where a memory is reached."""
    models = list(dict.fromkeys(row.model for row in found.rows))
    memories = list(dict.fromkeys(row.task.name for row in found.rows))
    grid = np.full((len(memories), len(models)), np.nan)
    canvas = Figure(figsize=(2.2 + 0.85 * len(models), 1.3 + 0.34 * len(memories)),
                    layout="constrained")  # fmt: skip
    axes = canvas.add_subplot()
    for row in found.rows:
        at = memories.index(row.task.name), models.index(row.model)
        left = row.learned.loss if row.learned.accuracy is None else 1 - row.learned.accuracy
        grid[at] = np.log10(np.clip(left, TINY, 1))
        told = f"{left:.1g}" if row.learned.accuracy is None else f"{row.learned.accuracy:.0%}"
        axes.text(at[1], at[0], told, ha="center", va="center", fontsize=8,
                  color="white" if grid[at] < -1.5 else "black",
                  fontweight="bold" if row.reached else "normal")  # fmt: skip
    axes.imshow(grid, cmap="YlGn_r", vmin=np.log10(TINY), vmax=0, aspect="auto")
    axes.set_xticks(range(len(models)), models, rotation=30, ha="left")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(memories)), memories)
    return canvas


def page(found: Rivals) -> StudyPage:
    columns = ("memory", "model", "left", "accuracy", "floor", "reached", "cause", "parameters",
               "state", "seeds")  # fmt: skip
    rows = [(r.task.name, r.model, r.learned.loss, r.learned.accuracy, r.floor,
             "yes" if r.reached else "no", str(r.cause), r.size.parameters, r.size.state,
             len(r.learned.losses)) for r in found.rows]  # fmt: skip
    caption = "Share of the variance left, or answers right; bold: reached (1%, 99%)."
    title = f"Rivals at equal {found.measure}"
    return StudyPage(title, found.sentences(), figure(found), caption, columns, rows)


def zoo_page(found: ZooProfile) -> StudyPage:
    columns = ("memory", "left", "accuracy", "reached", "layers", "fewest known", "parameters",
               "smallest known", "refused")  # fmt: skip
    rows = []
    for r in found.rows:
        low = r.minimum
        left, right = (None, None) if r.refused else (r.learned.loss, r.learned.accuracy)
        known = (low.layers, low.parameters) if low else (None, None)
        yes = "yes" if r.reached else "no"
        rows.append(
            (r.task.name, left, right, yes, r.layers, known[0], r.parameters, known[1], r.refused)
        )
    return StudyPage(f"Zoo: {found.model}", found.sentences(), None, "", columns, rows)
