"""Latest match: recall and induction by two layers of one head, the previous token, then the
latest match.

Stream: `token` (one-hot x_t), `previous` (one-hot x_{t-1}), `answer`.
Layer 1, one head: a bias that stands on lag 1 copies the token before into `previous`.
Layer 2, one head: row i has the value x_i and the logit

    z_i = B (1{previous_i = x_t, in the coordinates that are asked} + 1{x_i may be an answer})
          - tie(t - i),

the second indicator only where a target has such a rule. With g the number of indicators, rows that
satisfy them all have g B - tie, all others at most (g-1) B - tie. `tie` grows by at least `rate`
per lag, so the latest match wins.

The bound. Let mu be the mass of layer 1 beside lag 1, s* the lag of the latest match, N the longest
length and span = tie(N-1).

- Older matches lose at least rate k - B mu at lag s* + k: together at most q/(1-q) of its weight,
  q = e^{-(rate - B mu)}.
- Others lose at least B(1 - 2 mu) - (tie(s*) - tie(s)) >= B(1 - 2 mu) - span, at most N rows:
  together N e^{-(B(1 - 2 mu) - span)}.

The sum delta of the two bounds each logit's error (weights add up to 1, values are one-hot) and,
times sqrt(2), the norm's. B = span + 2 rate + log N pays for both, so B grows with the length: that
is the price of ties under softmax.

Rounding. A power of two as rate makes every logit a multiple of it: exact in float32 up to rate
2^24. With rate 64 what is lost is below 1e-27, 1 + 1e-27 is 1, and each weight that matters is
exactly 1: the model is exact in float32 and float64.

Key-value recall. A value that follows a key is found by asking which rows are values (one
indicator) and have the asked key before them (the other). Keys ask with their coordinates alone, so
the match has the size of the number of keys. The paper's theorems are about lags that x_t decides;
this lag is found by content.

Induction. The classical induction head as exact weights. For one layer a size that grows
exponentially is known to be needed, under the assumptions of arXiv:2408.14332.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from headcount.construct.blocks.layers import (
    Head,
    attention,
    layer,
    linear_readout,
    no_ffn,
    token_embedding,
)
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.induction import Induction
from headcount.memory.named.recall import Recall
from headcount.memory.target import AbstractTarget
from headcount.model.attention import Attention
from headcount.model.biases import AbstractBias, Lin, Peak, Table
from headcount.model.normalisers import Softmax
from headcount.model.scores import DotProduct
from headcount.model.transformer import Transformer

RECALL = Ref("headcount", "key-value recall: a previous-token head and a match")
INDUCTION = Ref("olsson-2022", "induction heads; weights and bound by headcount")
BIASES = ("lin", "peak", "table")
SHARP = 64  # from this rate on weights are exactly 0 or 1 once rounded
SHARP_ROUNDING = 16  # units: one exponential, one quotient, one product per layer
EXACT_IN_FLOAT32 = 2**24  # whole multiples of a power of two


@dataclasses.dataclass(frozen=True, eq=False)
class Lookup:
    """What is asked and what may answer; `asked` [q, V] picks the coordinates of a token that
    take part in the match.
    """

    vocabulary: int
    asked: np.ndarray  # [q, V]
    may_answer: np.ndarray | None  # [V] of 0 and 1, None where any token may
    # one sequence [N] → labels [N], -1 for none: from the definition
    answers: Callable[[np.ndarray], np.ndarray]

    @property
    def indicators(self) -> int:
        return 1 + (self.may_answer is not None)


class AbstractMatch(AbstractMethod):
    """Two layers, one head each, no FFN; `rate` is a power of two."""

    rate: int
    layers = None
    attention = "dot"
    biases = BIASES
    normalisers = ("softmax",)
    hints = {
        "bias": "it must stand on lag 1, then prefer the latest match",
        "normaliser": "without softmax the latest match has a weight that depends on its lag",
    }

    def further(self, target: AbstractTarget, request: Request) -> list[Refusal]:
        return length_reasons(request, self.rate)


def length_reasons(request: Request, rate: int) -> list[Refusal]:
    """Are all logits exact over this length?"""
    if request.bias not in BIASES:
        return []
    if tie(request.bias, rate, request.length - 1) + 2 * rate <= rate * EXACT_IN_FLOAT32 / 4:
        return []
    got = f"logits over {request.length} tokens with bias {request.bias} are not exact in float32"
    return [Refusal(RefusalKind.PRECISION, got, expected="fewer tokens or bias lin")]


@methods.register(
    "recall",
    formula="answer = sum_i softmax_i(B (1{x_{i-1} = x_t} + 1{x_i a value}) - rate (t-i)) x_i",
    ref=RECALL,
)
@dataclasses.dataclass(frozen=True)
class RecallCircuit(AbstractMatch):
    """Two layers, one head each, no FFN; lin, peak or table bias under softmax."""

    rate: int = SHARP

    ref = RECALL
    families = (Recall,)
    noun = "key-value recall"

    def weights(self, target: Recall, request: Request) -> Draft:
        symbols, vocabulary = target.symbols, target.vocabulary
        values = (np.arange(vocabulary) >= symbols).astype(np.float64)
        lookup = Lookup(
            vocabulary, np.eye(vocabulary)[:symbols], values, lambda x: stored_values(x, symbols)
        )
        return lookup_draft(lookup, request, self.rate, RECALL)


@methods.register(
    "induction",
    formula="answer = sum_i softmax_i(B 1{x_{i-1} = x_t} - rate (t-i)) x_i",
    ref=INDUCTION,
)
@dataclasses.dataclass(frozen=True)
class InductionCircuit(AbstractMatch):
    """Two layers, one head each, no FFN; lin, peak or table bias under softmax."""

    rate: int = SHARP

    ref = INDUCTION
    families = (Induction,)
    noun = "induction"

    def weights(self, target: Induction, request: Request) -> Draft:
        lookup = Lookup(target.symbols, np.eye(target.symbols), None, followers)
        return lookup_draft(lookup, request, self.rate, INDUCTION)


def stored_values(x: np.ndarray, symbols: int) -> np.ndarray:
    """At a key the value it was last followed by, else -1: a dictionary walked through the
    sequence.  [N] → [N]
    """
    stored: dict[int, int] = {}
    found = np.full(len(x), -1)
    for t, token in enumerate(x.tolist()):
        found[t] = stored.get(token, -1)
        if t and token >= symbols > x[t - 1] >= 0:
            stored[int(x[t - 1])] = token
    return found


def followers(x: np.ndarray) -> np.ndarray:
    """The token after the last earlier appearance of each token, else -1.  [N] → [N]"""
    last: dict[int, int] = {}
    found = np.full(len(x), -1)
    for t, token in enumerate(x.tolist()):
        if token >= 0:
            found[t] = x[last[token] + 1] if token in last else -1
            last[token] = t
    return found


def tie(bias: str, rate: float, lag: int) -> float:
    """What layer 2's bias takes from a match at this lag; at least `rate` more with every lag."""
    return rate * float(lag) ** 2 if bias == "peak" else rate * float(lag)


def match_logit(bias: str, rate: int, length: int) -> int:
    """B: whole multiples of the rate, so that logits stay exact."""
    return rate * (2 + round(tie(bias, 1.0, length - 1)) + math.ceil(math.log(length) / rate))


def previous_leak(bias: str, rate: float) -> float:
    """mu: softmax mass beside lag 1. A peak -p(s-1)^2 has e^-p at lag 0 and e^{-p k^2} at lag
    1 + k; a table has none.
    """
    return 0.0 if bias == "table" else 2 * math.exp(-rate) / (1 - math.exp(-rate))


def match_error(bias: str, rate: int, length: int) -> float:
    """delta: the weight that the latest match does not get."""
    logit, mu = match_logit(bias, rate, length), previous_leak(bias, rate)
    older = math.exp(min(0.0, -(rate - logit * mu)))
    others = length * math.exp(min(0.0, -(logit * (1 - 2 * mu) - tie(bias, rate, length - 1))))
    return 1.0 if older >= 0.5 else min(1.0, older / (1 - older) + others)


def lookup_draft(lookup: Lookup, request: Request, rate: int, theorem: Ref) -> Draft:
    """Both layers with their promises."""
    require(
        rate >= 1 and rate & (rate - 1) == 0,
        f"rate {rate}",
        "a power of two (logits stay exact)",
        "use 64",
    )
    space = Space(token=lookup.vocabulary, previous=lookup.vocabulary, answer=lookup.vocabulary)
    answer_out = linear_readout(space, np.eye(lookup.vocabulary), ["answer"])
    first = layer(previous_token(space, request.bias, rate), no_ffn(space))
    second = layer(latest_match(space, lookup, request, rate), answer_out, reads_out=True)
    model = Transformer(token_embedding(space), (first, second), None, None)
    promises, answer = _promises(space, lookup, request, rate)
    logit = match_logit(request.bias, rate, request.length)
    facts = {
        "layers": 2, "heads": [1, 1], "width": 0, "stream": space.width,
        "query_size": len(lookup.asked), "match_logit": logit, "tie_rate": rate,
        "float32_exact": rate >= SHARP,
    }  # fmt: skip
    note = (
        f"up to {request.length} tokens: the match logit {logit} exceeds what the bias takes over"
        " the length, or near non-matches would win"
    )
    return Draft(model, promises, answer, theorem, (note,), facts)


def _promises(
    space: Space, lookup: Lookup, request: Request, rate: int
) -> tuple[tuple[SlotPromise, ...], Bound]:
    """What both layers write, and the answer's bound."""
    V, bias = lookup.vocabulary, request.bias
    logit, mu, delta = (
        match_logit(bias, rate, request.length),
        previous_leak(bias, rate),
        match_error(bias, rate, request.length),
    )
    # a logit of size B that is no whole number is off by B units
    sloppy = 0 if rate >= SHARP else request.length + 8 * logit
    before, answer = Bound(2 * mu, SHARP_ROUNDING + sloppy), Bound(delta, SHARP_ROUNDING + sloppy)
    beside, gap = (
        f"softmax mass {mu:.3g} beside lag 1",
        f"weight {delta:.3g} beside the latest match, whose logit is {logit}",
    )
    slot, found = space.where("previous"), space.where("answer")
    return (
        SlotPromise(
            1, "attention", "previous", slot, lambda x: previous_rows(x, V, bias), before, beside
        ),
        SlotPromise(
            2,
            "attention",
            "answer",
            found,
            lambda x: label_rows(lookup.answers(x), V),
            answer.through(math.sqrt(2)),
            gap,
        ),
    ), answer


def previous_token(space: Space, bias: str, rate: float) -> Attention:
    """The head on lag 1. W_Q = W_K = 0: the same attention as layer 2, and no rounding by a
    convolution.
    """
    nothing = np.zeros((1, 1, space.width))
    stands = (
        Table(np.array([[-np.inf, 0.0]]))  # type: ignore[arg-type]
        if bias == "table"
        else Peak(np.array([float(rate)]), np.ones(1))  # type: ignore[arg-type]
    )
    return attention(
        space,
        [Head("token", "previous")],
        DotProduct(nothing, nothing),  # type: ignore[arg-type]
        stands,
        Softmax(),
    )


def latest_match(space: Space, lookup: Lookup, request: Request, rate: int) -> Attention:
    """The matching head: query = what is asked of x_t, key = B (the same of `previous`, + 1
    everywhere if x_i may answer).
    """
    logit = match_logit(request.bias, rate, request.length)
    query = lookup.asked @ space.read("token")  # [q, D]
    key = lookup.asked @ space.read("previous")
    if lookup.may_answer is not None:
        key = key + np.outer(np.ones(len(lookup.asked)), lookup.may_answer @ space.read("token"))
    return attention(
        space,
        [Head("token", "answer")],
        DotProduct(query[None], logit * key[None]),
        _tie_bias(request, rate),
        Softmax(),
    )


def _tie_bias(request: Request, rate: float) -> AbstractBias:
    rates = np.array([float(rate)])
    if request.bias == "table":
        return Table(-rate * np.arange(request.length, dtype=np.float64)[None])  # type: ignore[arg-type]
    return Lin(rates) if request.bias == "lin" else Peak(rates, np.zeros(1))  # type: ignore[arg-type]


def label_rows(labels: np.ndarray, vocabulary: int) -> np.ndarray:
    """One-hot labels; rows without an answer are not promised.  [N] → [N, V]"""
    return np.where(labels[:, None] >= 0, np.eye(vocabulary)[np.maximum(labels, 0)], np.nan)


def previous_rows(x: np.ndarray, vocabulary: int, bias: str) -> np.ndarray:
    """One-hot x_{t-1}. At the first row a peak has nothing but the row itself to stand on; a table
    sees nothing.  [N, V]

    Neither does harm: the first row is a wrong match only where the second is a right one, which is
    later (induction), or where a key would have to be a value (recall).
    """
    rows = np.zeros((len(x), vocabulary))
    for t in range(len(x)):
        token = x[t - 1] if t else (x[0] if bias != "table" else -1)
        if token >= 0:
            rows[t, token] = 1.0
    return rows
