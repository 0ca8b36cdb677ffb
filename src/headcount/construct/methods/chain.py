"""The plain chain: one jump a layer, k layers for k jumps; what doubling is to be compared with
(`pointers.py` has the bound).

Layer 1 holds place_1 and found_1. Layer l < k goes l - 1 jumps back and copies place_1, which makes
place_l; layer k copies found_1 instead. It is the order of the paper's Theorem 4.4 (one nesting a
layer), with tokens and positions instead of lags.
"""

import dataclasses

from headcount.construct.draft import AbstractConstruction, Draft, Request, constructions
from headcount.construct.methods.pointer_jumps import Stage, pointer_draft, pointer_refusals
from headcount.core.refs import Ref
from headcount.memory.named.pointer_chain import PointerChain
from headcount.memory.target import AbstractTarget

REF = Ref("headcount", "one jump a layer, after Wang and E 2024, Theorem 4.4")


@constructions.register(
    "chain",
    formula="place_l(t) = place_1(place_{l-1}(t)), found_k(t) = found_1(place_{k-1}(t))",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Chain(AbstractConstruction):
    """k layers, one head each, no FFN; softmax or no normaliser."""

    ref = REF
    cost = 1  # doubling needs fewer layers

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        return (
            pointer_refusals(request)
            if isinstance(target, PointerChain)
            else [f"{target.kind} is no pointer chain"]
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        assert isinstance(target, PointerChain)
        return pointer_draft(target, request, chain_stages(target.hops), REF)


def chain_stages(hops: int) -> list[Stage]:
    """The schedule for k = `hops`.

    >>> [(stage.ask, stage.place, stage.found) for stage in chain_stages(3)]
    [(0, 0, 0), (1, 1, None), (2, None, 1)]
    """
    if hops == 1:
        return [Stage(0, None, 0)]
    return [
        Stage(0, 0, 0),
        *(Stage(h, 1, None) for h in range(1, hops - 1)),
        Stage(hops - 1, None, 1),
    ]
