"""Softmax attention at every position, for training language models: blocks of rows that never
touch the future.

    p_rn = e^{z_rn} / (e^{sink_r} + sum_j e^{z_rj}),   z = q k^T + bias,   out = p v

Row blocks i..j need keys 0..j only, which saves up to half of the work. Backwards, with g the
gradient of out:

    delta_r = g_r . out_r = sum_n p_rn (g_r . v_n)
    dz = p (g v^T - delta),   d sink = -(share of the sink) delta

(Dao et al. 2022, Appendix B.2). dk and dv are computed transposed, [q, N]: then the N x N weights
enter every product as they lie in memory; the derivative that JAX finds by itself makes transposed
copies of them. The weights are kept for the backward pass; large batches go in parts that are
recomputed.
"""

import jax
import jax.numpy as jnp

from headcount.model.paths import BLOCK_ENTRIES, denominator, row_shift
from headcount.model.shape import compute_dtype

# shorter blocks make the matrix products too small; more blocks take long to compile
LEAST_BLOCK, MOST_BLOCKS = 128, 8


def attend(
    q: jax.Array, k: jax.Array, v: jax.Array, bias: jax.Array, sink: jax.Array | None
) -> jax.Array:
    """q and k [B, H, N, q], v [B, H, N, v], bias [H, N, N], sink [H, N] → [B, H, N, v].

    The bias is -inf where a row must not look.
    """
    batch, heads, length, _ = q.shape
    part = next(
        size
        for size in range(batch, 0, -1)
        if batch % size == 0 and (size == 1 or size * length**2 <= BLOCK_ENTRIES)
    )
    if part == batch:
        return _attend(q, k, v, bias, sink)
    parts = tuple(a.reshape(batch // part, part, *a.shape[1:]) for a in (q, k, v))
    out = jax.lax.map(jax.checkpoint(lambda qkv: _attend(*qkv, bias, sink)), parts)
    return out.reshape(batch, heads, length, v.shape[-1])


@jax.custom_vjp
def _attend(q, k, v, bias, sink):
    return _forward(q, k, v, bias, sink)[0]


def _blocks(length: int) -> list[slice]:
    size = max(LEAST_BLOCK, -(-length // MOST_BLOCKS))
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _forward(q, k, v, bias, sink):
    dtype = compute_dtype(q.dtype)
    outs, weights, shares = [], [], []
    for rows in _blocks(q.shape[2]):
        logits = jnp.einsum(
            "bhrq,bhnq->bhrn", q[:, :, rows], k[:, :, : rows.stop], preferred_element_type=dtype
        )
        logits = logits + bias[:, rows, : rows.stop]
        # [B, H, R]
        shift = row_shift(jnp.max(logits, axis=-1), None if sink is None else sink[:, rows])
        rise = jnp.exp(logits - shift[..., None])
        total = denominator(jnp.sum(rise, axis=-1), shift, None if sink is None else sink[:, rows])
        weights.append((rise / total[..., None]).astype(v.dtype))
        outs.append(
            jnp.einsum(
                "bhrn,bhnv->bhrv", weights[-1], v[:, :, : rows.stop], preferred_element_type=dtype
            ).astype(v.dtype)
        )
        if sink is not None:
            shares.append(jnp.exp(sink[:, rows] - shift) / total)
    out = jnp.concatenate(outs, axis=2)
    return out, (
        q,
        k,
        v,
        bias,
        out,
        tuple(weights),
        jnp.concatenate(shares, axis=2) if shares else None,
    )


def _backward(kept, g):
    q, k, v, bias, out, weights, shares = kept
    dtype, length = compute_dtype(q.dtype), q.shape[2]
    delta = jnp.sum(g.astype(dtype) * out.astype(dtype), axis=-1)  # [B, H, N]
    dq: list[jax.Array] = []
    dbias: list[jax.Array] = []
    dk, dv = jnp.zeros((), dtype), jnp.zeros((), dtype)
    for rows, p in zip(_blocks(length), weights, strict=True):
        seen, unseen = slice(rows.stop), length - rows.stop
        g_rows = g[:, :, rows]
        dp = jnp.einsum("bhrv,bhnv->bhrn", g_rows, v[:, :, seen], preferred_element_type=dtype)
        dz = p * (dp - delta[:, :, rows, None])  # [B, H, R, seen]
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
            jnp.einsum("bhrn,bhrv->bhvn", p, g_rows, preferred_element_type=dtype), unseen
        )
    dsink = None if shares is None else -jnp.sum(shares * delta, axis=0)  # [H, N]
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
