"""Pointer doubling: k jumps in ceil(log2 k) + 1 layers of one head (`pointers.py` has the layers
and the bound).

Write k - 1 = sum_j b_j 2^j. Layer 1 holds place_1 and found_1. Layer l >= 2 goes h = 2^{l-2} jumps
back, where it copies
    place_h  (so that it holds place_{2h}), unless it is the last, and
    found_m  (so that it holds found_{m+h}), if b_{l-2} = 1, with m = 1 + sum of the digits done.
It is one head, because both copies go to the same place. After the last digit m = k. With L - 1 =
ceil(log2 k) digits the largest k is 2^{L-1}, and the top digit of k - 1 is 1, so the last layer
always has something to copy.

No schedule of such heads does it in fewer: a layer composes two things known before it, so the
number of jumps at most doubles, and layer 1 knows one. Theorem 4.4 would take k + 1 layers. For
k-hop induction, the like task, O(log k) layers suffice and, under a conjecture on parallel
computation, are needed by any Transformer of moderate size (Sanford, Hsu and Telgarsky).
"""

import dataclasses

from headcount.construct.draft import AbstractConstruction, Draft, Request, constructions
from headcount.construct.methods.pointer_jumps import Stage, pointer_draft, pointer_refusals
from headcount.core.refs import Ref
from headcount.memory.named.pointer_chain import PointerChain
from headcount.memory.target import AbstractTarget

REF = Ref("sanford-2024", "pointer doubling; weights and bound by headcount")


@constructions.register(
    "doubling",
    formula="place_{2h}(t) = place_h(place_h(t)), found_{m+h}(t) = found_m(place_h(t))",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Doubling(AbstractConstruction):
    """ceil(log2 k) + 1 layers, one head each, no FFN; softmax or no normaliser."""

    ref = REF

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        return (
            pointer_refusals(request)
            if isinstance(target, PointerChain)
            else [f"{target.kind} is no pointer chain"]
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        assert isinstance(target, PointerChain)
        return pointer_draft(target, request, doubling_stages(target.hops), REF)


def doubling_stages(hops: int) -> list[Stage]:
    """The schedule for k = `hops`.

    >>> [(stage.ask, stage.place, stage.found) for stage in doubling_stages(6)]  # 6 - 1 = 101 in binary
    [(0, 0, 0), (1, 1, 1), (2, 2, None), (4, None, 2)]
    """
    digits = hops - 1
    count = digits.bit_length()
    stages, found = [Stage(0, 0 if count else None, 0)], 1
    for j in range(count):
        jumps, taken = 1 << j, bool(digits >> j & 1)
        stages.append(Stage(jumps, jumps if j < count - 1 else None, found if taken else None))
        found += jumps * taken
    return stages
