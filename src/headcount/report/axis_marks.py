"""What stands at the edges of a drawing: ticks of logarithmic axes (plain numbers where they are
few, powers of ten where the axis spans decades), and names at the ends of lines, moved apart so
that none covers another.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FixedLocator, NullLocator

from headcount.report.wording import number

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST = 8


def superscript(value: float) -> str:
    """
    >>> superscript(1e-3), superscript(1.0), superscript(0.02)
    ('10⁻³', '1', '0.02')
    """
    exponent = round(math.log10(value))
    if not math.isclose(value, 10.0**exponent, rel_tol=1e-9) or exponent in (0, 1):
        return number(value)
    return "10" + str(exponent).translate(RAISED)


def tick_values(low: float, high: float) -> list[float]:
    """Between low and high: 1-2-5 steps within two decades, else every k-th decade, at most eight.

    >>> tick_values(0.3, 4), tick_values(1e-8, 10)
    ([0.5, 1.0, 2.0], [1e-08, 1e-06, 0.0001, 0.01, 1.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if high / low < 100:
        fine = [
            float(f"{step}e{decade}") for decade in range(first, last + 1) for step in (1, 2, 5)
        ]
        return [value for value in fine if low <= value <= high] or [low, high]
    step = math.ceil((last - first + 1) / MOST)
    return [
        float(f"1e{decade}")
        for decade in range(first, last + 1, step)
        if low / 1.001 <= float(f"1e{decade}") <= high * 1.001
    ]


def log_ticks(axis: Any, low: float, high: float, places: Sequence[float] = ()) -> None:
    """Set them; at the data's own `places` where these are few and not crowded."""
    ratios = [b / a for a, b in itertools.pairwise(places)]
    # each label needs about a fourteenth of the axis
    own = 1 < len(places) <= 9 and min(ratios) ** 14 >= high / low
    values = list(places) if own else tick_values(low, high)
    plain = own or high / low < 1e4
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(
        values, labels=[number(value) if plain else superscript(value) for value in values]
    )


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near `wanted`, in the same order, at least `gap` apart, inside [low, high] as far
    as there is room.

    The least-squares solution: labels that touch form a block, the block sits at the mean of what
    its members want, and blocks that touch merge (pool adjacent violators).

    >>> spread([0.5, 0.5, 0.9], 0.2, 0.0, 1.0)
    [0.4, 0.6, 0.9]
    >>> spread([1.0, 1.0], 0.25, 0.0, 1.0)
    [0.75, 1.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # more labels than room: as far apart as they can be
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    blocks: list[list[int]] = []
    places: list[float] = []  # position of the first member of each block
    for i in order:
        blocks.append([i])
        places.append(_place([wanted[i]], gap, low, high))
        while len(blocks) > 1 and places[-2] + gap * len(blocks[-2]) > places[-1] + 1e-12:
            last = blocks.pop()
            places.pop()
            blocks[-1] += last
            places[-1] = _place([wanted[j] for j in blocks[-1]], gap, low, high)
    found = [0.0] * len(wanted)
    for block, place in zip(blocks, places, strict=True):
        for k, i in enumerate(block):
            found[i] = round(place + k * gap, 9)
    return found


def _place(wanted: Sequence[float], gap: float, low: float, high: float) -> float:
    """Best position of the first member of a block, inside the room."""
    first = sum(place - k * gap for k, place in enumerate(wanted)) / len(wanted)
    return max(low, min(first, high - gap * (len(wanted) - 1)))
