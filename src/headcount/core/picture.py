"""Matplotlib figures that a notebook shows by itself, whatever its backend and without pyplot.
Heavy: imported where a figure is asked for.
"""

import io
import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure of our own. A notebook asks for its PNG; a program saves it with `savefig`."""

    def _repr_png_(self) -> bytes:
        made = io.BytesIO()
        self.savefig(made, format="png")
        return made.getvalue()


def line_plot(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float | None]],
    labels: tuple[str, str],
    title: str = "",
    log: bool = True,
) -> Picture:
    """A line per name; values that are missing, not finite or (on
    a logarithmic axis) not positive are left out.
    """
    figure = Picture(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for (name, values), marker in zip(lines.items(), "os^DvPX*" * len(lines), strict=False):
        shown = [
            (a, b)
            for a, b in zip(x, values, strict=True)
            if b is not None and math.isfinite(b) and (b > 0 or not log)
        ]
        if shown:
            axes.plot(*zip(*shown, strict=True), marker=marker, markersize=4, label=name)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(title)
    if log and axes.lines:
        axes.set_yscale("log")
    if axes.lines:
        axes.legend()
    return figure
