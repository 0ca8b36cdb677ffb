"""The pages of rivals, of the zoo and of MAD's tasks: what each model leaves on each memory."""

import numpy as np
from matplotlib.figure import Figure

from headcount.report.study_page import StudyPage
from headcount.studies.collection import SHARE
from headcount.studies.mad_tasks import Predictions
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
    rows = [(r.task.name, r.model, r.learned.loss, r.learned.accuracy, r.floor.approximation,
             "yes" if r.reached else "no", str(r.cause), r.size.parameters, r.size.state,
             len(r.learned.losses)) for r in found.rows]  # fmt: skip
    caption = (
        "What each model leaves of the variance, or the share of answers right; darker is better;"
        " bold: reached (at most 1% left, or 99% right)."
    )
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
    caption = (
        "Share of the variance left, or answers wrong; the line is what counts as reached (1%)."
    )
    return StudyPage(f"Zoo: {found.model}", found.sentences(), zoo_figure(found), caption, columns,
                     rows)  # fmt: skip


def bars(names: list[str], left: list[float], reached: list[bool]) -> Figure:
    """What is left on each memory, on a logarithmic axis; green where it is reached."""
    canvas = Figure(figsize=(7.5, 1.2 + 0.27 * len(names)), layout="constrained")
    axes = canvas.add_subplot()
    shown = np.clip(left, TINY, 1)
    colours = ["#2e8b6f" if yes else "#d1495b" for yes in reached]
    axes.barh(range(len(names)), np.log10(shown / TINY), color=colours)
    for at, value in enumerate(left):  # a bar of length 0 is a good one: say so
        told = f"{value:.2g}" if value > TINY else f"at most {TINY:g}"
        axes.text(np.log10(shown[at] / TINY) + 0.03, at, told, va="center", fontsize=8)
    axes.axvline(np.log10(SHARE / TINY), color="black", lw=1, ls="--")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    ticks = range(round(-np.log10(TINY)) + 1)
    axes.set_xticks(list(ticks), [f"{TINY * 10**tick:.2g}" for tick in ticks])
    axes.set_xlabel("left of the variance, or wrong answers")
    return canvas


def zoo_figure(found: ZooProfile) -> Figure | None:
    rows = [row for row in found.rows if not row.refused]
    left = [r.learned.loss if r.learned.accuracy is None else 1 - r.learned.accuracy for r in rows]
    return bars([r.task.name for r in rows], left, [r.reached for r in rows]) if rows else None


def mad_page(found: Predictions) -> StudyPage:
    columns = ("task", "layers", "dot products", "right", "without", "right then", "prediction",
               "seeds", "how ours differs")  # fmt: skip
    rows, names, left, reached = [], [], [], []
    for row in found.rows:
        p, lesser = row.prediction, row.lesser
        rows.append((p.task.name, p.layers, "yes" if p.dot else "no", row.predicted.accuracy,
                     p.less, lesser and lesser.accuracy, str(row.outcome),
                     len(row.predicted.losses), p.differs))  # fmt: skip
        for label, learned in (("predicted", row.predicted), (f"without {p.less}", lesser)):
            if learned is not None:
                names.append(f"{p.task.name}, {label}")
                left.append(1 - (learned.accuracy or 0.0))
                reached.append(learned.reached(p.task))
    caption = "Wrong answers of the predicted model and of the one with a part less; line: 1%."
    return StudyPage("MAD's tasks: is the predicted architecture the smallest?", found.sentences(),
                     bars(names, left, reached), caption, columns, rows)  # fmt: skip
