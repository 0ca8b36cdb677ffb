"""Algebraic memories: several kernels that decay like integer powers of the lag, through a readout.

    y_t = f((X*rho_1)(t), …, (X*rho_M)(t)),  rho_k(s) = s^{-(beta+k-1)},  k = 1, …, M.

The class of Theorem 5.1 (B), which asks for rho = O(s^-beta) with beta > 1 and gives the rate H^-n
for n up to floor(0.99 beta) - 1 with log bias; beta = 2 allows no n at all, beta = 3 is the first
integer with n = 1. For integer powers log heads are exact: s^{-b} *is* a head with p = b. The paper
names an algebraic example in its Section 5 whose exact wording was not at hand when this was
written, so the formula above is ours, from the theorem's assumptions.

Worked example — beta = 3, two kernels, at the last of three tokens: (x_2 + x_1/8) + (x_2 + x_1/16):

    >>> import jax.numpy as jnp
    >>> Algebraic(beta=3, memories=2).evaluate(jnp.array([[[1.0], [1.0], [-1.0]]])).item()
    2.1875
"""

import dataclasses

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import Power
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import AbstractReadout, Linear
from headcount.memory.target import targets


@targets.register(
    "algebraic",
    formula="y_t = f(X*s^-beta, …, X*s^-(beta+M-1)), beta integer",
    ref=Ref("wang-e-2024", "Section 5, Theorem 5.1 (B)"),
)
@dataclasses.dataclass(frozen=True)
class Algebraic(AbstractNamed):
    """Memories with integer power laws."""

    beta: int = 3
    memories: int = 2
    readout: AbstractReadout = Linear()
    read: AbstractRead = Last()

    def describe(self):
        require(
            self.beta >= 2, f"beta {self.beta}", "an integer of at least 2", "s^-1 is not summable"
        )
        require(self.memories >= 1, f"{self.memories} memories", "at least 1", "add one")
        return EssentialMemory(
            tuple(Power(float(self.beta + k)) for k in range(self.memories)),
            self.readout,
            read=self.read,
        )
