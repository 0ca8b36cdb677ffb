"""Biases that can single out a lag: peak, table, T5 buckets, rotary, FIRE."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.model.biases.base import AbstractBias, biases
from headcount.model.biases.decaying import check_rates
from headcount.model.shape import LayerShape, compute_dtype, normal


@biases.register(
    "peak",
    formula="-p (s - T)^2, T real",
    ref=Ref("headcount", "peak bias: one head reaches one lag"),
)
class Peak(AbstractBias):
    """Quadratic around a learned lag T: one head reaches one lag, in float32, at any distance."""

    rate: jax.Array  # [H]
    centre: jax.Array  # [H]

    def __check_init__(self):
        check_rates(("rate", self.rate))

    @classmethod
    def init(
        cls, shape: LayerShape, key: jax.Array, *, reach: float = 64.0, rate: float = 0.1
    ) -> "Peak":
        require(
            reach >= 0 and rate >= 0,
            f"reach {reach}, rate {rate}",
            "both at least 0",
            "lags and rates are not negative",
        )
        return cls(
            jnp.full((shape.heads,), rate), jax.random.uniform(key, (shape.heads,), maxval=reach)
        )

    @property
    def heads(self):
        return self.rate.shape[0]

    def logits(self, lag, position):
        dtype = compute_dtype(self.rate.dtype)
        ones = (1,) * jnp.ndim(lag)
        rate, centre = (
            a.astype(dtype).reshape(-1, *ones) for a in (jnp.abs(self.rate), self.centre)
        )
        return -rate * (jnp.asarray(lag, dtype) - centre) ** 2


@biases.register(
    "table",
    formula="b_h[s], s < window; -inf beyond",
    ref=Ref("shaw-2018", "Section 3.2, scalar form"),
)
class Table(AbstractBias):
    """A free number per lag: one head draws any positive kernel on its window, 0 beyond it.

    Real lags (TMX) are interpolated linearly between entries. Training starts from the kernel
    (1 + s)^-decay: near all lags alike (decay 0), a head on a long window must first learn to look
    at the near ones, which takes hundreds of steps.
    """

    table: jax.Array  # [H, S]

    @classmethod
    def init(
        cls,
        shape: LayerShape,
        key: jax.Array,
        *,
        window: int = 1024,
        scale: float = 0.02,
        decay: float = 0.0,
    ) -> "Table":
        require(window >= 1, f"window {window}", "at least 1 lag", "choose a longer window")
        noise = scale * jax.random.normal(key, (shape.heads, window))
        return cls(noise - decay * jnp.log1p(jnp.arange(window)))

    @property
    def heads(self):
        return self.table.shape[0]

    def logits(self, lag, position):
        table = self.table.astype(compute_dtype(self.table.dtype))
        last = table.shape[1] - 1
        if jnp.issubdtype(jnp.asarray(lag).dtype, jnp.integer):
            return jnp.where(lag <= last, jnp.take(table, jnp.clip(lag, 0, last), axis=1), -jnp.inf)
        low = jnp.clip(jnp.floor(lag), 0, last).astype(int)
        part = lag - low
        below, above = (jnp.take(table, jnp.clip(i, 0, last), axis=1) for i in (low, low + 1))
        # an exact lag must not meet a -inf neighbour
        between = jnp.where(part == 0, below, (1 - part) * below + part * above)
        return jnp.where(lag <= last, between, -jnp.inf)


@biases.register(
    "t5",
    formula="b_h[bucket(s)], exact below B/2, logarithmic up to `farthest`",
    ref=Ref("raffel-2020", "Section 2.1"),
)
class T5(AbstractBias):
    """A learned number per bucket of lags (causal buckets)."""

    table: jax.Array  # [H, buckets]
    farthest: int = eqx.field(static=True)

    @classmethod
    def init(
        cls,
        shape: LayerShape,
        key: jax.Array,
        *,
        buckets: int = 32,
        farthest: int = 128,
        scale: float = 0.02,
    ) -> "T5":
        require(
            2 <= buckets and buckets // 2 < farthest,
            f"{buckets} buckets up to lag {farthest}",
            "at least 2 buckets, farthest > buckets/2",
            "widen it",
        )
        return cls(scale * jax.random.normal(key, (shape.heads, buckets)), farthest)

    @property
    def heads(self):
        return self.table.shape[0]

    def bucket(self, lag: jax.Array) -> jax.Array:
        """Bucket index of a lag: the lag itself below B/2, then B/2 steps equal in log up to
        `farthest`.
        """
        count = self.table.shape[1]
        exact = count // 2
        ratio = jnp.log(jnp.maximum(lag, exact) / exact) / math.log(self.farthest / exact)
        far = exact + jnp.floor(ratio * (count - exact) + 1e-6).astype(int)
        return jnp.where(lag < exact, jnp.asarray(lag).astype(int), jnp.minimum(far, count - 1))

    def logits(self, lag, position):
        lag = jnp.maximum(jnp.asarray(lag), 0)
        return jnp.take(
            self.table.astype(compute_dtype(self.table.dtype)), self.bucket(lag), axis=1
        )


@biases.register(
    "rope",
    formula=(
        "q0ᵀ R(s) k0 = sum_j r_j cos(theta_j s + phase_j); with dot product (q+q0)ᵀ R(s) (k+k0)"
    ),
    ref=Ref("su-2021", "Section 3.2"),
)
class Rope(AbstractBias):
    """Rotary: queries and keys are turned by their position, so products see the lag.

    q0 and k0 are the biases of the query and key maps. Without a dot product they are all that is
    left, and the logit is a sum of cosines of the lag: one head can peak at one lag of a finite
    window.
    """

    query: jax.Array  # [H, q]
    key: jax.Array  # [H, q]
    base: float = eqx.field(static=True)

    rotary = True

    @classmethod
    def init(
        cls, shape: LayerShape, key: jax.Array, *, base: float = 10000.0, scale: float = 1.0
    ) -> "Rope":
        require(
            shape.query_dim % 2 == 0,
            f"rotary bias with query size {shape.query_dim}",
            "an even size",
            "choose an even head size",
        )
        first, second = jax.random.split(key)
        size = (shape.heads, shape.query_dim)
        return cls(scale * normal(first, size, shape.query_dim), normal(second, size, 1), base)

    @property
    def heads(self):
        return self.query.shape[0]

    def frequencies(self) -> jax.Array:
        """theta_j = base^{-2j/q}.  [q/2]"""
        half = self.query.shape[1] // 2
        return self.base ** (-jnp.arange(half, dtype=compute_dtype(self.query.dtype)) / half)

    def logits(self, lag, position):
        dtype = compute_dtype(self.query.dtype)
        q1, q2 = jnp.split(self.query.astype(dtype), 2, axis=1)  # [H, q/2]
        k1, k2 = jnp.split(self.key.astype(dtype), 2, axis=1)
        angle = jnp.asarray(lag, dtype)[..., None] * self.frequencies()  # [*, q/2]
        along, across = q1 * k1 + q2 * k2, q1 * k2 - q2 * k1  # R(t)ᵀ R(t-s) turns by -s theta
        return jnp.einsum("hj,...j->h...", along, jnp.cos(angle)) + jnp.einsum(
            "hj,...j->h...", across, jnp.sin(angle)
        )

    def turn(self, queries, keys, rows):
        return self._turned(queries + self.query, rows), self._turned(
            keys + self.key, jnp.arange(keys.shape[1])
        )

    def _turned(self, x: jax.Array, rows: jax.Array) -> jax.Array:
        """Each pair of coordinates turned by row * theta_j.  [B, R, H, q]"""
        angle = (rows[:, None] * self.frequencies())[:, None, :]  # [R, 1, q/2]
        a, b = jnp.split(x.astype(angle.dtype), 2, axis=-1)
        turned = jnp.concatenate(
            [a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)],
            axis=-1,
        )
        return turned.astype(x.dtype)


@biases.register(
    "fire",
    formula="MLP(psi(s) / psi(max(t, L))), psi(s) = log(1 + c s)",
    ref=Ref("li-2024-fire", "Section 3"),
)
class Fire(AbstractBias):
    """A learned function of the lag relative to the position: not Toeplitz beyond L."""

    w_in: jax.Array  # [m]
    b_in: jax.Array  # [m]
    w_out: jax.Array  # [H, m]
    stretch: jax.Array  # [] c
    threshold: jax.Array  # [] L

    toeplitz = False

    @classmethod
    def init(
        cls,
        shape: LayerShape,
        key: jax.Array,
        *,
        hidden: int = 32,
        stretch: float = 0.1,
        threshold: float = 512.0,
    ) -> "Fire":
        require(
            hidden >= 1 and stretch > 0 and threshold >= 1,
            f"hidden {hidden}, stretch {stretch}, threshold {threshold}",
            "positive",
            "choose larger ones",
        )
        a, b, c = jax.random.split(key, 3)
        return cls(
            normal(a, (hidden,), 1),
            normal(b, (hidden,), 1),
            normal(c, (shape.heads, hidden), hidden),
            jnp.asarray(stretch),
            jnp.asarray(threshold),
        )

    @property
    def heads(self):
        return self.w_out.shape[0]

    def logits(self, lag, position):
        dtype = compute_dtype(self.w_in.dtype)
        stretch = jnp.abs(self.stretch.astype(dtype)) + 1e-6
        longest = jnp.maximum(
            jnp.asarray(position, dtype), jnp.abs(self.threshold.astype(dtype)) + 1
        )
        share = jnp.log1p(stretch * jnp.maximum(jnp.asarray(lag, dtype), 0)) / jnp.log1p(
            stretch * longest
        )
        # [*, m]
        neurons = jax.nn.relu(share[..., None] * self.w_in.astype(dtype) + self.b_in.astype(dtype))
        return jnp.einsum("hm,...m->h...", self.w_out.astype(dtype), neurons)
