"""Selective copy by counting: two layers without normaliser.

Stream: `token`, `count` (content tokens up to t), `asked` (asking tokens up to t), their squares,
`one`, `answer`. Layer 1: two heads that never decay add up all tokens: without a denominator a sum
is a count, exactly. (Softmax would give the average, which does not tell 1 of 2 from 2 of 4.) The
FFN squares whole numbers up to N, c^2 = relu(c) + 2 sum_{0<k<N} relu(c - k), and writes a
constant. Layer 2: one head with the logit

    z_i = -RATE ( (asked_t - count_i)^2 + 1{x_i is no content} )
        = <(asked, 1, asked^2)_t, RATE (2 count, content - 1 - count^2, -1)_i>.

The j-th content token is the only row with count j that is content, so its weight is e^0 = 1 and
all others together are at most N e^-RATE: no tie, so no normaliser is needed. Where fewer than j
came, all weights vanish and the answer is 0.

Rounding: all numbers are whole, logits multiples of RATE = 64, and exact in float32 as long as
N^2 < 2^24, that is up to 4096 tokens.
"""

import dataclasses
import itertools
import math

import numpy as np

from headcount.construct.blocks.layers import (
    Head,
    Neurons,
    attention,
    constant,
    layer,
    linear_readout,
    relu_ffn,
    token_embedding,
)
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.latest_match import label_rows
from headcount.core.claims import Precision
from headcount.core.refs import Ref
from headcount.memory.named.selective_copy import SelectiveCopy
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.attention import Attention
from headcount.model.biases import AbstractBias, Lin, NoBias
from headcount.model.normalisers import NoNormaliser
from headcount.model.scores import DotFree, DotProduct
from headcount.model.transformer import Transformer

REF = Ref("headcount", "selective copy: counts, then a match of counts")
RATE = 64.0
LONGEST_EXACT = 2**12  # squares below 2^24


@methods.register(
    "selective-copy",
    formula="answer = sum_i exp(-RATE ((asked_t - count_i)^2 + 1{x_i no content})) x_i",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Counting(AbstractMethod):
    """Two layers, 2 + 1 heads, 2N + 1 neurons; flat lin or no bias, no normaliser."""

    ref = REF
    layers = None
    attention = "dp-free+dot"
    families = (SelectiveCopy,)
    noun = "selective copy"
    biases = ("lin", "none")
    normalisers = ("none",)
    hints = {
        "bias": "a flat head counts",
        "normaliser": "it averages, and an average does not count",
    }

    def further(self, target: SelectiveCopy, request: Request) -> list[Refusal]:
        reasons, N = [], request.length
        if request.precision is Precision.FLOAT32 and N > LONGEST_EXACT:
            got = f"squares of counts up to {N} are not exact in float32"
            use = f"at most {LONGEST_EXACT} tokens or float64"
            reasons.append(Refusal(RefusalKind.PRECISION, got, expected=use))
        if request.width is not None and request.width < 2 * N + 1:
            got = f"{request.width} neurons, and squares of counts up to {N} take {2 * N + 1}"
            reasons.append(Refusal(RefusalKind.WIDTH, got))
        if request.heads is not None and request.heads < 2:
            got = "1 head for two counts"
            reasons.append(Refusal(RefusalKind.HEADS, got, expected="heads=2"))
        return reasons

    def weights(self, target: SelectiveCopy, request: Request) -> Draft:
        V, N = target.vocabulary, request.length
        space = Space(token=V, count=1, asked=1, count_square=1, asked_square=1, one=1, answer=V)
        # [1, V]
        content, ask = (np.arange(V) < target.symbols).astype(float)[None], np.eye(V)[[target.ask]]
        counting = attention(
            space,
            [Head("token", "count", content), Head("token", "asked", ask)],
            DotFree(),
            flat(request.bias, 2),
            NoNormaliser(),
        )
        squares = [Neurons(square(N), (name,), f"{name}_square") for name in ("count", "asked")]
        layers = (
            layer(counting, relu_ffn(space, [*squares, constant(1.0, "one", "count")])),
            layer(
                _match(space, content, request),
                linear_readout(space, np.eye(V), ["answer"]),
                reads_out=True,
            ),
        )
        output = Bound(N * math.exp(-RATE), 16)
        facts = {
            "layers": 2,
            "heads": [2, 1],
            "width": 2 * N + 1,
            "stream": space.width,
            "float32_exact": N <= LONGEST_EXACT,
        }
        note = f"counts up to {N}: the neurons that square them grow with the length"
        return Draft(
            Transformer(token_embedding(space), layers, None, None),
            _promises(space, target, output),
            output,
            REF,
            (note,),
            facts,
        )


def _match(space: Space, content: np.ndarray, request: Request) -> Attention:
    """The head of layer 2."""
    query = space.read("asked", "one", "asked_square")  # [3, D]
    count, squared, one = space.read("count"), space.read("count_square"), space.read("one")
    key = RATE * np.concatenate([2 * count, content @ space.read("token") - one - squared, -one])
    return attention(
        space,
        [Head("token", "answer")],
        DotProduct(query[None], key[None]),  # type: ignore[arg-type]
        flat(request.bias, 1),
        NoNormaliser(),
    )


def flat(bias: str, heads: int) -> AbstractBias:
    """Heads that never decay."""
    return Lin(np.zeros(heads)) if bias == "lin" else NoBias(heads)  # type: ignore[arg-type]


def square(largest: int) -> ReluNetwork:
    """c^2 on the whole numbers up to `largest`, one neuron each.

    >>> square(5)(np.arange(6.0)[:, None])
    array([ 0.,  1.,  4.,  9., 16., 25.])
    """
    slopes = np.full(largest, 2.0)
    slopes[0] = 1.0
    return ReluNetwork(slopes, np.ones((largest, 1)), -np.arange(largest, dtype=np.float64))


def _promises(space: Space, target: SelectiveCopy, output: Bound) -> tuple[SlotPromise, ...]:
    """Counts, squares and the answer, walked through from the definition."""

    def counts(x: np.ndarray, power: int, asking: bool) -> np.ndarray:
        seen = itertools.accumulate(
            token == target.ask if asking else 0 <= token < target.symbols for token in x.tolist()
        )
        return np.array(list(seen), float)[:, None] ** power

    def copied(x: np.ndarray) -> np.ndarray:
        labels, waiting, asked = np.full(len(x), -1), [], 0
        for t, token in enumerate(x.tolist()):
            waiting += [token] if 0 <= token < target.symbols else []
            asked += token == target.ask
            labels[t] = waiting[asked - 1] if token == target.ask and asked <= len(waiting) else -1
        return label_rows(labels, target.vocabulary)

    whole, beside = Bound(0.0), f"{output.error:.3g} weight beside the row asked for"
    added, squared = "a flat sum of whole numbers", "squares of whole numbers"
    lines = [
        (1, "attention", "count", lambda x: counts(x, 1, False), whole, added),
        (1, "attention", "asked", lambda x: counts(x, 1, True), whole, added),
        (1, "ffn", "count_square", lambda x: counts(x, 2, False), whole, squared),
        (1, "ffn", "asked_square", lambda x: counts(x, 2, True), whole, squared),
        (2, "attention", "answer", copied, output.through(math.sqrt(2)), beside),
    ]
    return tuple(
        SlotPromise(number, part, name, space.where(name), exact, bound, why)
        for number, part, name, exact, bound, why in lines
    )
