"""Experiment 2b: a simple readout of several memories needs heads, not width. (The paper: 1.16 →
1e-6 as H grows.)

    y = x_48 + x_56 + x_99, x_t = ±1, N = 1000.

Sparse lags are a poor test: at bounded weights no number of lin or log heads reaches them, and a
free bias per lag does all three with one head. `exp-2b-repaired` has the kernel s^{-1/2} on lags 1,
…, 999 with a linear readout, where lin heads really gain: the best 1, 2, 4, 8 heads leave 1.87,
0.212, 1.7e-3, 4e-8 of the squared loss.

Worked example — the repaired target at the last of four tokens is x_3 + x_2/sqrt(2) + x_1/sqrt(3):

    >>> import jax.numpy as jnp
    >>> x = jnp.array([[[1.0], [0.0], [-1.0], [1.0]]])
    >>> round(float(Exp2bRepaired().evaluate(x).item()), 5)
    -0.42265
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import Power, Window
from headcount.memory.named.base import AbstractNamed
from headcount.memory.named.sparse_boolean import POSITION, Reading, numbered_memory
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import Linear
from headcount.memory.target import targets


@targets.register(
    "exp-2b", formula="y = x_48 + x_56 + x_99", ref=Ref("wang-e-2024", "Section 6, experiment 2b")
)
@dataclasses.dataclass(frozen=True)
class Exp2b(AbstractNamed):
    """Experiment 2b as published."""

    reading: Reading = Reading.POSITIONS
    position: int = POSITION

    def describe(self):
        return numbered_memory((48, 56, 99), self.reading, self.position, Linear())


@targets.register(
    "exp-2b-repaired",
    formula="y_t = sum_{s=1}^{999} s^{-1/2} x_{t-s}",
    ref=Ref("headcount", "experiment 2b with a smooth kernel"),
)
@dataclasses.dataclass(frozen=True)
class Exp2bRepaired(AbstractNamed):
    """Experiment 2b with a smooth kernel, where heads help."""

    read: AbstractRead = Last()

    def describe(self):
        return EssentialMemory((Window(POSITION, Power(0.5)),), read=self.read)
