"""Attention scores: what a head's logit owes to content. The bias is handed in; the score adds
to it or bends it.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.model.biases.base import AbstractBias
from headcount.model.biases.decaying import check_rates
from headcount.model.shape import LayerShape, compute_dtype, normal


class AbstractScore(eqx.Module):
    """Logits from query tokens, key tokens and the bias."""

    kind: ClassVar[str]
    # True: logits are the bias alone, shared by the whole batch
    content_free: ClassVar[bool] = False

    @abc.abstractmethod
    def logits(
        self, queries: jax.Array, keys: jax.Array, rows: np.ndarray | jax.Array, bias: AbstractBias
    ) -> jax.Array:
        """Stream at the rows [B, R, D] and everywhere [B, N, D] → [B, H, R, N]; the future is
        masked later.
        """

    def looks_at_tokens(self, heads: int) -> np.ndarray:
        """Which heads have logits that depend on the tokens, as their weights stand.  [H]"""
        return np.full(heads, not self.content_free)


scores: Registry[AbstractScore] = Registry("attention", AbstractScore)


def lags_and_positions(rows: np.ndarray | jax.Array, length: int) -> tuple[jax.Array, jax.Array]:
    """Lag (negative in the future, clipped to 0) and position, [R, N] each."""
    rows = jnp.asarray(rows)
    lag = jnp.maximum(rows[:, None] - jnp.arange(length)[None, :], 0)
    return lag, jnp.broadcast_to(rows[:, None] + 1, lag.shape)


@scores.register(
    "dp-free", formula="z = bias(s)", ref=Ref("wang-e-2024", "Section 3, W_Q = W_K = 0")
)
class DotFree(AbstractScore):
    """No dot product: the logit is the bias, the same for every input: heads are convolutions."""

    content_free = True

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "DotFree":
        return cls()

    def logits(self, queries, keys, rows, bias):
        return bias.logits(*lags_and_positions(rows, keys.shape[1]))[None]


@scores.register(
    "dot", formula="z = <W_Q x_t, W_K x_{t-s}> + bias(s)", ref=Ref("wang-e-2024", "Section 2.2")
)
class DotProduct(AbstractScore):
    """The dot product of query and key, unscaled as in the paper (1/sqrt(q) is in W_K's start)."""

    w_query: jax.Array  # [H, q, D]
    w_key: jax.Array  # [H, q, D]

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "DotProduct":
        first, second = jax.random.split(key)
        size = (shape.heads, shape.query_dim, shape.width)
        return cls(
            normal(first, size, shape.width), normal(second, size, shape.width * shape.query_dim)
        )

    def looks_at_tokens(self, heads):
        used = (np.asarray(jnp.abs(w).max((1, 2))) > 0 for w in (self.w_query, self.w_key))
        return np.logical_or(*used)

    def logits(self, queries, keys, rows, bias):
        dtype = compute_dtype(queries.dtype)
        q = jnp.einsum("brd,hqd->brhq", queries, self.w_query)
        k = jnp.einsum("bnd,hqd->bnhq", keys, self.w_key)
        q, k = bias.turn(q, k, jnp.asarray(rows))
        product = jnp.einsum("brhq,bnhq->bhrn", q, k, preferred_element_type=dtype)
        return (
            product
            if bias.rotary
            else product + bias.logits(*lags_and_positions(rows, keys.shape[1]))
        )


@scores.register(
    "tmx",
    formula="z = bias(s) - bias(max(w.x_t, first lag))",
    ref=Ref("wang-e-2024", "Proposition 4.3"),
)
class TMX(AbstractScore):
    """The bias measured against the lag that the query token asks for: O(D) parameters per head.

    The clamp keeps the second term finite (docs/errata.md#e6). The term does not depend on s, so
    softmax without a sink cancels it exactly (docs/errata.md#e17): use it normalisation-free or
    with a sink.
    """

    direction: jax.Array  # [H, D]

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "TMX":
        return cls(normal(key, (shape.heads, shape.width), shape.width))

    def logits(self, queries, keys, rows, bias):
        asked = jnp.maximum(_asked(self.direction, queries), bias.first_lag)  # [B, R, H]
        position = jnp.broadcast_to(jnp.asarray(rows)[None, :, None] + 1, asked.shape)
        every = bias.logits(asked, position)  # [H, B, R, H]: each head's bias at each head's wish
        own = jnp.einsum("hbrh->bhr", every)
        return bias.logits(*lags_and_positions(rows, keys.shape[1]))[None] - own[..., None]


@scores.register(
    "peak-tmx",
    formula="z = -p (s - w.x_t)^2 + bias(s)",
    ref=Ref("headcount", "peak TMX: the token names the lag"),
)
class PeakTMX(AbstractScore):
    """A peak at the lag that the query token asks for: adaptive and exact under softmax too."""

    rate: jax.Array  # [H]
    direction: jax.Array  # [H, D]

    def __check_init__(self):
        check_rates(("rate", self.rate))

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array, *, rate: float = 1.0) -> "PeakTMX":
        return cls(
            jnp.full((shape.heads,), rate), normal(key, (shape.heads, shape.width), shape.width)
        )

    def logits(self, queries, keys, rows, bias):
        asked = jnp.moveaxis(_asked(self.direction, queries), -1, 1)[..., None]  # [B, H, R, 1]
        lag, position = lags_and_positions(rows, keys.shape[1])
        rate = jnp.abs(self.rate).astype(asked.dtype)[:, None, None]
        return -rate * (lag - asked) ** 2 + bias.logits(lag, position)


def _asked(direction: jax.Array, queries: jax.Array) -> jax.Array:
    """w.x_t for every head.  [B, R, D] → [B, R, H]"""
    return jnp.einsum(
        "brd,hd->brh", queries, direction, preferred_element_type=compute_dtype(queries.dtype)
    )
