"""Experiment 4a: a heavy tail. (The paper *learned*: one log head < 1e-5, 64 lin heads 0.19.)

    y = sum_{s=1}^{999} s^{-1/2} x_{1000-s}, x_t = ±1, N = 1000.

The printed sum also has the term 0^{-1/2}; lags are 1, …, 999 only, and s^{-1/2} is not summable,
so no theorem of the paper applies: a finite window (docs/errata.md#e18). What lin heads can do is
far better than what was trained: 8 of them leave 4e-8. Read at the last token; with 1000 tokens
this is the paper's position.

Worked example — three tokens: y = x_2 + x_1/sqrt(2):

    >>> import jax.numpy as jnp
    >>> round(float(Exp4a().evaluate(jnp.array([[[1.0], [1.0], [-1.0]]])).item()), 5)
    1.70711
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import Power, Window
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.target import targets


@targets.register(
    "exp-4a",
    formula="y_t = sum_{s=1}^{999} s^{-1/2} x_{t-s}",
    ref=Ref("wang-e-2024", "Section 6, experiment 4a"),
)
@dataclasses.dataclass(frozen=True)
class Exp4a(AbstractNamed):
    """Experiment 4a: heavy-tailed memory."""

    exponent: float = 0.5
    lags: int = 999
    read: AbstractRead = Last()

    def describe(self):
        return EssentialMemory((Window(self.lags + 1, Power(self.exponent)),), read=self.read)

    def memory_profile(self):
        profile = self.target.memory_profile()
        if Power(self.exponent).summable:
            return profile
        return dataclasses.replace(
            profile, note="outside the assumptions of Theorem 5.1 (not summable): a finite window"
        )
