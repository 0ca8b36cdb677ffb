"""The forward pass of a constructed model in NumPy, in the number format asked for: nothing is
compiled.

A compiler takes seconds per model and shape, and a plan looks at dozens of models. So plans and the
promises of a build are measured here, all sequences at once; the model as it is shipped runs once,
at the end of a check, in float32. `model/reference.py` is the slow definition that both are tested
against.

    weights of a head  [R, N] (or [B, R, N] where scores look at tokens), lags t - n, the future 0
    out_t = sum_h W_O^h W_V^h sum_n w_h(t, n) x_n

Tokens beyond the last lag whose weight is not 0 in the format are left out (`reached`).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headcount.memory.read import AbstractRead
from headcount.model.embedding import LinearEmbedding
from headcount.model.transformer import Transformer

ROWS_AT_ONCE = 128  # of a sequence: what comes after the last of them is not computed
FEW_VALUES = 32  # lags that tokens ask for: so many curves are looked at for where they end


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
        by_lag = lag_logits(attention, h, np.arange(x.shape[1]), x.dtype)  # [N]
        scores, by_lags = scored(attention, h, x, by_lag)
        reach = reached(by_lags, attention.normaliser.kind != "none", x.shape[1])
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            mixed = _mixed(attention, h, values, rows[part], by_lag, scores, reach)
            out[:, part] += mixed @ w_out[h].T
    return out


# sequence, rows, tokens, lags seen, bias → logits [R, n]
Scores = Callable[[int, np.ndarray, slice, np.ndarray, np.ndarray], np.ndarray]


def _mixed(
    attention: Any,
    h: int,
    values: np.ndarray,
    rows: np.ndarray,
    by_lag: np.ndarray,
    scores: Scores | None,
    reach: int,
) -> np.ndarray:
    """What one head sees at these rows, of the tokens that it reaches.  [B, R, v]"""
    tokens, seen, bias = visible(rows, by_lag, reach)
    sink = sink_logits(attention, h, rows, values.dtype)
    values = values[:, tokens]
    if scores is None:
        return _averaged(bias, sink, values)
    return np.stack(
        [_averaged(scores(b, rows, tokens, seen, bias), sink, own) for b, own in enumerate(values)]
    )


def visible(
    rows: np.ndarray, by_lag: np.ndarray, reach: int
) -> tuple[slice, np.ndarray, np.ndarray]:
    """The tokens that these rows see, their lags (0 for those to come), and the bias, the same for
    every sequence: -inf where a token is still to come.  slice of n, [R, n], [R, n]
    """
    tokens = slice(max(0, int(rows.min()) - reach), int(rows.max()) + 1)
    lags = rows[:, None] - np.arange(tokens.start, tokens.stop)[None]
    seen = np.maximum(lags, 0)
    return tokens, seen, np.where(lags >= 0, by_lag[seen], -np.inf).astype(by_lag.dtype)


def reached(by_lags: np.ndarray | None, divided: bool, length: int) -> int:
    """The last lag with a weight other than 0 in this format, given the logits that a head may
    have at each lag; None where they depend on more. What is divided is measured from the largest
    logit, which is seen wherever a later lag is.  [K, N]
    """
    if by_lags is None:
        return length
    least = math.log(float(np.finfo(by_lags.dtype).smallest_subnormal)) - 1
    with np.errstate(invalid="ignore"):  # a head that sees nothing
        above = by_lags - by_lags.max(axis=1, keepdims=True) if divided else by_lags
    return int(np.flatnonzero((above >= least).any(axis=0)).max(initial=0))


def scored(
    attention: Any, h: int, x: np.ndarray, by_lag: np.ndarray
) -> tuple[Scores | None, np.ndarray | None]:
    """How a head's logits look at tokens (None: not at all), and the logits that it may have at
    each lag, where these are few. What does not depend on the row is worked out once.
    """
    score = attention.score
    if score.kind == "dp-free":
        return None, by_lag[None]
    if score.kind == "dot":
        queries, keys = x @ _as(score.w_query[h], x).T, x @ _as(score.w_key[h], x).T

        def dot(
            b: int, rows: np.ndarray, tokens: slice, seen: np.ndarray, bias: np.ndarray
        ) -> np.ndarray:
            logits = queries[b, rows] @ keys[b, tokens].T
            logits += bias
            return logits

        return dot, None
    asked = x @ _as(score.direction[h], x)  # [B, N]
    if score.kind == "peak-tmx":
        rate = -np.abs(np.asarray(score.rate[h], x.dtype))

        def peak(
            b: int, rows: np.ndarray, tokens: slice, seen: np.ndarray, bias: np.ndarray
        ) -> np.ndarray:
            logits = seen.astype(x.dtype)
            logits -= asked[b, rows, None]
            logits *= logits
            logits *= rate
            logits += bias
            return logits

        away = np.arange(x.shape[1], dtype=x.dtype) - _few(asked)
        return peak, rate * away**2 + by_lag if len(away) else None
    least = 1.0 if attention.bias.kind == "log" else 0.0
    moved_by = lag_logits(attention, h, np.maximum(asked, least), x.dtype)

    def moved(
        b: int, rows: np.ndarray, tokens: slice, seen: np.ndarray, bias: np.ndarray
    ) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # what is not seen stays so
            return np.where(np.isneginf(bias), bias, bias - moved_by[b, rows, None])

    return moved, None


def _few(values: np.ndarray) -> np.ndarray:
    """The different values, where they are few, else none.  [K, 1]"""
    found = np.unique(values)
    return found[: len(found) if len(found) <= FEW_VALUES else 0, None]


def lag_logits(attention: Any, h: int, lags: np.ndarray, dtype: Any) -> np.ndarray:
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


def _averaged(logits: np.ndarray, sink: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """Logits, which are overwritten → the tokens' values, each times its weight, added up.
    [R, n], [..., n, v] → [..., R, v]
    """
    weights, total = weighed(logits, sink)
    weighted: np.ndarray = weights @ values
    if total is not None:
        weighted /= total[:, None]
    return weighted


def weighed(logits: np.ndarray, sink: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Logits, which are overwritten → the tokens' weights, and what they are to be divided by.
    [R, n] → [R, n], [R]
    """
    if sink is None:
        with np.errstate(over="ignore"):
            return np.exp(logits, out=logits), None
    top = np.maximum(logits.max(axis=1), sink)
    top = np.where(np.isfinite(top), top, 0).astype(logits.dtype)
    logits -= top[:, None]
    weights = np.exp(logits, out=logits)
    total = weights.sum(axis=1) + np.exp(sink - top)
    return weights, np.where(total > 0, total, 1).astype(logits.dtype)


def sink_logits(attention: Any, h: int, rows: np.ndarray, dtype: Any) -> np.ndarray | None:
    """The logit of what is no token; None where nothing is divided.  [R]"""
    normaliser = attention.normaliser
    if normaliser.kind == "none":
        return None
    if normaliser.kind == "softmax-sink":
        return np.full(len(rows), normaliser.logit[h], dtype)
    if normaliser.kind == "softmax-bos":
        return lag_logits(attention, h, rows + 1, dtype) + np.asarray(normaliser.logit[h], dtype)
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
