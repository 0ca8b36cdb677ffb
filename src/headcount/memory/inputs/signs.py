"""Tokens on few values: fair signs, and signs with zero. The generator would cost more than the
model, so words are shared.
"""

import dataclasses
import math

import jax.numpy as jnp

from headcount.core.bits import words
from headcount.core.refs import Ref
from headcount.memory.inputs.base import PAPER_6, AbstractIndependent, default_float, inputs

TRITS = 10  # base-3 digits taken from one 32-bit word


@inputs.register("boolean", formula="x_t uniform on {-1, +1}^d / sqrt(d)", ref=PAPER_6)
@dataclasses.dataclass(frozen=True)
class Boolean(AbstractIndependent):
    """Independent fair signs: the bits of one random word go to 32 sequences."""

    d: int = 1

    @property
    def variance(self):
        return 1 / self.d

    @property
    def alphabet(self):
        return ((-1.0,), (1.0,)) if self.d == 1 else None

    def sample(self, key, batch, length):
        groups, tokens = -(-batch // 32), length * self.d
        drawn = words(key, groups * tokens).reshape(groups, 1, tokens)
        bits = (drawn >> jnp.arange(32, dtype=jnp.uint32)[None, :, None]) & 1  # [groups, 32, N d]
        signs = bits.reshape(groups * 32, tokens)[:batch].astype(default_float()) * 2 - 1
        return signs.reshape(batch, length, self.d) / math.sqrt(self.d)


@inputs.register(
    "ternary",
    formula="x_t uniform on {-1, 0, +1}^d / sqrt(d)",
    ref=Ref("wang-e-2024", "Proposition 4.2"),
)
@dataclasses.dataclass(frozen=True)
class Ternary(AbstractIndependent):
    """Independent signs or zeros: base-3 digits of random words, uniform up to 1.4e-5."""

    d: int = 1

    @property
    def variance(self):
        return 2 / (3 * self.d)

    @property
    def alphabet(self):
        return ((-1.0,), (0.0,), (1.0,)) if self.d == 1 else None

    def sample(self, key, batch, length):
        count = batch * length * self.d
        drawn = words(key, -(-count // TRITS))[:, None]
        powers = jnp.asarray([3**i for i in range(TRITS)], jnp.uint32)
        digits = (drawn // powers) % 3  # [words, 10]
        values = digits.reshape(-1)[:count].astype(default_float()) - 1
        return values.reshape(batch, length, self.d) / math.sqrt(self.d)
