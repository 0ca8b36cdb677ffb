"""From tokens to the stream: an affine map of real tokens or a row per integer token, plus an
absolute position.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.arguments import complete
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.core.spec import Count, Positive
from headcount.model.shape import compute_dtype, normal
from headcount.model.stream import Stream


class AbstractPosition(eqx.Module):
    """A vector added to every row, from its absolute position."""

    kind: ClassVar[str]

    @classmethod
    @abc.abstractmethod
    def init(cls, width: int, key: jax.Array) -> "AbstractPosition":
        """Fresh weights for a stream of width D."""

    @abc.abstractmethod
    def rows(self, length: int, dtype: jnp.dtype) -> jax.Array | None:
        """[N, D], or None for no such vector."""


positions: Registry[AbstractPosition] = Registry("position", AbstractPosition)


@positions.register("none", formula="0", ref=Ref("wang-e-2024", "Section 2.2"))
class NoPosition(AbstractPosition):
    """No absolute position."""

    @classmethod
    def init(cls, width, key):
        return cls()

    def rows(self, length, dtype):
        return None


@positions.register(
    "sinusoidal",
    formula="sin(t theta_j), cos(t theta_j), theta_j = base^{-2j/D}",
    ref=Ref("vaswani-2017", "Section 3.5"),
)
class Sinusoidal(AbstractPosition):
    """Sines and cosines of the position; nothing is learned."""

    width: int = eqx.field(static=True)
    base: float = eqx.field(static=True)

    @classmethod
    def init(cls, width: int, key: jax.Array, *, base: Positive = 10000.0) -> "Sinusoidal":
        require(
            width % 2 == 0,
            f"sinusoidal positions of width {width}",
            "an even width",
            "choose an even width",
        )
        return cls(width, base)

    def rows(self, length, dtype):
        half = self.width // 2
        theta = self.base ** (-jnp.arange(half, dtype=compute_dtype(dtype)) / half)
        angle = jnp.arange(length)[:, None] * theta
        return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=1).astype(dtype)


@positions.register("learned", formula="e_t, t <= longest", ref=Ref("radford-2019", "Section 2.3"))
class Learned(AbstractPosition):
    """A learned vector per position; longer sequences are refused."""

    table: jax.Array  # [longest, D]

    @classmethod
    def init(
        cls, width: int, key: jax.Array, *, longest: Count = 1024, scale: float = 0.02
    ) -> "Learned":
        return cls(scale * jax.random.normal(key, (longest, width)))

    def rows(self, length, dtype):
        longest = self.table.shape[0]
        require(
            length <= longest,
            f"{length} tokens with learned positions up to {longest}",
            f"at most {longest}",
            "build it with a larger `longest`",
        )
        return self.table[:length]


class AbstractEmbedding(eqx.Module):
    """Makes the stream of the first layer."""

    @property
    @abc.abstractmethod
    def tokens(self) -> tuple[int | None, int]:
        """(vocabulary or None, size d of a real token or 0)."""

    @abc.abstractmethod
    def stream(self, x: jax.Array) -> Stream:
        """Tokens → stream, kept in factors."""


@complete
class LinearEmbedding(AbstractEmbedding):
    """x → W_E x + b_E for real tokens."""

    weight: jax.Array  # [D, d]
    offset: jax.Array  # [D]
    position: AbstractPosition

    @classmethod
    def init(
        cls, width: int, dim: int, position: AbstractPosition, key: jax.Array
    ) -> "LinearEmbedding":
        return cls(normal(key, (width, dim), dim), jnp.zeros(width), position)

    @property
    def tokens(self):
        return None, self.weight.shape[1]

    def stream(self, x):
        rows = self.position.rows(x.shape[1], self.weight.dtype)
        return Stream(x.astype(self.weight.dtype), self.weight, self.offset, rows)


@complete
class TokenEmbedding(AbstractEmbedding):
    """A learned vector per integer token; the padding token -1 has the zero vector."""

    weight: jax.Array  # [V, D]
    position: AbstractPosition

    @classmethod
    def init(
        cls, width: int, vocabulary: int, position: AbstractPosition, key: jax.Array
    ) -> "TokenEmbedding":
        return cls(jax.random.normal(key, (vocabulary, width)), position)

    @property
    def tokens(self):
        return self.weight.shape[0], 0

    def stream(self, x):
        rows = self.position.rows(x.shape[1], self.weight.dtype)
        vocabulary, width = self.weight.shape
        if vocabulary <= width:  # few tokens: heads may contract one-hot vectors
            return Stream(
                jax.nn.one_hot(x, vocabulary, dtype=self.weight.dtype), self.weight.T, None, rows
            )
        found = jnp.take(self.weight, jnp.maximum(x, 0), axis=0)
        return Stream(jnp.where((x >= 0)[..., None], found, 0), None, None, rows)
