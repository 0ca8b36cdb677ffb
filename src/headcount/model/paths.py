"""How weighted sums over the past are computed: rows of weights, a recurrence, or an FFT.

All take u as [B, N, f] (heads share it) or [B, N, H, f] and return [B, R, H, f]; recurrence and
convolution give every row. A row's weights are rise(z - shift) / denominator; the shift is the
row's largest logit, so nothing overflows, and it cancels.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from headcount.model.biases.base import AbstractBias
from headcount.model.normalisers import AbstractNormaliser
from headcount.model.scores import lags_and_positions
from headcount.model.shape import compute_dtype

BLOCK_ENTRIES = 2**22  # weights held at once per head; longer inputs are handled in blocks of rows


def weights(
    bias: AbstractBias, normaliser: AbstractNormaliser, logits: jax.Array, rows: jax.Array
) -> jax.Array:
    """Attention weights of some rows with the future masked.  [..., H, R, N] → same"""
    rows = jnp.asarray(rows)
    past = jnp.arange(logits.shape[-1])[None, :] <= rows[:, None]  # [R, N]
    logits = jnp.where(past, logits, -jnp.inf)
    if not normaliser.divides:
        return jnp.where(logits == -jnp.inf, 0, normaliser.rise(logits))
    top = jnp.max(logits, axis=-1)  # [..., H, R]
    sink = normaliser.sink(bias, rows + 1)
    shift = row_shift(top, sink)
    rise = normaliser.rise(logits - shift[..., None])
    return rise / denominator(jnp.sum(rise, axis=-1), shift, sink)[..., None]


def weighted_sum(weights: jax.Array, u: jax.Array) -> jax.Array:
    """[B or 1, H, R, N] weights of [B, N, f] or [B, N, H, f] → [B, R, H, f] in u's type, summed
    in float32 or better.
    """
    weights = weights.astype(u.dtype)
    accumulate = compute_dtype(u.dtype)
    # one number per token: a plain matrix product, no transposed copies
    if weights.shape[0] == 1 and u.ndim == 3 and u.shape[2] == 1:
        _, heads, rows, length = weights.shape
        sums = jnp.einsum(
            "bn,kn->bk",
            u[:, :, 0],
            weights.reshape(heads * rows, length),
            preferred_element_type=accumulate,
        )
        return jnp.swapaxes(sums.astype(u.dtype).reshape(-1, heads, rows), 1, 2)[..., None]
    if weights.shape[0] == 1:
        subscripts = "hrn,bnf->brhf" if u.ndim == 3 else "hrn,bnhf->brhf"
        return jnp.einsum(subscripts, weights[0], u, preferred_element_type=accumulate).astype(
            u.dtype
        )
    return jnp.einsum("bhrn,bnhf->brhf", weights, u, preferred_element_type=accumulate).astype(
        u.dtype
    )


def in_blocks(
    block: Callable[[jax.Array], jax.Array], rows: np.ndarray, entries_per_row: int
) -> jax.Array:
    """Apply `block` to all rows at once, or, where that would take too much memory, to one block
    after another.
    """
    size = max(1, BLOCK_ENTRIES // entries_per_row)
    if len(rows) <= size:
        return block(jnp.asarray(rows))
    count = -(-len(rows) // size)
    # the surplus repeats rows and is cut off
    padded = jnp.asarray(np.resize(rows, count * size).reshape(count, size))
    # [blocks, B, size, H, f]; recomputed backwards, so memory stays linear
    out = jax.lax.map(jax.checkpoint(block), padded)
    out = jnp.moveaxis(out, 0, 1).reshape(out.shape[1], count * size, *out.shape[3:])
    return out[:, : len(rows)]


def rows_of_weights(
    bias: AbstractBias, normaliser: AbstractNormaliser, u: jax.Array, rows: np.ndarray
) -> jax.Array:
    """Any rows of any content-free bias: weights [H, R, N], the same for the whole batch."""

    def block(rows: jax.Array) -> jax.Array:
        logits = bias.logits(*lags_and_positions(rows, u.shape[1]))  # [H, R, N]
        return weighted_sum(weights(bias, normaliser, logits, rows)[None], u)

    return in_blocks(block, rows, u.shape[1])


def recurrence(
    bias: AbstractBias, normaliser: AbstractNormaliser, u: jax.Array, rows: np.ndarray
) -> jax.Array:
    """Every row of heads e^{-b s} in one pass: state_t = e^{-b} state_{t-1} + u_t."""
    dtype = compute_dtype(u.dtype)
    rate = bias.decay()
    assert rate is not None
    keep = jnp.exp(-rate.astype(dtype))  # [H]
    u_heads = (u[:, :, None, :] if u.ndim == 3 else u).astype(dtype)  # [B, N, 1 or H, f]
    batch, length, _, f = u_heads.shape

    def step(carry, token):
        state, total = carry
        state = keep[None, :, None] * state + token
        total = keep * total + 1
        return (state, total), (state, total)

    start = (jnp.zeros((batch, rate.shape[0], f), dtype), jnp.zeros(rate.shape, dtype))
    # [N, B, H, f], [N, H]
    _, (sums, totals) = jax.lax.scan(step, start, jnp.moveaxis(u_heads, 1, 0))
    if normaliser.divides:  # the largest logit of every row is 0, at lag 0
        sink = normaliser.sink(bias, jnp.arange(length) + 1)
        shift = row_shift(jnp.zeros((rate.shape[0], length), dtype), sink)  # [H, N]
        sums = (
            sums
            * (jnp.exp(-shift) / denominator(jnp.exp(-shift) * totals.T, shift, sink)).T[
                :, None, :, None
            ]
        )
    return jnp.moveaxis(sums, 0, 1).astype(u.dtype)


def convolution(
    bias: AbstractBias, normaliser: AbstractNormaliser, u: jax.Array, rows: np.ndarray
) -> jax.Array:
    """Every row of a Toeplitz bias by FFT.

    The FFT's error is relative to the largest weight of all, so a row whose own largest logit lies
    far below that one would be lost in it (a peak at lag 500 seen from position 3). Then, and only
    then, rows are computed one by one; biases that decrease with the lag cannot get there.
    """
    length = u.shape[1]
    lags = jnp.arange(length)
    logits = bias.logits(lags, lags + 1)  # [H, N]
    if not normaliser.divides:
        kernel = jnp.where(logits == -jnp.inf, 0, normaliser.rise(logits))
        return _convolved(kernel, u).astype(u.dtype)
    top = jax.lax.cummax(logits, axis=1)  # [H, N]: the largest logit that row t sees
    sink = normaliser.sink(bias, lags + 1)
    shift = row_shift(top, sink)  # [H, N]
    common = _finite(jnp.max(logits, axis=1))  # [H]

    def by_fft(u: jax.Array) -> jax.Array:
        kernel = normaliser.rise(logits - common[:, None])  # [H, N]
        scale = jnp.exp(jnp.minimum(common[:, None] - shift, _widest(kernel.dtype)))  # [H, N]
        totals = jnp.cumsum(kernel, axis=1) * scale
        weight = jnp.where(top == -jnp.inf, 0, scale / denominator(totals, shift, sink))
        return (_convolved(kernel, u) * weight.T[None, :, :, None]).astype(u.dtype)

    if bias.decreasing:
        return by_fft(u)

    def by_rows(u: jax.Array) -> jax.Array:
        return rows_of_weights(bias, normaliser, u, rows)

    spread = jnp.where(top == -jnp.inf, -jnp.inf, common[:, None] - shift)
    return jax.lax.cond(
        jnp.max(spread) <= _widest(logits.dtype), by_fft, jax.checkpoint(by_rows), u
    )  # or the N x N weights would be kept for both


def _convolved(kernel: jax.Array, u: jax.Array) -> jax.Array:
    """sum_s kernel_h(s) u_{t-s} for every t.  [H, N], [B, N, (H,) f] → [B, N, H, f]"""
    dtype = compute_dtype(u.dtype)
    length = u.shape[1]
    size = 1 << (2 * length - 1).bit_length()
    u_heads = (u[:, :, None, :] if u.ndim == 3 else u).astype(dtype)
    spectrum = (
        jnp.fft.rfft(u_heads, size, axis=1)
        * jnp.fft.rfft(kernel.astype(dtype).T, size, axis=0)[None, :, :, None]
    )
    return jnp.fft.irfft(spectrum, size, axis=1)[:, :length]


def _widest(dtype: jnp.dtype) -> float:
    """Largest gap in nats between a row's top logit and the common one at which the FFT keeps
    its precision.
    """
    return 15.0 if dtype == jnp.float64 else 3.0


def _finite(top: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(jnp.where(jnp.isfinite(top), top, 0))


def row_shift(top: jax.Array, sink: jax.Array | None) -> jax.Array:
    """What is subtracted from a row's logits: the largest of them and of the sink, 0 for a row
    that sees nothing.
    """
    return _finite(top if sink is None else jnp.maximum(top, sink))


def denominator(total: jax.Array, shift: jax.Array, sink: jax.Array | None) -> jax.Array:
    """Sum of the row (and the sink); 1 for a row that sees nothing: its numerators are 0."""
    if sink is not None:
        total = total + jnp.exp(sink - shift)
    return jnp.where(total > 0, total, 1)
