"""The slope of a constructed model's answer in NumPy: which way a token moves it.

The adversary of a check asks for it a few times per model; to trace and compile a gradient takes
longer than all else that the check does. Each function here goes back through the function of
`forward.py` that has its name, in float64, and is tested equal to the compiled gradient.

    toward  how the answer at each row read is weighed  [B, R, o]
    slope   of sum(toward * answers) in each token      [B, N, d]
"""

from typing import Any

import numpy as np

from headcount.construct import forward
from headcount.memory.read import AbstractRead
from headcount.model.embedding import LinearEmbedding
from headcount.model.transformer import Transformer

HALF = 0.5  # of a slope where max(z, 0) bends, as compilers have it; log bends twice at lag 1


def served(model: Transformer) -> bool:
    """Are all parts known here?"""
    heads = [layer.attention for layer in model.layers]
    return (
        forward.served(model)
        and isinstance(model.embedding, LinearEmbedding)
        and all(a.score.kind != "tmx" or a.bias.kind in LAG_SLOPES for a in heads)
    )


def slope(model: Transformer, x: np.ndarray, read: AbstractRead, toward: np.ndarray) -> np.ndarray:
    """Of tokens that are vectors.  [B, N, d], [B, R, o] → [B, N, d]"""
    every, rows = np.arange(x.shape[1]), read.rows(x.shape[1])
    streams, middles, asked = [forward.embedded(model, x, np.float64)], [], []
    for number, layer in enumerate(model.layers, start=1):
        asked.append(rows if number == len(model.layers) else every)
        stream = streams[-1]
        middle = stream[:, asked[-1]] + forward.attended(layer.attention, stream, asked[-1])
        update = forward.network(layer.ffn, middle)
        middles.append(middle)
        streams.append(middle + update if layer.residual else update)
    back = toward if model.unembedding is None else toward @ np.asarray(model.unembedding)
    for layer, stream, middle, seen in reversed(
        list(zip(model.layers, streams, middles, asked, strict=False))
    ):
        own = _network(layer.ffn, middle, back)
        back = back + own if layer.residual else own  # [B, R, D]
        behind = _attended(layer.attention, stream, seen, back)  # [B, N, D]
        behind[:, seen] += back  # rows are read once each
        back = behind
    weight: np.ndarray = np.asarray(model.embedding.weight, np.float64)  # type: ignore[attr-defined]
    return back @ weight


def _network(ffn: Any, x: np.ndarray, back: np.ndarray) -> np.ndarray:
    """[..., D], [..., out] → [..., D]; slopes pass through a rounding, as in `model.ffn`."""
    if ffn.kind == "precision":
        return _network(ffn.inner, x, back)
    if ffn.kind == "none":
        return np.zeros_like(x) if ffn.w_out is None else back @ np.asarray(ffn.w_out, x.dtype)
    w_in = np.asarray(ffn.w_in, x.dtype)
    active = x @ w_in.T + np.asarray(ffn.offset, x.dtype) > 0
    return ((back @ np.asarray(ffn.w_out, x.dtype)) * active) @ w_in


def _attended(attention: Any, x: np.ndarray, rows: np.ndarray, back: np.ndarray) -> np.ndarray:
    """[B, N, D], [B, R, D] → [B, N, D]"""
    w_value = np.asarray(attention.w_value, x.dtype)
    w_out = np.asarray(attention.w_out, x.dtype)
    found = np.zeros_like(x)
    if not np.any(w_out):
        return found
    for h in range(w_value.shape[0]):
        values, asked = x @ w_value[h].T, back @ w_out[h]  # [B, N, v], [B, R, v]
        by_lag = forward.lag_logits(attention, h, np.arange(x.shape[1]), x.dtype)
        scores, by_lags = forward.scored(attention, h, x, by_lag)
        reach = forward.reached(by_lags, attention.normaliser.kind != "none", x.shape[1])
        moved = np.zeros_like(values)
        for start in range(0, len(rows), forward.ROWS_AT_ONCE):
            part = rows[start : start + forward.ROWS_AT_ONCE]
            tokens, seen, bias = forward.visible(part, by_lag, reach)
            sink = forward.sink_logits(attention, h, part, x.dtype)
            wish = asked[:, start : start + forward.ROWS_AT_ONCE]  # [B, r, v]
            if scores is None:
                moved[:, tokens] += _shares(bias, sink).T @ wish
                continue
            for b, own in enumerate(values):
                shares = _shares(scores(b, part, tokens, seen, bias), sink)  # [r, n]
                moved[b, tokens] += shares.T @ wish[b]
                pull = wish[b] @ own[tokens].T
                if sink is not None:  # a share that grows is taken from the others
                    pull -= (shares * pull).sum(axis=1, keepdims=True)
                _scored(attention, h, x[b], part, tokens, seen, shares * pull, found[b])
        found += moved @ w_value[h]
    return found


def _scored(
    attention: Any,
    h: int,
    x: np.ndarray,
    rows: np.ndarray,
    tokens: slice,
    seen: np.ndarray,
    pull: np.ndarray,
    found: np.ndarray,
) -> None:
    """Adds what moves the logits, of which `pull` is the slope.
    [N, D], [r, n], [r, n], [N, D]
    """
    score = attention.score
    if score.kind == "dot":
        w_query = np.asarray(score.w_query[h], x.dtype)
        w_key = np.asarray(score.w_key[h], x.dtype)
        np.add.at(found, rows, pull @ (x[tokens] @ w_key.T) @ w_query)
        found[tokens] += pull.T @ (x[rows] @ w_query.T) @ w_key
        return
    direction = np.asarray(score.direction[h], x.dtype)
    asked = x[rows] @ direction  # [r]
    if score.kind == "peak-tmx":
        rate = abs(float(score.rate[h]))
        grows = (pull * 2 * rate * (seen - asked[:, None])).sum(axis=1)
    else:
        slopes = LAG_SLOPES[attention.bias.kind](attention.bias, h, asked)
        grows = -pull.sum(axis=1) * slopes
    np.add.at(found, rows, grows[:, None] * direction)


def _shares(logits: np.ndarray, sink: np.ndarray | None) -> np.ndarray:
    """The tokens' weights.  [r, n]"""
    weights, total = forward.weighed(logits, sink)
    return weights if total is None else weights / total[:, None]


# of a head's bias in the lag that a token asks for, from the first lag on
LAG_SLOPES: dict[str, Any] = {
    "lin": lambda b, h, s: -abs(float(b.rate[h])) * np.heaviside(s, HALF),
    "log": lambda b, h, s: -abs(float(b.rate[h])) / np.maximum(s, 1) * np.heaviside(s - 1, HALF**2),
    "log1p": lambda b, h, s: (
        -abs(float(b.rate[h])) / (1 + np.maximum(s, 0)) * np.heaviside(s, HALF)
    ),
}
