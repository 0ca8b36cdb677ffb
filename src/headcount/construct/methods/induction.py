"""Induction by two layers of one head: the previous token, then the latest match (`lookup.py` has
the proof).

The classical induction head as exact weights. One layer would need exponential size
(arXiv:2408.14332).
"""

import dataclasses

import numpy as np

from headcount.construct.draft import AbstractConstruction, Draft, Request, constructions
from headcount.construct.methods.latest_match import SHARP, Lookup, lookup_draft, lookup_refusals
from headcount.core.refs import Ref
from headcount.memory.named.induction import Induction
from headcount.memory.target import AbstractTarget

REF = Ref("olsson-2022", "induction heads; weights and bound by headcount")


@constructions.register(
    "induction", formula="answer = sum_i softmax_i(B 1{x_{i-1} = x_t} - rate (t-i)) x_i", ref=REF
)
@dataclasses.dataclass(frozen=True)
class InductionCircuit(AbstractConstruction):
    """Two layers, one head each, no FFN; lin, peak or table bias under softmax."""

    rate: int = SHARP

    ref = REF

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        if not isinstance(target, Induction):
            return [f"{target.kind} is no induction"]
        return lookup_refusals(request, self.rate)

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        assert isinstance(target, Induction)
        lookup = Lookup(target.symbols, np.eye(target.symbols), None, followers)
        return lookup_draft(lookup, request, self.rate, REF)


def followers(x: np.ndarray) -> np.ndarray:
    """The token after the last earlier appearance of each token, else -1.  [N] → [N]"""
    last: dict[int, int] = {}
    found = np.full(len(x), -1)
    for t, token in enumerate(x.tolist()):
        if token >= 0:
            found[t] = x[last[token] + 1] if token in last else -1
            last[token] = t
    return found
