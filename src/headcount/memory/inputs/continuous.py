"""Real-valued tokens: uniform, Gaussian, and the stationary autoregression of order 1."""

import dataclasses
import math

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.inputs.base import (
    PAPER_SETUP,
    AbstractIndependent,
    AbstractInputs,
    check_dim,
    default_float,
    inputs,
)

AUTOREGRESSION = Ref("headcount", "docs/theory.md#autoregression")


@inputs.register("uniform", formula="x_t uniform on [-1, 1]^d / sqrt(d)", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class Uniform(AbstractIndependent):
    """Independent and uniform on a cube inside the unit ball."""

    d: int = 1

    @property
    def variance(self):
        return 1 / (3 * self.d)

    def sample(self, key, batch, length):
        side = 1 / math.sqrt(self.d)
        return jax.random.uniform(key, (batch, length, self.d), default_float(), -side, side)


@inputs.register("gaussian", formula="x_t ~ N(0, scale^2 I / d)", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class Gaussian(AbstractIndependent):
    """Independent and normal, E||x||^2 = scale^2; unbounded, so bounds on the ball do not apply."""

    d: int = 1
    scale: float = 1.0

    def __post_init__(self):
        check_dim(self.d)
        _check_scale(self.scale)

    @property
    def bound(self):
        return math.inf

    @property
    def variance(self):
        return self.scale**2 / self.d

    def sample(self, key, batch, length):
        return (
            self.scale
            / math.sqrt(self.d)
            * jax.random.normal(key, (batch, length, self.d), default_float())
        )


@inputs.register(
    "ar1",
    formula="x_t = phi x_{t-1} + sqrt(1-phi^2) e_t, e_t and x_1 ~ N(0, scale^2 I / d)",
    ref=AUTOREGRESSION,
)
@dataclasses.dataclass(frozen=True)
class Autoregressive(AbstractInputs):
    """A stationary autoregression: neighbours resemble each other, so they also predict.

    The recurrence is unrolled by doubling: after k passes every x_t holds sum_{s<2^k} phi^s
    e_{t-s}.
    """

    phi: float
    d: int = 1
    scale: float = 1.0

    def __post_init__(self):
        require(
            abs(self.phi) < 1,
            f"phi {self.phi}",
            "between -1 and 1, both excluded",
            "the chain is stationary only then",
        )
        check_dim(self.d)
        _check_scale(self.scale)

    @property
    def dim(self):
        return self.d

    @property
    def bound(self):
        return math.inf

    @property
    def variance(self):
        return self.scale**2 / self.d

    def sample(self, key, batch, length):
        noise = jax.random.normal(key, (batch, length, self.d), default_float())
        x = noise.at[:, 1:].multiply(math.sqrt(1 - self.phi**2))
        reach, factor = 1, self.phi
        while reach < length and factor != 0:
            x = x + factor * jnp.pad(x[:, :-reach], ((0, 0), (reach, 0), (0, 0)))
            reach, factor = 2 * reach, factor**2
        return self.scale / math.sqrt(self.d) * x


def _check_scale(scale: float) -> None:
    require(0 < scale < math.inf, f"scale {scale}", "a positive finite number", "choose scale > 0")
