"""Input distributions: what the tokens x_t are. All are sampled inside jit from one key.

Norms stay within 1 (the paper's setting) except for Gaussian inputs, which say so through `bound`.
"""

import abc
import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from headcount.core.refs import Ref
from headcount.core.registry import Registry

PAPER_SETUP = Ref("wang-e-2024", "Section 2.1")


class AbstractInputs(abc.ABC):
    """A law of real token sequences. Subclasses are frozen dataclasses."""

    kind: ClassVar[str]

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Size d of a token."""

    @property
    @abc.abstractmethod
    def bound(self) -> float:
        """sup ||x_t||_2; `inf` where there is none."""

    @property
    def iid(self) -> bool:
        """Are tokens independent and identically distributed with E x = 0? (Then population losses are exact.)"""
        return False

    @property
    def alphabet(self) -> tuple[tuple[float, ...], ...] | None:
        """The finite set of token values, where there is one: lookups and exact networks need it."""
        return None

    @abc.abstractmethod
    def sample(self, key: jax.Array, batch: int, length: int) -> jax.Array:
        """Sequences, [B, N, d] in the default float type."""


inputs: Registry[AbstractInputs] = Registry("input", AbstractInputs)


@inputs.register("boolean", formula="x_t uniform on {-1, +1}^d / sqrt(d)", ref=Ref("wang-e-2024", "Section 6"))
@dataclasses.dataclass(frozen=True)
class Boolean(AbstractInputs):
    """Independent fair signs. Thirty-two are drawn from each random word: the generator would cost more than the model."""

    d: int = 1

    @property
    def dim(self):
        return self.d

    @property
    def bound(self):
        return 1.0

    @property
    def iid(self):
        return True

    @property
    def alphabet(self):
        return ((-1.0,), (1.0,)) if self.d == 1 else None

    def sample(self, key, batch, length):
        count = batch * length * self.d
        words = jax.random.bits(key, (-(-count // 32), 1), jnp.uint32)
        bits = (words >> jnp.arange(32, dtype=jnp.uint32)[None, :]) & 1  # [words, 32]
        signs = bits.reshape(-1)[:count].astype(jnp.result_type(float)) * 2 - 1
        return signs.reshape(batch, length, self.d) / math.sqrt(self.d)
