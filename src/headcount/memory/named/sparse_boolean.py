"""What experiments 1b, 2a, 2b and 3a share: signs, a handful of numbered tokens, and the two ways
to read the numbers.

The paper writes x_48, x_56, x_99 for sequences of N = 1000. As **positions** in a sequence read at
position 1000 these are the lags 952, 944 and 901, which agrees with the paper's own x_{1000-s} in
experiments 4a and 4b; as **lags** they are 48, 56 and 99 (docs/errata.md#e21). No number of lin or
log heads with bounded weights and an affine readout reaches either, so the choice is never silent.
"""

import enum

from headcount.core.errors import require
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Boolean
from headcount.memory.read import At
from headcount.memory.readouts import AbstractReadout

POSITION = 1000  # where the paper reads: the last of N = 1000


class Reading(enum.StrEnum):
    """What the number of a token means."""

    POSITIONS = "positions"  # counted from 1 at the start of the sequence
    LAGS = "lags"  # counted back from the read position


def lags_of(numbers: tuple[int, ...], reading: Reading, position: int) -> tuple[int, ...]:
    """The lags, increasing, that numbered tokens have at a read position.

    >>> lags_of((48, 56, 99), Reading.POSITIONS, 1000), lags_of((48, 56, 99), Reading.LAGS, 1000)
    ((901, 944, 952), (48, 56, 99))
    """
    require(
        position > max(numbers),
        f"read position {position}",
        f"more than {max(numbers)}, where every token is past",
        "read later",
    )
    return tuple(
        sorted(numbers if reading is Reading.LAGS else (position - number for number in numbers))
    )


def numbered_memory(
    numbers: tuple[int, ...], reading: Reading, position: int, readout: AbstractReadout
) -> FixedMemory:
    """The fixed memory of these tokens, read at one position."""
    return FixedMemory(
        lags_of(numbers, Reading(reading), position), readout, Boolean(), At(position)
    )
