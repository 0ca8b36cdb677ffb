"""Experiment 2a: a complicated readout needs width, not heads. (The paper: 0.49 → 0.002 as m grows;
H has no effect.)

    y = g*(x_99), x_t = ±1, N = 1000, g* = sum of 64 random ReLU neurons.

A function of one sign is a relu(x) + b relu(-x), so two neurons are exact and the width cannot
matter (docs/errata.md#e20). `exp-2a-repaired` puts a triangle wave of 32 teeth on uniform tokens,
one step back: its 63 breakpoints need 63 neurons, and the lag needs one log head.

Worked example — read at position 1000, x_99 lies 901 back; the wave takes its first three values at
-1, -31/32, -30/32:

    >>> Exp2a().target.lags, Exp2a(reading="lags").target.lags
    ((901,), (99,))
    >>> import jax.numpy as jnp
    >>> x = jnp.array([-1.0, -31 / 32, -30 / 32])[:, None, None]   # one token, then a last one
    >>> Exp2aRepaired().evaluate(jnp.concatenate([x, 0 * x], axis=1))[:, 0, 0].tolist()
    [-1.0, 1.0, -1.0]
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Uniform
from headcount.memory.named.base import AbstractNamed
from headcount.memory.named.sparse_boolean import POSITION, Reading, numbered_memory
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import ReluSum, Triangle
from headcount.memory.target import targets


@targets.register(
    "exp-2a",
    formula="y = g*(x_99), g* a sum of 64 random ReLU neurons",
    ref=Ref("wang-e-2024", "Section 6, experiment 2a"),
)
@dataclasses.dataclass(frozen=True)
class Exp2a(AbstractNamed):
    """Experiment 2a as published."""

    reading: Reading = Reading.POSITIONS
    position: int = POSITION
    neurons: int = 64
    seed: int | None = 0

    def describe(self):
        return numbered_memory((99,), self.reading, self.position, ReluSum(self.neurons, self.seed))


@targets.register(
    "exp-2a-repaired",
    formula="y_t = triangle wave of x_{t-1}, x uniform on [-1, 1]",
    ref=Ref("headcount", "experiment 2a, needing width"),
)
@dataclasses.dataclass(frozen=True)
class Exp2aRepaired(AbstractNamed):
    """Experiment 2a with a readout that needs width."""

    teeth: int = 32
    read: AbstractRead = Last()

    def describe(self):
        return FixedMemory((1,), Triangle(self.teeth), Uniform(), self.read)
