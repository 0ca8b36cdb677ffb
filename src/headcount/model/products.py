"""Weight matrices applied to rows, with the backward pass arranged for the CPU.

y = x W^T needs dW = dy^T x backwards. XLA's CPU library is fast when the narrower factor comes
first and twice as slow, or in need of a transposed copy of all rows, when it comes second, and the
direction that differentiation picks by itself is often the slow one. So rows are flattened to a
plain matrix and the product is taken the fast way round; the small result is transposed after.
"""

import math

import jax
import jax.numpy as jnp

from headcount.model.shape import compute_dtype

# with fewer, the direction that differentiation picks is as good (benchmarks/training.py)
MANY_ROWS = 1024
# of a product of many rows: 512 columns take twice the time of 384, 1,024 five times
WIDEST = 384


def linear(weight: jax.Array, x: jax.Array) -> jax.Array:
    """[out, in] applied to [..., in], accumulated in float32 or better, in x's type.  [..., out]"""
    rows = math.prod(x.shape[:-1])
    return (
        _many_rows(weight, x)
        if rows >= MANY_ROWS
        else _product("...i,oi->...o", x, weight, x.dtype)
    )


@jax.custom_vjp
def _many_rows(weight: jax.Array, x: jax.Array) -> jax.Array:
    out = _product("ti,oi->to", _flat(x), weight, x.dtype)
    return out.reshape(*x.shape[:-1], weight.shape[0])


def _forward(weight, x):
    return _many_rows(weight, x), (weight, x)


def _backward(kept, dy):
    weight, x = kept
    rows, dy_rows = _flat(x), _flat(dy)
    dx = _product("to,oi->ti", dy_rows, weight, x.dtype).reshape(x.shape)
    if weight.shape[0] <= weight.shape[1]:
        return _narrow_first(dy_rows, rows, weight.dtype), dx
    wide = _narrow_first(rows, dy_rows, weight.dtype)
    # without the barrier XLA turns the product round again
    return jax.lax.optimization_barrier(wide).T, dx


def _narrow_first(a: jax.Array, b: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """a^T b of rows, in parts of b's columns.  [T, i] and [T, o] → [i, o]"""
    parts = [b[:, start : start + WIDEST] for start in range(0, b.shape[1], WIDEST)]
    return jnp.concatenate([_product("ti,to->io", a, part, dtype) for part in parts], axis=1)


_many_rows.defvjp(_forward, _backward)


def _flat(x: jax.Array) -> jax.Array:
    """[..., i] → [T, i]"""
    return x.reshape(-1, x.shape[-1])


def _product(subscripts: str, a: jax.Array, b: jax.Array, dtype: jnp.dtype) -> jax.Array:
    return jnp.einsum(subscripts, a, b, preferred_element_type=compute_dtype(dtype)).astype(dtype)
