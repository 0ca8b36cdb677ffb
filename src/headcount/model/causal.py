"""Softmax attention at every position, for training language models: blocks of rows that never
touch the future.

    rise_rn = e^{z_rn - shift_r},   z = q k^T + bias,   total_r = sum_j rise_rj (and the sink)
    out = (rise v) / total

Row blocks i..j need keys 0..j only, which saves up to half of the work. Backwards, with g the
gradient of out divided by its row's total:

    delta_r = g_r . out_r
    dz = rise (g v^T - delta),   dv = rise^T g,   d sink = -e^{sink - shift} delta

(Dao et al. 2022, Appendix B.2, with the division moved from the N x N weights to the N rows of g).
dk and dv are computed transposed, [q, N]: then the N x N weights enter every product as they lie in
memory; the derivative that JAX finds by itself makes transposed copies of them. A batch goes in
parts whose weights stay in the processor's cache (`python -m benchmarks language_model_parts`).
The weights are kept for the backward pass, or computed again where they are many.
"""

import jax
import jax.numpy as jnp

from headcount.model.paths import BLOCK_ENTRIES, denominator, row_shift
from headcount.model.shape import compute_dtype

# shorter blocks make the matrix products too small; more blocks take long to compile
LEAST_BLOCK, MOST_BLOCKS = 128, 8
CACHED = 2**18  # weights of one block of rows that are handled at once: 1 MB in float32


def attend(
    q: jax.Array, k: jax.Array, v: jax.Array, bias: jax.Array, sink: jax.Array | None
) -> jax.Array:
    """q and k [B, H, N, q], v [B, H, N, v], bias [H, N, N], sink [H, N] → [B, H, N, v].

    The bias is -inf where a row must not look.
    """
    batch, heads, length, _ = q.shape
    one = heads * length * _rows(length)  # weights of a block of rows of one sequence
    part = next(
        size
        for size in range(batch, 0, -1)
        if batch % size == 0 and (size == 1 or size * one <= CACHED)
    )
    if part == batch:
        return _attend(q, k, v, bias, sink)

    def of_part(qkv):
        return _attend(*qkv, bias, sink)

    many = batch * length**2 > BLOCK_ENTRIES  # weights that are too many to be kept
    parts = tuple(a.reshape(batch // part, part, *a.shape[1:]) for a in (q, k, v))
    out = jax.lax.map(jax.checkpoint(of_part) if many else of_part, parts)
    return out.reshape(batch, heads, length, v.shape[-1])


@jax.custom_vjp
def _attend(q, k, v, bias, sink):
    return _forward(q, k, v, bias, sink)[0]


def _rows(length: int) -> int:
    """Rows of a block."""
    return max(LEAST_BLOCK, -(-length // MOST_BLOCKS))


def _blocks(length: int) -> list[slice]:
    size = _rows(length)
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _forward(q, k, v, bias, sink):
    dtype = compute_dtype(q.dtype)
    outs, rises, shifts, totals = [], [], [], []
    for rows in _blocks(q.shape[2]):
        logits = jnp.einsum(
            "bhrq,bhnq->bhrn", q[:, :, rows], k[:, :, : rows.stop], preferred_element_type=dtype
        )
        logits = logits + bias[:, rows, : rows.stop]
        drain = None if sink is None else sink[:, rows]
        shift = row_shift(jnp.max(logits, axis=-1), drain)  # [B, H, R]
        rise = jnp.exp(logits - shift[..., None])
        total = denominator(jnp.sum(rise, axis=-1), shift, drain)
        rises.append(rise.astype(v.dtype))
        gathered = jnp.einsum(
            "bhrn,bhnv->bhrv", rises[-1], v[:, :, : rows.stop], preferred_element_type=dtype
        )
        outs.append((gathered / total[..., None]).astype(v.dtype))
        shifts.append(shift)
        totals.append(total)
    out, shift, total = (jnp.concatenate(parts, axis=2) for parts in (outs, shifts, totals))
    return out, (q, k, v, bias, sink, out, tuple(rises), shift, total)


def _backward(kept, g):
    q, k, v, bias, sink, out, rises, shift, total = kept
    dtype, length = compute_dtype(q.dtype), q.shape[2]
    g = g.astype(dtype) / total[..., None]
    delta = jnp.sum(g * out.astype(dtype), axis=-1)  # [B, H, N]
    g = g.astype(v.dtype)
    dq: list[jax.Array] = []
    dbias: list[jax.Array] = []
    dk, dv = jnp.zeros((), dtype), jnp.zeros((), dtype)
    for rows, rise in zip(_blocks(length), rises, strict=True):
        seen, unseen = slice(rows.stop), length - rows.stop
        g_rows = g[:, :, rows]
        dp = jnp.einsum("bhrv,bhnv->bhrn", g_rows, v[:, :, seen], preferred_element_type=dtype)
        dz = rise * (dp - delta[:, :, rows, None])  # [B, H, R, seen]
        dbias.append(_padded(dz.sum(0), unseen))
        dz = dz.astype(q.dtype)
        dq.append(
            jnp.einsum("bhrn,bhnq->bhrq", dz, k[:, :, seen], preferred_element_type=dtype).astype(
                q.dtype
            )
        )
        dk = dk + _padded(
            jnp.einsum("bhrn,bhrq->bhqn", dz, q[:, :, rows], preferred_element_type=dtype), unseen
        )
        dv = dv + _padded(
            jnp.einsum("bhrn,bhrv->bhvn", rise, g_rows, preferred_element_type=dtype), unseen
        )
    dsink = None if sink is None else -jnp.sum(jnp.exp(sink - shift) * delta, axis=0)  # [H, N]
    return (
        jnp.concatenate(dq, axis=2),
        _turned(dk.astype(k.dtype)),
        _turned(dv.astype(v.dtype)),
        jnp.concatenate(dbias, axis=1).astype(bias.dtype),
        dsink,
    )


_attend.defvjp(_forward, _backward)


def _padded(part: jax.Array, count: int) -> jax.Array:
    """`count` zeros behind the last axis."""
    return jnp.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, count)])


def _turned(x: jax.Array) -> jax.Array:
    """Last two axes exchanged, once and for all: fused into later copies this would be read
    column by column.
    """
    return jax.lax.optimization_barrier(jnp.swapaxes(x, -1, -2))
