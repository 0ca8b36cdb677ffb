"""Figures as files, each drawn once: a drawing is kept on disk under the hash of its data, of our
code and of what draws, so that a report of a finished command need not start matplotlib.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from typing import Any

from headcount.core.cache import cached
from headcount.report.figure_data import FigureData

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
Files = dict[str, bytes]  # by ending


def drawings(figures: Sequence[FigureData], each: Map = map) -> dict[str, Files]:
    """The files of every figure by its name. `each` draws those that are not known, perhaps in
    parallel.
    """
    version = metadata.version("matplotlib")
    found = {figure.name: drawn.kept(figure, version) for figure in figures}  # type: ignore[attr-defined]
    missing = [figure for figure in figures if not found[figure.name][0]]
    made = each(functools.partial(drawn, matplotlib=version), missing) if missing else ()
    new = dict(zip((figure.name for figure in missing), made, strict=True))
    return {name: files if known else new[name] for name, (known, files) in found.items()}


@cached
def drawn(figure: FigureData, matplotlib: str) -> Files:
    """SVG, PNG and CSV; `matplotlib` is its version."""
    from headcount.report.figures import files

    return files(figure)
