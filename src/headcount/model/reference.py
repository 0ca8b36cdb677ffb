"""The Transformer from its definition: plain NumPy float64, row by row, head by head.

It shares no code with the model: formulas are written again from the paper, weights are read off
the object. Slow on purpose; every fast path is tested against it, and so is every constructed
model.
"""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from scipy.special import erf, expit, logsumexp

from headcount.memory.read import AbstractRead
from headcount.model.embedding import LinearEmbedding
from headcount.model.transformer import Layer, Transformer

EPSILON = 1e-5


def forward(model: Transformer, x: np.ndarray, read: AbstractRead) -> np.ndarray:
    """[B, N, d] or [B, N] → [B, R, o] in float64."""
    # once: a single number of a jax array costs a compiled call
    model = jax.tree.map(lambda leaf: np.asarray(leaf) if eqx.is_array(leaf) else leaf, model)
    rows = read.rows(x.shape[1])
    return np.stack([_sequence(model, sequence)[rows] for sequence in np.asarray(x)])


def _sequence(model: Transformer, x: np.ndarray) -> np.ndarray:
    stream = _embedded(model, x)  # [N, D]
    for layer in model.layers:
        stream = _layer(layer, stream)
    if model.final_norm is not None:
        stream = _before(model.final_norm, stream)
    return stream if model.unembedding is None else stream @ _f64(model.unembedding).T


def _embedded(model: Transformer, x: np.ndarray) -> np.ndarray:
    embedding: Any = model.embedding
    weight = _f64(embedding.weight)
    if isinstance(embedding, LinearEmbedding):
        stream = np.asarray(x, np.float64) @ weight.T + _f64(embedding.offset)
    else:
        stream = np.stack(
            [weight[token] if token >= 0 else np.zeros(weight.shape[1]) for token in x]
        )
    position = embedding.position
    if position.kind == "learned":
        stream = stream + _f64(position.table)[: len(x)]
    if position.kind == "sinusoidal":
        half = position.width // 2
        angle = np.arange(len(x))[:, None] * position.base ** (-np.arange(half) / half)
        stream = stream + np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    return stream


def _layer(layer: Layer, stream: np.ndarray) -> np.ndarray:
    first, second = layer.attention_norm, layer.ffn_norm
    stream = _outer(
        first,
        _kept(first, stream) + _after(first, _attention(layer.attention, _before(first, stream))),
    )
    update = np.stack([_ffn(layer.ffn, row) for row in _before(second, stream)])
    return (
        _outer(second, _kept(second, stream) + _after(second, update)) if layer.residual else update
    )


def _attention(attention: Any, x: np.ndarray) -> np.ndarray:
    w_value, w_out = _f64(attention.w_value), _f64(attention.w_out)
    out = np.zeros_like(x)
    for t in range(len(x)):
        for h in range(w_value.shape[0]):
            logits = np.array([_logit(attention, h, x, t, s) for s in range(t + 1)])  # [lags]
            weights = _normalised(attention, h, t, logits)
            mixed = sum(w * x[t - s] for s, w in enumerate(weights))
            out[t] += w_out[h] @ (w_value[h] @ mixed)
    return out


def _logit(attention: Any, h: int, x: np.ndarray, t: int, s: int) -> float:
    score, bias = attention.score, attention.bias
    relative = lag_logit(bias, h, s, t + 1)
    if score.kind == "dp-free":
        return relative
    if score.kind == "dot":
        query, key = _f64(score.w_query)[h] @ x[t], _f64(score.w_key)[h] @ x[t - s]
        if bias.kind != "rope":
            return float(query @ key) + relative
        return float((query + _f64(bias.query)[h]) @ _rotation(bias, s) @ (key + _f64(bias.key)[h]))
    asked = float(_f64(score.direction)[h] @ x[t])
    if score.kind == "tmx":
        return relative - lag_logit(bias, h, max(asked, 1.0 if bias.kind == "log" else 0.0), t + 1)
    assert score.kind == "peak-tmx"
    return -abs(float(score.rate[h])) * (s - asked) ** 2 + relative


def _rotation(bias: Any, s: float) -> np.ndarray:
    """R(t)^T R(t-s) as a matrix on the paired halves: a turn by -s theta_j."""
    half = bias.query.shape[1] // 2
    theta = bias.base ** (-np.arange(half) / half)
    cos, sin = np.diag(np.cos(s * theta)), np.diag(np.sin(s * theta))
    return np.block([[cos, sin], [-sin, cos]])


def lag_logit(bias: Any, h: int, s: float, position: int) -> float:
    """One head's bias at one (possibly real) lag."""
    return float(_LAG_LOGITS[bias.kind](bias, h, s, position))


def _rate(b, h):
    stored = float(b.rate[h])
    return (
        abs(stored)
        if b.positive == "abs"
        else max(stored, 0.0) + math.log1p(math.exp(-abs(stored)))
    )


def _log(b, h, s, t):
    return -_rate(b, h) * math.log(s) if s >= 1 else -math.inf


def _kerple_power(b, h, s, t):
    exponent = min(max(abs(float(b.exponent[h])), 0.01), 2.0)
    return -abs(float(b.rate[h])) * (s**exponent if s > 0 else 0.0)


def _table(b, h, s, t):
    table = _f64(b.table)[h]
    if s > len(table) - 1:
        return -math.inf
    low = math.floor(s)
    return table[low] if low == s else (low + 1 - s) * table[low] + (s - low) * table[low + 1]


def _t5(b, h, s, t):
    count = b.table.shape[1]
    exact = count // 2
    if s < exact:
        return float(b.table[h, int(s)])
    step = math.floor(math.log(s / exact) / math.log(b.farthest / exact) * (count - exact) + 1e-6)
    return float(b.table[h, min(exact + step, count - 1)])


def _fire(b, h, s, t):
    stretch, threshold = abs(float(b.stretch)) + 1e-6, abs(float(b.threshold)) + 1
    share = math.log1p(stretch * s) / math.log1p(stretch * max(t, threshold))
    return _f64(b.w_out)[h] @ np.maximum(share * _f64(b.w_in) + _f64(b.b_in), 0)


_LAG_LOGITS: dict[str, Callable[[Any, int, float, int], float]] = {
    "lin": lambda b, h, s, t: -_rate(b, h) * s,
    "log": _log,
    "log1p": lambda b, h, s, t: -_rate(b, h) * math.log1p(s),
    "kerple-log": lambda b, h, s, t: (
        -abs(float(b.rate[h])) * math.log1p(abs(float(b.scale[h])) * s)
    ),
    "kerple-power": _kerple_power,
    "alibi": lambda b, h, s, t: -b.slopes[h] * s,
    "none": lambda b, h, s, t: 0.0,
    "peak": lambda b, h, s, t: -abs(float(b.rate[h])) * (s - float(b.centre[h])) ** 2,
    "table": _table,
    "t5": _t5,
    "rope": lambda b, h, s, t: _f64(b.query)[h] @ _rotation(b, s) @ _f64(b.key)[h],
    "fire": _fire,
}


def _normalised(attention: Any, h: int, t: int, logits: np.ndarray) -> np.ndarray:
    normaliser, bias = attention.normaliser, attention.bias
    if normaliser.kind == "none":
        return np.exp(logits)
    if normaliser.kind == "sigmoid":
        return expit(logits + float(normaliser.offset[h]))
    sink = {
        "softmax": lambda: -math.inf,
        "softmax-sink": lambda: float(normaliser.logit[h]),
        "softmax-bos": lambda: float(normaliser.logit[h]) + lag_logit(bias, h, t + 1, t + 1),
        "softmax-tail": lambda: _unreached(bias, h, t + 1, normaliser.horizon),
    }[normaliser.kind]()
    every = np.append(logits, sink)
    if every.max() == -math.inf:
        return np.zeros(len(logits))
    return np.exp(logits - logsumexp(every))


def _unreached(bias: Any, h: int, start: int, horizon: int) -> float:
    rest = [lag_logit(bias, h, s, horizon) for s in range(start, horizon)]
    return float(logsumexp(rest)) if rest and max(rest) > -math.inf else -math.inf


def _ffn(ffn: Any, x: np.ndarray) -> np.ndarray:
    if ffn.kind == "none":
        return np.zeros_like(x) if ffn.w_out is None else _f64(ffn.w_out) @ x
    if ffn.kind == "precision":
        z = _ffn(ffn.inner, x)
        if ffn.rounding == "lin":
            return np.floor(z + 0.5)
        return np.log(np.maximum(np.floor(np.exp(np.minimum(z, 80.0)) + 0.5), 1.0))
    if ffn.kind == "swiglu":
        gate = _f64(ffn.w_gate) @ x
        return _f64(ffn.w_out) @ (gate * expit(gate) * (_f64(ffn.w_in) @ x))
    z = _f64(ffn.w_in) @ x + _f64(ffn.offset)
    neurons = np.maximum(z, 0) if ffn.kind == "relu" else z * 0.5 * (1 + erf(z / math.sqrt(2)))
    return _f64(ffn.w_out) @ neurons


def _before(norm: Any, x: np.ndarray) -> np.ndarray:
    if norm.kind in ("pre-ln", "sandwich"):
        return _layer_norm(norm.inner, x)
    if norm.kind == "pre-rms":
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON) * _f64(norm.scale)
    return x


def _after(norm: Any, x: np.ndarray) -> np.ndarray:
    return _layer_norm(norm.exit, x) if norm.kind == "sandwich" else x


def _kept(norm: Any, x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x) if norm.kind == "no-residual" else x


def _outer(norm: Any, x: np.ndarray) -> np.ndarray:
    return _layer_norm(norm.last, x) if norm.kind == "post-ln" else x


def _layer_norm(scale: Any, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * _f64(
        scale.scale
    ) + _f64(scale.offset)


def _f64(array: Any) -> np.ndarray:
    return np.asarray(array).astype(np.float64)
