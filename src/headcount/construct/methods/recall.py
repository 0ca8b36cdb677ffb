"""Key-value recall by two layers of one head: the previous token, then the latest match
(`lookup.py` has the proof).

A value that follows a key is found by asking which rows are values (one indicator) and have the
asked key before them (the other). Keys ask with their coordinates alone, so the match has the size
of the number of keys. No theorem of the paper covers it: the lag is found by content, not by x_t
alone. One layer does not do it, nor do heads without a dot product.
"""

import dataclasses

import numpy as np

from headcount.construct.draft import AbstractConstruction, Draft, Request, constructions
from headcount.construct.methods.latest_match import SHARP, Lookup, lookup_draft, lookup_refusals
from headcount.core.refs import Ref
from headcount.memory.named.recall import Recall
from headcount.memory.target import AbstractTarget

REF = Ref("headcount", "key-value recall: a previous-token head and a match")


@constructions.register(
    "recall",
    formula="answer = sum_i softmax_i(B (1{x_{i-1} = x_t} + 1{x_i a value}) - rate (t-i)) x_i",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class RecallCircuit(AbstractConstruction):
    """Two layers, one head each, no FFN; lin, peak or table bias under softmax."""

    rate: int = SHARP

    ref = REF

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        if not isinstance(target, Recall):
            return [f"{target.kind} is no key-value recall"]
        return lookup_refusals(request, self.rate)

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        assert isinstance(target, Recall)
        symbols, vocabulary = target.symbols, target.vocabulary
        values = (np.arange(vocabulary) >= symbols).astype(np.float64)
        lookup = Lookup(
            vocabulary, np.eye(vocabulary)[:symbols], values, lambda x: stored_values(x, symbols)
        )
        return lookup_draft(lookup, request, self.rate, REF)


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
