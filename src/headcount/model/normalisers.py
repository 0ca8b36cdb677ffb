"""Normalisers: from logits to attention weights, so that dense, one-row and convolution paths share
one meaning.

Every normaliser is  weight(s) = rise(z_s) / (sum_s rise(z_s) + e^{sink})  or, without a
denominator, rise(z_s). A sink is an extra column with value 0 (docs/theory.md#sink): its logit may
be learned, may follow the bias as a token before the first one would, or may stand for every lag
that the sequence has not reached yet. Rows that see nothing give 0.
"""

import abc
import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.model.biases.base import AbstractBias
from headcount.model.shape import LayerShape, compute_dtype


class AbstractNormaliser(eqx.Module):
    """How logits become weights."""

    kind: ClassVar[str]
    exponential: ClassVar[bool] = True  # rise is exp, so lin heads obey a linear recurrence
    divides: ClassVar[bool] = True  # is there a denominator?
    sums_to_one: ClassVar[bool] = False  # over what a row sees, whatever the logits

    def rise(self, logits: jax.Array) -> jax.Array:
        """[H, *] → [H, *]; called with shifted logits where there is a denominator."""
        return jnp.exp(logits)

    def sink(self, bias: AbstractBias, position: jax.Array) -> jax.Array | None:
        """The sink's logit at positions counted from 1, [R] → [H, R]; None for no sink."""
        return None

    @classmethod
    @abc.abstractmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "AbstractNormaliser":
        """Fresh weights for a layer."""


normalisers: Registry[AbstractNormaliser] = Registry("normaliser", AbstractNormaliser)


@normalisers.register(
    "softmax", formula="e^{z_s} / sum_j e^{z_j}", ref=Ref("vaswani-2017", "Section 3.2.1")
)
class Softmax(AbstractNormaliser):
    """The usual one: weights sum to 1 over what the row sees."""

    sums_to_one = True

    @classmethod
    def init(cls, shape, key):
        return cls()


@normalisers.register("none", formula="e^{z_s}", ref=Ref("wang-e-2024", "Section 4, NF"))
class NoNormaliser(AbstractNormaliser):
    """Normalisation-free, as adaptive constructions need; exponents are capped below overflow."""

    divides = False

    @classmethod
    def init(cls, shape, key):
        return cls()

    def rise(self, logits):
        cap = 0.7 * math.log(jnp.finfo(logits.dtype).max)  # leaves room for sums and values
        return jnp.exp(jnp.minimum(logits, cap))


@normalisers.register(
    "softmax-sink", formula="e^{z_s} / (e^c + sum_j e^{z_j})", ref=Ref("xiao-2024", "Section 3")
)
class SoftmaxSink(AbstractNormaliser):
    """Softmax with a sink, a learned logit c per head of value 0: a head may look at nothing."""

    logit: jax.Array  # [H]

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array, *, logit: float = 0.0) -> "SoftmaxSink":
        return cls(jnp.full((shape.heads,), logit))

    def sink(self, bias, position):
        logit = self.logit.astype(compute_dtype(self.logit.dtype))
        return jnp.broadcast_to(logit[:, None], (logit.shape[0], position.shape[0]))


@normalisers.register(
    "softmax-bos",
    formula="e^{z_s} / (e^{c + bias(t)} + sum_j e^{z_j})",
    ref=Ref("headcount", "exact sink, docs/numerics.md#sink"),
)
class SoftmaxBos(AbstractNormaliser):
    """The sink is a zero-valued token just before the first, with its natural bias plus c.

    With c = -log(1-e^{-b}) a lin head of rate b is normalised by 1/(1-e^{-b}) at every position,
    exactly.
    """

    logit: jax.Array  # [H]

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array, *, logit: float = 0.0) -> "SoftmaxBos":
        return cls(jnp.full((shape.heads,), logit))

    def sink(self, bias, position):
        return (
            bias.logits(position, position)
            + self.logit.astype(compute_dtype(self.logit.dtype))[:, None]
        )


@normalisers.register(
    "softmax-tail",
    formula="e^{z_s} / sum over all lags < horizon of e^{bias}",
    ref=Ref("headcount", "virtual zeros, docs/theory.md#finite-length"),
)
class SoftmaxTail(AbstractNormaliser):
    """The sink stands for lags not reached yet: positions up to `horizon` are normalised alike."""

    horizon: int = eqx.field(static=True)

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array, *, horizon: int = 1024) -> "SoftmaxTail":
        require(horizon >= 1, f"horizon {horizon}", "at least 1", "use the longest sequence length")
        return cls(horizon)

    def sink(self, bias, position):
        lags = jnp.arange(self.horizon)
        logits = bias.logits(lags, jnp.full_like(lags, self.horizon))  # [H, horizon]
        # log of the mass of lags >= s
        unreached = jax.lax.cumlogsumexp(logits, axis=1, reverse=True)
        beyond = jnp.full((logits.shape[0], 1), -jnp.inf, logits.dtype)
        return jnp.concatenate([unreached, beyond], axis=1)[:, jnp.minimum(position, self.horizon)]


@normalisers.register(
    "sigmoid", formula="1 / (1 + e^{-(z_s + c)})", ref=Ref("ramapuram-2024", "Section 2")
)
class Sigmoid(AbstractNormaliser):
    """Each lag by itself, with a learned offset c per head; nothing is divided."""

    offset: jax.Array  # [H]

    exponential = False
    divides = False

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array, *, offset: float = 0.0) -> "Sigmoid":
        return cls(jnp.full((shape.heads,), offset))

    def rise(self, logits):
        offset = self.offset.astype(logits.dtype)
        # [B, H, R, N] for content scores, else [H, …]
        heads = logits.ndim - 3 if logits.ndim == 4 else 0
        return jax.nn.sigmoid(logits + offset.reshape(-1, *(1,) * (logits.ndim - 1 - heads)))
