"""Biases that only decay: lin, log, log1p, KERPLE's two, ALiBi. One head draws one decaying curve.

Rates are stored as plain numbers and used through their absolute value: p >= 0 as in the paper,
without the dead gradient of a clamp at zero. Lin, log and log1p can be stored through softplus
instead, the other usual way to keep a number positive: the weights that can be drawn are the same
(but for p = 0), what training finds is not. Each is made from `low`, `high` and `spacing`, because
which rates training starts from decides what it finds (docs/numerics.md#initial-rates).
"""

import enum
import math
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.model.biases.base import AbstractBias, biases
from headcount.model.shape import LayerShape, compute_dtype

TINY = 1e-6  # the smallest initial rate through softplus, which never is 0


class Spacing(enum.StrEnum):
    """How initial rates are spread over the heads."""

    UNIFORM = "uniform"  # independent draws from U(low, high)
    LOG = "log"  # a fixed geometric ladder from low to high


class Positive(enum.StrEnum):
    """How a stored number becomes a rate p >= 0."""

    ABS = "abs"  # p = |r|: steps of the optimiser are steps of p
    # p = log(1 + e^r): near 0 they are relative, so that small rates are reached slowly
    SOFTPLUS = "softplus"

    def rate(self, stored: jax.Array) -> jax.Array:
        return jnp.abs(stored) if self is Positive.ABS else jax.nn.softplus(stored)

    def stored(self, rate: jax.Array) -> jax.Array:
        """The number that gives the rate; through softplus the smallest is TINY."""
        return rate if self is Positive.ABS else jnp.log(jnp.expm1(jnp.maximum(rate, TINY)))


def spread(heads: int, key: jax.Array, low: float, high: float, spacing: Spacing) -> jax.Array:
    """Initial rates.  [H]"""
    require(
        0 <= low <= high and math.isfinite(high),
        f"rates from {low} to {high}",
        "0 <= low <= high",
        "rates are not negative",
    )
    if spacing is Spacing.UNIFORM:
        return jax.random.uniform(key, (heads,), minval=low, maxval=high)
    require(low > 0, f"log-spaced rates from {low}", "low > 0", "for example low=0.0003, high=10")
    return jnp.geomspace(low, high, heads) if heads > 1 else jnp.full((1,), math.sqrt(low * high))


def check_rates(*named: tuple[str, jax.Array]) -> None:
    """Refuse negative or non-finite rates given by hand (weights in the middle of training are
    not checked).
    """
    for name, values in named:
        if isinstance(values, jax.core.Tracer) or not eqx.is_array(values):
            continue
        seen = np.asarray(values)
        require(
            bool(np.isfinite(seen).all() and (seen >= 0).all()),
            f"{name} {seen.ravel()[:4].tolist()}",
            "finite rates of at least 0",
            "a head cannot grow with the lag",
        )


def _per_head(
    rates: jax.Array, lag: jax.Array, positive: Positive = Positive.ABS
) -> tuple[jax.Array, jax.Array]:
    """Rates as [H, 1, …] and the lag, in the compute type."""
    dtype = compute_dtype(rates.dtype)
    return positive.rate(rates).astype(dtype).reshape(-1, *(1,) * jnp.ndim(lag)), jnp.asarray(
        lag, dtype
    )


class AbstractDecaying(AbstractBias):
    """One learned rate per head, and nothing else."""

    rate: eqx.AbstractVar[jax.Array]  # [H] as stored
    positive: eqx.AbstractVar[Positive]

    decreasing = True

    def __check_init__(self):
        if self.positive is Positive.ABS:
            check_rates(("rate", self.rate))

    @classmethod
    def init(
        cls,
        shape: LayerShape,
        key: jax.Array,
        *,
        low: float = 0.0,
        high: float = 1.0,
        spacing: Spacing = Spacing.UNIFORM,
        positive: Positive = Positive.ABS,
    ) -> Self:
        stored = positive.stored(spread(shape.heads, key, low, high, spacing))
        return cls(stored, positive)

    @property
    def heads(self):
        return self.rate.shape[0]


@biases.register("lin", formula="-p s", ref=Ref("wang-e-2024", "Section 2.2, phi_lin"))
class Lin(AbstractDecaying):
    """Linear in the lag: a head is e^{-p s}."""

    rate: jax.Array  # [H]
    positive: Positive = eqx.field(static=True, default=Positive.ABS)

    def logits(self, lag, position):
        rate, lag = _per_head(self.rate, lag, self.positive)
        return -rate * lag

    def decay(self):
        return self.positive.rate(self.rate).astype(compute_dtype(self.rate.dtype))


@biases.register(
    "log", formula="-p log s, s >= 1; -inf at s = 0", ref=Ref("wang-e-2024", "Section 2.2, phi_log")
)
class Log(AbstractDecaying):
    """Logarithmic in the lag: a head is s^{-p}. Lag 0 is left out; the residual has x_t."""

    rate: jax.Array  # [H]
    positive: Positive = eqx.field(static=True, default=Positive.ABS)

    first_lag = 1

    def logits(self, lag, position):
        rate, lag = _per_head(self.rate, lag, self.positive)
        return jnp.where(lag >= 1, -rate * jnp.log(jnp.maximum(lag, 1)), -jnp.inf)


@biases.register(
    "log1p", formula="-p log(1 + s)", ref=Ref("chi-2022", "logarithmic variant, r2 = 1")
)
class Log1p(AbstractDecaying):
    """The logarithmic bias shifted by one lag, so that lag 0 is seen (docs/errata.md#e19)."""

    rate: jax.Array  # [H]
    positive: Positive = eqx.field(static=True, default=Positive.ABS)

    def logits(self, lag, position):
        rate, lag = _per_head(self.rate, lag, self.positive)
        return -rate * jnp.log1p(lag)


@biases.register(
    "kerple-log", formula="-r1 log(1 + r2 s)", ref=Ref("chi-2022", "logarithmic variant")
)
class KerpleLog(AbstractBias):
    """KERPLE, logarithmic: rate r1 ~ U(0, 2) and scale r2 ~ U(0, 1), both learned."""

    rate: jax.Array  # [H]
    scale: jax.Array  # [H]

    decreasing = True

    def __check_init__(self):
        check_rates(("rate", self.rate), ("scale", self.scale))

    @classmethod
    def init(
        cls, shape: LayerShape, key: jax.Array, *, high: float = 2.0, scale: float = 1.0
    ) -> "KerpleLog":
        first, second = jax.random.split(key)
        return cls(
            spread(shape.heads, first, 0.0, high, Spacing.UNIFORM),
            spread(shape.heads, second, 0.0, scale, Spacing.UNIFORM),
        )

    @property
    def heads(self):
        return self.rate.shape[0]

    def logits(self, lag, position):
        rate, lag = _per_head(self.rate, lag)
        scale, _ = _per_head(self.scale, lag)
        return -rate * jnp.log1p(scale * lag)


@biases.register(
    "kerple-power", formula="-r1 s^{r2}, 0 < r2 <= 2", ref=Ref("chi-2022", "power variant")
)
class KerplePower(AbstractBias):
    """KERPLE, power: exponent r2 is held in (0, 2] so that the kernel stays positive definite."""

    rate: jax.Array  # [H]
    exponent: jax.Array  # [H]

    decreasing = True

    def __check_init__(self):
        check_rates(("rate", self.rate), ("exponent", self.exponent))

    @classmethod
    def init(
        cls, shape: LayerShape, key: jax.Array, *, high: float = 2.0, exponent: float = 1.0
    ) -> "KerplePower":
        first, second = jax.random.split(key)
        return cls(
            spread(shape.heads, first, 0.0, high, Spacing.UNIFORM),
            spread(shape.heads, second, 0.01, max(exponent, 0.01), Spacing.UNIFORM),
        )

    @property
    def heads(self):
        return self.rate.shape[0]

    def logits(self, lag, position):
        rate, lag = _per_head(self.rate, lag)
        exponent, _ = _per_head(self.exponent, lag)
        # s^r = e^{r log s}; the inner guard keeps the gradient finite at s = 0, where s^r = 0.
        power = jnp.exp(jnp.clip(exponent, 0.01, 2.0) * jnp.log(jnp.maximum(lag, 1e-30)))
        return -rate * jnp.where(lag > 0, power, 0.0)


@biases.register(
    "alibi", formula="-m_h s, m_h = 2^{-8h/H} fixed", ref=Ref("press-2022", "Section 3")
)
class Alibi(AbstractBias):
    """Linear with fixed slopes: nothing is learned."""

    slopes: tuple[float, ...] = eqx.field(static=True)

    decreasing = True

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "Alibi":
        return cls(tuple(2.0 ** (-8.0 * (h + 1) / shape.heads) for h in range(shape.heads)))

    @property
    def heads(self):
        return len(self.slopes)

    def logits(self, lag, position):
        rate, lag = _per_head(self.decay(), lag)
        return -rate * lag

    def decay(self):
        return jnp.asarray(self.slopes, jnp.result_type(float))


@biases.register("none", formula="0", ref=Ref("vaswani-2017", "Section 3.2"))
class NoBias(AbstractBias):
    """No positional bias: every lag looks the same."""

    count: int = eqx.field(static=True)

    decreasing = True

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "NoBias":
        return cls(shape.heads)

    @property
    def heads(self):
        return self.count

    def logits(self, lag, position):
        return jnp.zeros((self.count, *jnp.shape(lag)), jnp.result_type(float))

    def decay(self):
        return jnp.zeros((self.count,), jnp.result_type(float))
