"""Which reading of a printed setting gives which published number: a map, not a claim.

The paper leaves open what its numbered tokens mean (positions or lags, `paper_experiments`), which
bias the heads have, and the learning rate. Every combination is shown, a few seeds each, beside the
numbers that the paper prints. For a table read at one position all lags are alike: one reading
stands for both.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headcount.experiments.sparse_runs import LENGTH, printed_run, table
from headcount.experiments.tuning import SPREADS
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Values

LEARNING_RATES = (3e-4, 1e-3, 3e-3)
SEEDS = 3
DECAYING = ("lin", "log", "log1p")
READINGS = ("positions", "lags")
CELLS: Mapping[str, Values] = {f"lr {lr:g}": {"train": {"lr": lr}} for lr in LEARNING_RATES}
NOTE = "AdamW at a constant rate, initial decay rates uniform on (0, 1): the paper names no values"

NumbersOf = Callable[[str, str, "Size"], Numbers]  # bias, reading, size


@dataclasses.dataclass(frozen=True)
class Size:
    """A size that the paper gives a number for."""

    heads: int
    neurons: int
    x: float
    paper: float


def bias_of(kind: str) -> dict[str, Any]:
    """A bias as a model has it."""
    if kind == "table":
        return table(LENGTH)
    return {"kind": kind, **SPREADS["uniform"]} if kind in DECAYING else {"kind": kind}


def map_arms(
    memory: Mapping[str, Any], sizes: Sequence[Size], numbers: NumbersOf, profile: Profile
) -> tuple[Arm, ...]:
    """Every bias and reading at every size."""
    readings = [(bias, reading) for bias in (*DECAYING, "t5") for reading in READINGS]
    return tuple(
        Arm(
            f"{bias}-{reading}-heads-{size.heads}-m-{size.neurons}",
            printed_run(
                {**memory, "reading": reading},
                profile,
                bias=bias_of(bias),
                heads=size.heads,
                width=16,
                hidden=size.neurons,
            ),
            lambda bias=bias, reading=reading, size=size: numbers(bias, reading, size),  # type: ignore[misc]
            f"{bias}, {reading}",
            size.x,
            size.paper,
        )
        for bias, reading in (*readings, ("table", "positions"))
        for size in sizes
    )
