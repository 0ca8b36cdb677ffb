"""Experiment 3a: does the dot product help on a fixed sparse memory? (The paper: marginally.) The target is that of 1b.

    y = g*(x_48, x_56, x_99), x_t = ±1, N = 1000, g* a random two-layer ReLU network of 64 neurons.

Read position and meaning of the numbers are explicit (see `sparse_boolean`). Neither reading has lags that lin or log
heads reach, so `exp-3a-repaired` asks the same of lags 1 and 2, where weights of at most 1e3 suffice.

Worked example — at position 100, x_99 is one step back, x_56 and x_48 are 44 and 52 back:

    >>> Exp3a(position=100).target.lags
    (1, 44, 52)
    >>> Exp3aRepaired().target.lags
    (1, 2)
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.named.base import AbstractNamed
from headcount.memory.named.exp_1b import Exp1b, Exp1bRepaired
from headcount.memory.named.sparse_boolean import POSITION, Reading
from headcount.memory.read import AbstractRead, Last
from headcount.memory.target import targets


@targets.register(
    "exp-3a",
    formula="y = g*(x_48, x_56, x_99), g* a random ReLU network",
    ref=Ref("wang-e-2024", "Section 6, experiment 3a"),
)
@dataclasses.dataclass(frozen=True)
class Exp3a(AbstractNamed):
    """Experiment 3a as published."""

    reading: Reading = Reading.POSITIONS
    position: int = POSITION
    neurons: int = 64
    seed: int = 0

    def describe(self):
        return Exp1b(self.reading, self.position, self.neurons, self.seed).target


@targets.register(
    "exp-3a-repaired",
    formula="y_t = g*(x_{t-1}, x_{t-2}), g* a random ReLU network",
    ref=Ref("headcount", "experiment 3a with reachable lags"),
)
@dataclasses.dataclass(frozen=True)
class Exp3aRepaired(AbstractNamed):
    """Experiment 3a with lags that lin and log heads reach."""

    neurons: int = 64
    seed: int = 0
    read: AbstractRead = Last()

    def describe(self):
        return Exp1bRepaired(self.neurons, self.seed, self.read).target
