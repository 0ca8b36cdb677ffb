"""The forward pass of a constructed model in NumPy, in the number format asked for: nothing is
compiled.

A compiler takes seconds per model and shape, and a plan looks at dozens of models. So plans and the
promises of a build are measured here, all sequences at once; the model as it is shipped runs once,
at the end of a check, in float32. `model/reference.py` is the slow definition that both are tested
against.

    weights of a head  [R, N] (or [B, R, N] where scores look at tokens), lags t - n, the future 0
    out_t = sum_h W_O^h W_V^h sum_n w_h(t, n) x_n
"""

from typing import Any

import numpy as np

from headcount.memory.read import AbstractRead
from headcount.model.embedding import LinearEmbedding
from headcount.model.transformer import Transformer

ROWS_AT_ONCE = 128  # of a sequence: what comes after the last of them is not computed


def served(model: Transformer) -> bool:
    """Are all parts known here?"""
    return all(
        layer.attention.bias.kind in LAG_LOGITS
        and layer.attention.score.kind in ("dp-free", "dot", "tmx", "peak-tmx")
        and layer.attention.normaliser.kind in NORMALISERS
        and _network(layer.ffn).kind in ("relu", "none")
        and not (layer.attention.score.kind == "dot" and layer.attention.bias.kind == "rope")
        for layer in model.layers
    )


def answers(model: Transformer, x: np.ndarray, read: AbstractRead, dtype: Any) -> np.ndarray:
    """[B, N, d] or [B, N] → [B, R, o] in this format."""
    stream = embedded(model, x, dtype)
    every, rows = np.arange(x.shape[1]), read.rows(x.shape[1])
    for number, layer in enumerate(model.layers, start=1):
        last = number == len(model.layers)
        asked = rows if last else every
        middle = stream[:, asked] + attended(layer.attention, stream, asked)
        update = network(layer.ffn, middle)
        stream = middle + update if layer.residual else update
    return stream if model.unembedding is None else stream @ _as(model.unembedding, stream).T


def streams(model: Transformer, x: np.ndarray, dtype: Any) -> dict[tuple[int, str], np.ndarray]:
    """The stream after every sublayer but the readout.  (layer, part) → [B, N, D]"""
    found, stream, every = {}, embedded(model, x, dtype), np.arange(x.shape[1])
    for number, layer in enumerate(model.layers, start=1):
        middle = stream + attended(layer.attention, stream, every)
        found[number, "attention"] = middle
        if layer.residual:
            stream = found[number, "ffn"] = middle + network(layer.ffn, middle)
    return found


def embedded(model: Transformer, x: np.ndarray, dtype: Any) -> np.ndarray:
    """Tokens → stream.  [B, N, D]"""
    embedding: Any = model.embedding
    weight = np.asarray(embedding.weight, dtype)
    if isinstance(embedding, LinearEmbedding):
        stream = np.asarray(x, dtype) @ weight.T + np.asarray(embedding.offset, dtype)
    else:
        stream = np.where(x[..., None] >= 0, weight[x], 0).astype(dtype)
    if embedding.position.kind == "learned":
        stream = stream + np.asarray(embedding.position.table, dtype)[: x.shape[1]]
    return stream


def attended(attention: Any, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What the heads add at these rows.  [B, N, D] → [B, R, D]"""
    w_value, w_out = _as(attention.w_value, x), _as(attention.w_out, x)
    out = np.zeros((x.shape[0], len(rows), x.shape[2]), x.dtype)
    if not np.any(w_out):
        return out
    for h in range(w_value.shape[0]):
        values = x @ w_value[h].T  # [B, N, v]
        by_lag = _bias(attention, h, np.arange(x.shape[1]), x.dtype)  # [N]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            mixed = _mixed(attention, h, x, values, rows[part], by_lag)
            out[:, part] += mixed @ w_out[h].T
    return out


def _mixed(
    attention: Any, h: int, x: np.ndarray, values: np.ndarray, rows: np.ndarray, by_lag: np.ndarray
) -> np.ndarray:
    """What one head sees at these rows, of the tokens up to the last of them.  [B, R, v]"""
    tokens = int(rows.max()) + 1
    lags = rows[:, None] - np.arange(tokens)[None]  # [R, n]
    seen = np.maximum(lags, 0)
    # the same for every sequence: -inf where a token is still to come
    bias = np.where(lags >= 0, by_lag[seen], -np.inf).astype(x.dtype)
    if attention.score.kind == "dp-free":
        return _weights(attention, h, rows, bias, x.dtype) @ values[:, :tokens]
    return np.stack(
        [
            _weights(attention, h, rows, _scores(attention, h, one, rows, seen, bias), x.dtype) @ v
            for one, v in zip(x[:, :tokens], values[:, :tokens], strict=True)
        ]
    )


def _scores(
    attention: Any, h: int, x: np.ndarray, rows: np.ndarray, seen: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Logits of one sequence.  [N, D] → [R, N]"""
    score = attention.score
    if score.kind == "dot":
        query = x[rows] @ _as(score.w_query[h], x).T
        logits = query @ (x @ _as(score.w_key[h], x).T).T
        logits += bias
        return logits
    asked = (x[rows] @ _as(score.direction[h], x))[:, None]
    if score.kind == "peak-tmx":
        logits = seen.astype(x.dtype)
        logits -= asked
        logits *= logits
        logits *= -np.abs(np.asarray(score.rate[h], x.dtype))
        logits += bias
        return logits
    least = 1.0 if attention.bias.kind == "log" else 0.0
    away = _bias(attention, h, np.maximum(asked, least), x.dtype)
    with np.errstate(invalid="ignore"):  # what is not seen stays so
        return np.where(np.isneginf(bias), bias, bias - away)


def _bias(attention: Any, h: int, lags: np.ndarray, dtype: Any) -> np.ndarray:
    return np.asarray(LAG_LOGITS[attention.bias.kind](attention.bias, h, lags), dtype)


def _table(bias: Any, h: int, lags: np.ndarray) -> np.ndarray:
    table = np.append(np.asarray(bias.table[h], np.float64), -np.inf)
    return table[np.minimum(lags, len(table) - 1).astype(int)]


def _log(bias: Any, h: int, lags: np.ndarray) -> np.ndarray:
    seen = np.maximum(np.asarray(lags, np.float64), 1.0)
    return np.where(lags >= 1, -abs(float(bias.rate[h])) * np.log(seen), -np.inf)


def _rope(bias: Any, h: int, lags: np.ndarray) -> np.ndarray:
    q, k = np.asarray(bias.query[h], np.float64), np.asarray(bias.key[h], np.float64)
    half = len(q) // 2
    theta = bias.base ** (-np.arange(half) / half)
    seen, where = np.unique(lags, return_inverse=True)
    angles = np.outer(seen, theta)
    # q . (turn by -s theta) k on the paired halves
    even = q[:half] * k[:half] + q[half:] * k[half:]
    odd = q[:half] * k[half:] - q[half:] * k[:half]
    return (np.cos(angles) @ even + np.sin(angles) @ odd)[where].reshape(np.shape(lags))


# a head's bias at these lags, before the cast to the format
LAG_LOGITS: dict[str, Any] = {
    "lin": lambda b, h, s: -abs(float(b.rate[h])) * s,
    "log": _log,
    "log1p": lambda b, h, s: -abs(float(b.rate[h])) * np.log1p(s),
    "none": lambda b, h, s: np.zeros(np.shape(s)),
    "peak": lambda b, h, s: -abs(float(b.rate[h])) * (s - float(b.centre[h])) ** 2,
    "table": _table,
    "rope": _rope,
}
NORMALISERS = ("none", "softmax", "softmax-sink", "softmax-bos", "softmax-tail")


def _weights(
    attention: Any, h: int, rows: np.ndarray, logits: np.ndarray, dtype: Any
) -> np.ndarray:
    """Logits, which are overwritten → what each token is multiplied by.  [R, N] → [R, N]"""
    normaliser = attention.normaliser
    with np.errstate(over="ignore"):
        if normaliser.kind == "none":
            return np.exp(logits, out=logits)
    sink = _sink(attention, h, rows, dtype)  # [R]
    top = np.maximum(logits.max(axis=1), sink)
    top = np.where(np.isfinite(top), top, 0).astype(dtype)
    logits -= top[:, None]
    weights = np.exp(logits, out=logits)
    total = weights.sum(axis=1) + np.exp(sink - top)
    weights /= np.where(total > 0, total, 1).astype(dtype)[:, None]
    return weights


def _sink(attention: Any, h: int, rows: np.ndarray, dtype: Any) -> np.ndarray:
    """The logit of what is no token.  [R]"""
    normaliser = attention.normaliser
    if normaliser.kind == "softmax-sink":
        return np.full(len(rows), normaliser.logit[h], dtype)
    if normaliser.kind == "softmax-bos":
        return _bias(attention, h, rows + 1, dtype) + np.asarray(normaliser.logit[h], dtype)
    if normaliser.kind == "softmax-tail":
        beyond = LAG_LOGITS[attention.bias.kind](attention.bias, h, np.arange(normaliser.horizon))
        behind = np.logaddexp.accumulate(np.asarray(beyond, np.float64)[::-1])[::-1]
        return np.append(behind, -np.inf)[np.minimum(rows + 1, normaliser.horizon)].astype(dtype)
    return np.full(len(rows), -np.inf, dtype)


def _network(ffn: Any) -> Any:
    return ffn.inner if ffn.kind == "precision" else ffn


def network(ffn: Any, x: np.ndarray) -> np.ndarray:
    """[..., D] → [..., out]"""
    inner = _network(ffn)
    if inner.kind == "none":
        out = np.zeros_like(x) if inner.w_out is None else x @ _as(inner.w_out, x).T
    else:
        before = x @ _as(inner.w_in, x).T + _as(inner.offset, x)
        out = np.maximum(before, 0) @ _as(inner.w_out, x).T
    if ffn.kind != "precision":
        return out
    if ffn.rounding == "lin":
        return np.floor(out + np.asarray(0.5, x.dtype))
    return np.log(np.maximum(np.floor(np.exp(np.minimum(out, 80)) + np.asarray(0.5, x.dtype)), 1))


def _as(weights: Any, like: np.ndarray) -> np.ndarray:
    return np.asarray(weights, like.dtype)
