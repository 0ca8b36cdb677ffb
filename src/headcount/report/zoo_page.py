"""The page of the zoo: what one model leaves on each memory, beside the smallest model known."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.report.axis_marks import log_ticks
from headcount.report.figures import style
from headcount.report.palette import LIGHT
from headcount.report.study_page import StudyKind, StudyPage
from headcount.studies.collection import RIGHT, SHARE
from headcount.studies.zoo import ZooProfile, ZooRow

TINY = 1e-7  # smaller losses are drawn there
CAPTION = (
    "Left: what is left of the variance, or the share of wrong answers; a dot per seed, the median"
    " larger; left of the dashed line a memory is reached. Right: parameters of this model and of"
    " the smallest one that is known to hold the memory to 0.1."
)
NOTES = (
    "layers, parameters: of this model; known, smallest: the fewest layers and the fewest"
    " parameters of models that are known to hold the memory to 0.1 on sequences of its length (not"
    " of one model); proved: no model like the one with the fewest layers has fewer (1 where"
    " nothing is proved).",
)


def page(found: ZooProfile) -> StudyPage:
    names = ("memory", "left", "right", "reached", "seeds", "layers", "known", "proved",
             "parameters", "smallest", "refused")  # fmt: skip
    shown = len(names) if any(row.refused for row in found.rows) else len(names) - 1
    columns, rows = names[:shown], [_cells(row)[:shown] for row in found.rows]
    return StudyPage(StudyKind.ZOO, f"Zoo: {found.model}", found.sentences(), figure(found),
                     CAPTION, columns, rows, NOTES, found.profile)  # fmt: skip


def _cells(row: ZooRow) -> tuple[object, ...]:
    low = row.minimum
    known = (low.layers, low.layers_proved, low.parameters) if low else (None, None, None)
    left, right = (None, None) if row.refused else (row.learned.loss, row.learned.accuracy)
    seeds = None if row.refused else row.learned.split(row.task) or len(row.learned.losses)
    yes = "yes" if row.reached else "no"
    return (row.task.name, left, right, yes, seeds, row.layers, known[0], known[1], row.parameters,
            known[2], row.refused)  # fmt: skip


def figure(found: ZooProfile) -> Figure | None:
    """Memories down; what is left on the left, parameters on the right."""
    rows = [row for row in found.rows if not row.refused]
    if not rows:
        return None
    with style(StudyKind.ZOO):
        canvas = Figure(figsize=(7.0, 1.3 + 0.24 * len(rows)), layout="constrained",
                        facecolor=LIGHT["paper"])  # fmt: skip
        left, right = canvas.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        for place, row in enumerate(rows):
            _losses(left, place, row)
            _sizes(right, place, row)
        left.axvline(SHARE, color=LIGHT["muted"], linestyle=(0, (4, 2)), linewidth=1.0)
        left.set_yticks(range(len(rows)), [row.task.name for row in rows])
        left.set(xscale="log", xlim=(TINY / 2, 3), ylim=(len(rows) - 0.5, -0.5))
        left.set_xlabel("left of the variance, or wrong answers")
        log_ticks(left.xaxis, TINY, 1.0)
        sizes = [size for row in rows for size in _both(row)]
        if sizes:
            right.set(xscale="log", xlim=(min(sizes) / 2, max(sizes) * 2))
            log_ticks(right.xaxis, min(sizes) / 2, max(sizes) * 2)
        right.set_xlabel("parameters")
        for axes in (left, right):
            axes.set_facecolor("none")
            axes.tick_params(axis="y", length=0)
        canvas.legend(handles=_key(), loc="outside upper center", ncols=4, frameon=False,
                      fontsize=8)  # fmt: skip
    return canvas


def _losses(axes: Axes, place: int, row: ZooRow) -> None:
    learned = row.learned
    each = [1 - a for a in learned.accuracies] if learned.accuracies else list(learned.losses)
    middle = learned.loss if learned.accuracy is None else 1 - learned.accuracy
    colour = LIGHT["c2"] if row.reached else LIGHT["c1"]
    shown = [min(max(value, TINY), 2.0) for value in (*each, middle)]
    axes.plot(shown[:-1], [place] * len(each), ".", color=colour, markersize=3, alpha=0.6)
    axes.plot(shown[-1:], [place], "o" if row.reached else "s", color=colour, markersize=5)


def _sizes(axes: Axes, place: int, row: ZooRow) -> None:
    sizes = _both(row)
    axes.plot(sizes, [place] * len(sizes), "-", color=LIGHT["grid"], linewidth=1.5)
    if row.minimum is not None:
        axes.plot([row.minimum.parameters], [place], "D", color=LIGHT["c0"], markersize=4)
    if row.parameters:
        axes.plot([row.parameters], [place], "o", color=LIGHT["c6"], markersize=4)


def _both(row: ZooRow) -> list[int]:
    """The parameters that are known: of the smallest model and of this one."""
    smallest = [row.minimum.parameters] if row.minimum is not None else []
    return [*smallest, *([row.parameters] if row.parameters else [])]


def _key() -> list[Line2D]:
    def mark(marker: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, color=LIGHT[colour], linestyle="", label=label)

    reached = f"reached (1% left, or {RIGHT:.0%} right)"
    return [mark("o", "c2", reached), mark("s", "c1", "not reached"),
            mark("D", "c0", "smallest known"), mark("o", "c6", "this model")]  # fmt: skip
