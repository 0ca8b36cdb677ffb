"""The pages of rivals and of MAD's tasks: what each model leaves on each memory."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headcount.report.figures import style
from headcount.report.palette import LIGHT
from headcount.report.study_page import StudyKind, StudyPage
from headcount.report.wording import spread
from headcount.studies.collection import MemoryTask, share_right
from headcount.studies.mad_tasks import PREDICTED, Predictions
from headcount.studies.rivals import Rivals
from headcount.studies.trials import Learned

TINY = 1e-4  # smaller losses look alike in the picture


@dataclasses.dataclass(frozen=True)
class Square:
    """One memory and one model: what is left of the variance, or the share of right answers."""

    task: MemoryTask
    model: str
    learned: Learned

    @property
    def left(self) -> float:
        right = self.learned.accuracy
        return self.learned.loss if right is None else 1 - right

    @property
    def reached(self) -> bool:
        return self.learned.reached(self.task)

    @property
    def told(self) -> str:
        right, split = self.learned.accuracy, self.learned.split(self.task)
        told = f"{self.left:.1g}" if right is None else share_right(right)
        if not math.isfinite(self.left):
            told = "diverged"
        told = f"✓ {told}" if self.reached else told
        return f"{told}\n{split}" if split else told


def figure(squares: Sequence[Square], name: str) -> Figure | None:
    """Models across, memories down; the darker, the less is left."""
    if not squares:
        return None
    models = list(dict.fromkeys(square.model for square in squares))
    memories = list(dict.fromkeys(square.task.name for square in squares))
    with style(name):
        size = (max(7.0, 2.4 + 0.95 * len(models)), 1.3 + 0.4 * len(memories))
        canvas = Figure(figsize=size, layout="constrained", facecolor=LIGHT["paper"])
        axes = canvas.add_subplot(facecolor="none")
        for square in squares:
            column, row = models.index(square.model), memories.index(square.task.name)
            depth = float(np.log10(np.clip(square.left, TINY, 1)) / np.log10(TINY))
            corner, shade = (column - 0.48, row - 0.46), 0.05 + 0.45 * depth
            axes.add_patch(Rectangle(corner, 0.96, 0.92, color=LIGHT["c2"], alpha=shade, lw=0))
            axes.text(column, row, square.told, ha="center", va="center", fontsize=7.5,
                      fontweight="bold" if square.reached else "normal")  # fmt: skip
        axes.set(xlim=(-0.5, len(models) - 0.5), ylim=(len(memories) - 0.5, -0.5))
        axes.set_xticks(range(len(models)), models, rotation=30, ha="left")
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(memories)), memories)
        axes.grid(visible=False)
    return canvas


CAPTION = (
    "What each model leaves of the variance (its loss; over symbols the loss is the cross-entropy),"
    " or the share of answers right; darker is better;"
    " ✓: reached by the median seed (at most 1% left, or 99% right); below it how many seeds reach"
    " it, where they do not agree."
)


def page(found: Rivals) -> StudyPage:
    columns = ("memory", "model", "loss", "interval", "accuracy", "floor", "reached", "cause",
               "parameters", "state", "share of the budget", "seeds")  # fmt: skip
    rows = []
    for r in found.rows:
        ends, seeds = r.learned.interval, len(r.learned.losses)
        rows.append((r.task.name, r.model, r.learned.loss, spread(ends.low, ends.high, seeds),
                     r.learned.accuracy, r.floor.approximation, r.reached, str(r.cause),
                     r.size.parameters, r.size.state, r.share, seeds))  # fmt: skip
    squares = [Square(r.task, r.model, r.learned) for r in found.rows]
    title = f"Rivals at equal {found.measure}"
    return StudyPage(StudyKind.RIVALS, title, found.sentences(),
                     figure(squares, StudyKind.RIVALS), CAPTION, columns, rows,
                     profile=found.profile)  # fmt: skip


def mad_page(found: Predictions) -> StudyPage:
    """A row per model: the predicted one, and those that lack one part of it."""
    columns = ("task", "layers", "dot products", "model", "right", "reached", "seeds",
               "prediction", "how ours differs")  # fmt: skip
    rows, squares = [], []
    for row in found.rows:
        p = row.prediction
        for name, learned in row.arms:
            whole = name == PREDICTED  # what is said of the task stands at the first of its rows
            seeds = learned.split(p.task) or len(learned.losses)
            rows.append((p.task.name, p.layers, p.dot, name, learned.accuracy,
                         learned.reached(p.task), seeds, str(row.outcome) if whole else "",
                         p.differs if whole else ""))  # fmt: skip
            squares.append(Square(p.task, name, learned))
    title = "MAD's tasks: is the predicted architecture the smallest?"
    return StudyPage(StudyKind.MAD, title, found.sentences(), figure(squares, StudyKind.MAD),
                     CAPTION, columns, rows, profile=found.profile)  # fmt: skip
