"""Feed-forward networks, applied to every row by itself."""

import abc
import enum
import math
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.model.products import linear
from headcount.model.shape import LayerShape, compute_dtype, normal


class AbstractFFN(eqx.Module):
    """R^D → R^out, the same at every row."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., D] → [..., out]"""

    @property
    @abc.abstractmethod
    def sizes(self) -> tuple[int, int, int]:
        """(matrix multiply-adds per row, input width, output width)."""


ffns: Registry[AbstractFFN] = Registry("ffn", AbstractFFN)


class AbstractTwoLayers(AbstractFFN):
    """sum_k a_k act(b_k.x + c_k): m neurons, no offset on the output, as in the paper."""

    w_in: eqx.AbstractVar[jax.Array]  # [m, D]
    offset: eqx.AbstractVar[jax.Array]  # [m]
    w_out: eqx.AbstractVar[jax.Array]  # [out, m]

    @staticmethod
    @abc.abstractmethod
    def activation(z: jax.Array) -> jax.Array:
        """What a neuron does."""

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> Self:
        first, second, third = jax.random.split(key, 3)
        w_in = normal(first, (shape.hidden, shape.width), shape.width)
        offset = normal(second, (shape.hidden,), shape.width)
        w_out = normal(third, (shape.outputs, shape.hidden), shape.hidden)
        return cls(w_in, offset, w_out)

    def __call__(self, x):
        return linear(self.w_out, self.activation(linear(self.w_in, x) + self.offset))

    @property
    def sizes(self):
        return self.w_in.size + self.w_out.size, self.w_in.shape[1], self.w_out.shape[0]


@ffns.register("relu", formula="sum_k a_k relu(b_k.x + c_k)", ref=Ref("wang-e-2024", "Section 2.2"))
class ReLU(AbstractTwoLayers):
    """Two layers, m ReLU neurons: the paper's network."""

    w_in: jax.Array  # [m, D]
    offset: jax.Array  # [m]
    w_out: jax.Array  # [out, m]

    @staticmethod
    def activation(z):
        return jax.nn.relu(z)


@ffns.register(
    "gelu", formula="sum_k a_k gelu(b_k.x + c_k)", ref=Ref("hendrycks-2016", "Section 2")
)
class GELU(AbstractTwoLayers):
    """Two layers with the Gaussian error linear unit (exact form)."""

    w_in: jax.Array  # [m, D]
    offset: jax.Array  # [m]
    w_out: jax.Array  # [out, m]

    @staticmethod
    def activation(z):
        # jax.nn.gelu takes erfc, about twice as slow on the CPU
        return z * (0.5 + 0.5 * jax.lax.erf(z * math.sqrt(0.5)))


@ffns.register("swiglu", formula="W_2 (swish(W_g x) * W_1 x)", ref=Ref("shazeer-2020", "eq. (6)"))
class SwiGLU(AbstractFFN):
    """Gated: three matrices, no offsets."""

    w_gate: jax.Array  # [m, D]
    w_in: jax.Array  # [m, D]
    w_out: jax.Array  # [out, m]

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "SwiGLU":
        gate, enter, leave = jax.random.split(key, 3)
        size = (shape.hidden, shape.width)
        w_out = normal(leave, (shape.outputs, shape.hidden), shape.hidden)
        return cls(normal(gate, size, shape.width), normal(enter, size, shape.width), w_out)

    def __call__(self, x):
        return linear(self.w_out, jax.nn.silu(linear(self.w_gate, x)) * linear(self.w_in, x))

    @property
    def sizes(self):
        return 2 * self.w_in.size + self.w_out.size, self.w_in.shape[1], self.w_out.shape[0]


@ffns.register(
    "none",
    formula="0 (or W x where a readout is needed)",
    ref=Ref("wang-e-2024", "Proposition 4.2"),
)
class NoFFN(AbstractFFN):
    """No network: adds nothing to the stream. As a readout it is a linear map of the stream."""

    w_out: jax.Array | None  # [out, D] where it reads out
    width: int = eqx.field(static=True)

    @classmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "NoFFN":
        reads_out = shape.reads_out or shape.outputs != shape.width
        return cls(
            normal(key, (shape.outputs, shape.width), shape.width) if reads_out else None,
            shape.width,
        )

    def __call__(self, x):
        return jnp.zeros_like(x) if self.w_out is None else linear(self.w_out, x)

    @property
    def sizes(self):
        return (
            (0, self.width, self.width)
            if self.w_out is None
            else (self.w_out.size, self.width, self.w_out.shape[0])
        )


class Rounding(enum.StrEnum):
    """Which scale the precision network rounds on."""

    LIN = "lin"  # to the nearest integer
    LOG = "log"  # to the logarithm of the nearest positive integer

    def nearest(self, z: jax.Array) -> jax.Array:
        if self is Rounding.LIN:
            return jnp.floor(z + 0.5)
        return jnp.log(jnp.maximum(jnp.floor(jnp.exp(jnp.minimum(z, 80.0)) + 0.5), 1))


@ffns.register(
    "precision",
    formula="[FFN(x)] (lin) or log[exp FFN(x)] (log), [.] = floor(z + 1/2)",
    ref=Ref("wang-e-2024", "Section 4, FFN~"),
)
class Precision(AbstractFFN):
    """Another network, its outputs rounded: integer lags come out exact, gradients pass through.

    On the log scale outputs below log(1/2) would round to log 0; they stay 0, as zero coordinates
    must (docs/theory.md#weights).
    """

    inner: AbstractFFN
    rounding: Rounding = eqx.field(static=True)

    @classmethod
    def init(
        cls,
        shape: LayerShape,
        key: jax.Array,
        *,
        inner: str = "relu",
        rounding: Rounding = Rounding.LIN,
    ) -> "Precision":
        return cls(ffns.build(inner, shape, key), rounding)

    def __call__(self, x):
        z = self.inner(x)
        fine = z.astype(compute_dtype(z.dtype))
        rounded = self.rounding.nearest(fine).astype(z.dtype)
        return z + jax.lax.stop_gradient(rounded - z)

    @property
    def sizes(self):
        return self.inner.sizes
