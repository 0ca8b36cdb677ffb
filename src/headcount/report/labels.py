"""Names at the ends of lines, moved apart so that none covers another."""

from collections.abc import Sequence


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
