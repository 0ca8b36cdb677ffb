"""Where a layer normalises its stream: nowhere (the paper), before, after, or both.

A sublayer f acts on the stream x as  outer(kept(x) + after(f(before(x)))); each norm says what the
four are. One of them keeps nothing: a model without residual connections.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.model.shape import LayerShape, compute_dtype

EPSILON = 1e-5


class AbstractNorm(eqx.Module):
    """Four hooks around a sublayer; the identity where a norm does nothing."""

    kind: ClassVar[str]
    identity: ClassVar[bool] = False  # True: `before` does nothing, so a stream may stay in factors

    @classmethod
    @abc.abstractmethod
    def init(cls, shape: LayerShape, key: jax.Array) -> "AbstractNorm":
        """Fresh weights: scale 1, offset 0."""

    def before(self, x: jax.Array) -> jax.Array:
        """[..., D] → [..., D], what the sublayer sees."""
        return x

    def after(self, x: jax.Array) -> jax.Array:
        """What of the sublayer's output is added."""
        return x

    def kept(self, x: jax.Array) -> jax.Array:
        """What of the stream goes past the sublayer."""
        return x

    def outer(self, x: jax.Array) -> jax.Array:
        """What becomes of the sum."""
        return x


norms: Registry[AbstractNorm] = Registry("norm", AbstractNorm)


@jax.custom_vjp
def _standard(x: jax.Array) -> jax.Array:
    """y = (x - mean) / deviation over D, with dx = (g - mean(g) - y mean(g y)) / deviation."""
    return _standard_forward(x)[0]


def _standard_forward(x):
    centred = x - x.mean(-1, keepdims=True)
    inverse = jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return centred * inverse, (centred * inverse, inverse)


def _standard_backward(kept, g):
    y, inverse = kept
    return (inverse * (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True)),)


_standard.defvjp(_standard_forward, _standard_backward)


class Scale(eqx.Module):
    """Subtract the mean and divide by the standard deviation over D, then scale and shift."""

    scale: jax.Array  # [D]
    offset: jax.Array  # [D]

    @classmethod
    def of(cls, width: int) -> "Scale":
        return cls(jnp.ones(width), jnp.zeros(width))

    def __call__(self, x: jax.Array) -> jax.Array:
        return (
            _standard(x.astype(compute_dtype(x.dtype))).astype(x.dtype) * self.scale + self.offset
        )


@norms.register("none", formula="x + f(x)", ref=Ref("wang-e-2024", "Section 2.2"))
class NoNorm(AbstractNorm):
    """No normalisation, as in the paper."""

    identity = True

    @classmethod
    def init(cls, shape, key):
        return cls()


@norms.register("no-residual", formula="f(x)", ref=Ref("headcount", "docs/robustness.md"))
class NoResidual(AbstractNorm):
    """Nothing goes past a sublayer, and no normalisation."""

    identity = True

    @classmethod
    def init(cls, shape, key):
        return cls()

    def kept(self, x):
        return jnp.zeros_like(x)


@norms.register("pre-ln", formula="x + f(LN(x))", ref=Ref("xiong-2020", "Section 3"))
class PreLN(AbstractNorm):
    """LayerNorm before the sublayer."""

    inner: Scale

    @classmethod
    def init(cls, shape, key):
        return cls(Scale.of(shape.width))

    def before(self, x):
        return self.inner(x)


@norms.register("post-ln", formula="LN(x + f(x))", ref=Ref("vaswani-2017", "Section 3.1"))
class PostLN(AbstractNorm):
    """LayerNorm after the sum."""

    last: Scale
    identity = True

    @classmethod
    def init(cls, shape, key):
        return cls(Scale.of(shape.width))

    def outer(self, x):
        return self.last(x)


@norms.register("pre-rms", formula="x + f(x / rms(x) * g)", ref=Ref("zhang-2019", "Section 4"))
class PreRMS(AbstractNorm):
    """Root-mean-square norm before the sublayer: a scale, no mean, no offset."""

    scale: jax.Array  # [D]

    @classmethod
    def init(cls, shape, key):
        return cls(jnp.ones(shape.width))

    def before(self, x):
        fine = x.astype(compute_dtype(x.dtype))
        return (fine * jax.lax.rsqrt((fine**2).mean(-1, keepdims=True) + EPSILON)).astype(
            x.dtype
        ) * self.scale


@norms.register("sandwich", formula="x + LN(f(LN(x)))", ref=Ref("ding-2021", "Section 2.4"))
class Sandwich(AbstractNorm):
    """LayerNorm on both sides of the sublayer."""

    inner: Scale
    exit: Scale

    @classmethod
    def init(cls, shape, key):
        return cls(Scale.of(shape.width), Scale.of(shape.width))

    def before(self, x):
        return self.inner(x)

    def after(self, x):
        return self.exit(x)
