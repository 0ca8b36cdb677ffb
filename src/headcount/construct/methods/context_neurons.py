"""N-grams: one head per lag and one neuron per context, one layer.

Stream: `token` (one-hot x_t), `lag_1` … `lag_{n-1}`. Head k stands on lag k (a peak -RATE (s-k)^2,
or a table that sees nothing else) and copies the one-hot token; without a dot product. The neuron
of a context (v_{n-1}, …, v_0) is

    relu(2 sum_k <lag_k, e_{v_k}> - (2n - 1)):   1 where all n agree,
                                                 relu(-1 - …) = 0 where one or more differ,

and adds the context's label: V^n neurons look a table of V^n entries up. The dead zone keeps errors
of other contexts out.

The bound: slots are off by mu = 2 e^-RATE / (1 - e^-RATE) per entry, the right neuron by
2 (n-1) mu, all others stay 0 as long as 2 (n-1) mu < 1. Rounding: sums over the past go through a
fast Fourier transform where the sequence is long, 20 log2(4N) sqrt(N) units; otherwise (up to 64
tokens, or a peak under softmax) copies are exact.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np

from headcount.construct.blocks.layers import (
    Head,
    Neurons,
    attention,
    idle,
    layer,
    relu_ffn,
    token_embedding,
)
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.core.refs import Ref
from headcount.memory.named.n_gram import NGram, ngram_table
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.attention import DENSE_ROWS, Attention
from headcount.model.biases import AbstractBias, Peak, Table
from headcount.model.ffn import ReLU
from headcount.model.normalisers import NoNormaliser, Softmax
from headcount.model.scores import DotFree
from headcount.model.transformer import Transformer

REF = Ref("headcount", "n-grams: one head per lag, one neuron per context")
RATE = 64.0
MOST_NEURONS = 2**14  # beyond, weights take more than seconds


@methods.register(
    "n-gram", formula="y = sum_v table[v] relu(2 sum_k <x_{t-k}, e_{v_k}> - 2n + 1)", ref=REF
)
@dataclasses.dataclass(frozen=True)
class ContextNeurons(AbstractMethod):
    """One layer, n-1 heads, V^n neurons; peak or table bias, softmax or no normaliser."""

    ref = REF
    families = (NGram,)
    noun = "n-gram"
    biases = ("peak", "table")
    normalisers = ("softmax", "none")

    def further(self, target: NGram, request: Request) -> list[Refusal]:
        reasons = []
        neurons, most = target.symbols**target.n, min(request.width or MOST_NEURONS, MOST_NEURONS)
        if neurons > most:
            got = (
                f"{target.symbols}^{target.n} = {neurons} contexts take as many neurons, more than"
            )
            reasons.append(Refusal(RefusalKind.WIDTH, f"{got} {most}"))
        if request.heads is not None and request.heads < target.n - 1:
            got, use = f"{request.heads} heads for {target.n - 1} lags", f"heads={target.n - 1}"
            reasons.append(Refusal(RefusalKind.HEADS, got, expected=use))
        return reasons

    def weights(self, target: NGram, request: Request) -> Draft:
        slots = [f"lag_{k}" for k in range(1, target.n)]
        space = Space(token=target.symbols, **dict.fromkeys(slots, target.symbols))
        only = layer(lag_heads(space, slots, request), table_ffn(space, target), reads_out=True)
        mu = 2 * math.exp(-RATE) / (1 - math.exp(-RATE))
        slot = Bound(mu, 20 * math.log2(4 * request.length) * math.sqrt(request.length))
        stands = request.bias == "peak" and request.normaliser == "softmax"
        promises = []
        for k, name in enumerate(slots, start=1):
            exact = functools.partial(lagged_rows, lag=k, vocabulary=target.symbols, stands=stands)
            off, why = slot.through(math.sqrt(target.symbols)), f"weight {mu:.3g} beside lag {k}"
            promises.append(SlotPromise(1, "attention", name, space.where(name), exact, off, why))
        facts = {
            "layers": 1,
            "heads": [len(slots)],
            "width": target.symbols**target.n,
            "stream": space.width,
            "float32_exact": stands or request.length <= DENSE_ROWS,
        }
        model = Transformer(token_embedding(space), (only,), None, None)
        return Draft(model, tuple(promises), slot.through(2.0 * len(slots), 16), REF, (), facts)


def lag_heads(space: Space, slots: list[str], request: Request) -> Attention:
    """Head k on lag k; a layer for n = 1 has nothing to gather."""
    if not slots:
        return idle(space)
    lags = np.arange(1, len(slots) + 1)
    bias: AbstractBias
    if request.bias == "peak":
        bias = Peak(np.full(len(slots), RATE), lags.astype(np.float64))  # type: ignore[arg-type]
    else:
        bias = Table(np.where(lags[:, None] == np.arange(len(slots) + 1), 0.0, -np.inf))  # type: ignore[arg-type]
    normaliser = Softmax() if request.normaliser == "softmax" else NoNormaliser()
    return attention(space, [Head("token", name) for name in slots], DotFree(), bias, normaliser)


def table_ffn(space: Space, target: NGram) -> ReLU:
    """One neuron per context, grouped by the label that it adds to."""
    V, n = target.symbols, target.n
    # [V^n, n], the oldest token first, as in the table
    contexts = np.array(list(itertools.product(range(V), repeat=n)))
    # [V^n, n V], lag k at block k
    agree = np.concatenate([np.eye(V)[contexts[:, n - 1 - k]] for k in range(n)], axis=1)
    labels = ngram_table(n, V, target.seed)
    reads = ("token", *(f"lag_{k}" for k in range(1, n)))
    pieces = []
    for label in np.unique(labels):
        rows = agree[labels == label]
        pieces.append(
            Neurons(
                ReluNetwork(np.ones(len(rows)), 2 * rows, np.full(len(rows), 1.0 - 2 * n)),
                reads,
                "answer",
                int(label),
            )
        )
    return relu_ffn(space, pieces, Space(answer=V))


def lagged_rows(x: np.ndarray, lag: int, vocabulary: int, stands: bool) -> np.ndarray:
    """One-hot x_{t-lag}; before the first token zero, or that token where a softmax peak
    `stands` on the nearest row.  [N, V]
    """
    rows = np.zeros((len(x), vocabulary))
    for t in range(len(x)):
        if (t >= lag or stands) and x[max(t - lag, 0)] >= 0:
            rows[t, x[max(t - lag, 0)]] = 1.0
    return rows
