"""Experiment 4b: a light tail. (The paper *learned*: one lin head < 1e-7, 64 log heads 5.3e-4.)

    y = sum_{s=0}^{999} e^{-5s} x_{1000-s}, x_t = ±1, N = 1000.

Lag 0 belongs to it and carries nearly everything: y = x_t alone leaves 4.5e-5. The paper's log bias
cannot see lag 0, so without the residual, or the shifted bias log(1 + s), its error would be at
least 1 (docs/errata.md#e19). Read at the last token; with 1000 tokens this is the paper's position.

Worked example — two tokens: y = x_2 + e^{-5} x_1:

    >>> import jax.numpy as jnp
    >>> round(float(Exp4b().evaluate(jnp.array([[[-1.0], [1.0]]])).item()), 5)
    0.99326
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import Exponential
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.target import targets


@targets.register(
    "exp-4b",
    formula="y_t = sum_{s>=0} e^{-5 s} x_{t-s}",
    ref=Ref("wang-e-2024", "Section 6, experiment 4b"),
)
@dataclasses.dataclass(frozen=True)
class Exp4b(AbstractNamed):
    """Experiment 4b: light-tailed memory."""

    rate: float = 5.0
    read: AbstractRead = Last()

    def describe(self):
        return EssentialMemory((Exponential(self.rate),), read=self.read)
