"""Experiment 1b: does a fixed sparse memory need more than one layer? (The paper: one layer of
H = 32, m = 256 is enough.)

    y = g*(x_48, x_56, x_99), x_t = ±1, N = 1000, g* = sum of 64 random ReLU neurons.

`seed` is that of g*; without one every run has its own (`readouts.teacher`).

Read position and meaning of the numbers are explicit (see `sparse_boolean`). Neither reading has
lags that lin or log heads reach at bounded weights, so `exp-1b-repaired` asks the same of lags 1
and 2, where weights of at most 1e3 suffice.

Worked example — at position 100, x_99 is one step back, x_56 and x_48 are 44 and 52 back:

    >>> Exp1b(position=100).target.lags
    (1, 44, 52)
    >>> Exp1bRepaired().target.lags
    (1, 2)
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.named.base import AbstractNamed
from headcount.memory.named.sparse_boolean import POSITION, Reading, numbered_memory
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import ReluSum, Teacher
from headcount.memory.target import targets


@targets.register(
    "exp-1b",
    formula="y = g*(x_48, x_56, x_99), g* a sum of 64 random ReLU neurons",
    ref=Ref("wang-e-2024", "Section 6, experiment 1b"),
)
@dataclasses.dataclass(frozen=True)
class Exp1b(AbstractNamed):
    """Experiment 1b as published."""

    reading: Reading = Reading.POSITIONS
    position: int = POSITION
    neurons: int = 64
    seed: int | None = 0

    def describe(self):
        return numbered_memory(
            (48, 56, 99), self.reading, self.position, ReluSum(self.neurons, self.seed)
        )


@targets.register(
    "exp-1b-repaired",
    formula="y_t = g*(x_{t-1}, x_{t-2}), g* a random ReLU network",
    ref=Ref("headcount", "experiment 1b with reachable lags"),
)
@dataclasses.dataclass(frozen=True)
class Exp1bRepaired(AbstractNamed):
    """Experiment 1b with lags that lin and log heads reach."""

    neurons: int = 64
    seed: int | None = 0
    read: AbstractRead = Last()

    def describe(self):
        return FixedMemory((1, 2), Teacher(self.neurons, self.seed), read=self.read)
