"""Theorem 4.4 and Proposition 4.5: lags that depend on tokens found before, one retrieval a layer.

H^Adap(K, M): t_i = g_i(x_t, x_{t-t_1}, …) needs what the retrievals before it found. L = K + 1 +
1{M >= K+1} layers (`retrieval`): layer l writes lag_l with its FFN, layer l+1 finds memory_l; the
lags K+1, …, M depend on the first K memories only and are found together.

The chain holds because lags are whole numbers: memory_j is off by e_j, a later g_l by at most
Lip(g_l) sqrt(sum_j e_j^2), and while that is below 1/2 (log: log(1 + 1/(2T_l))) rounding returns
the exact lag and no error is passed on. The paper leaves these head conditions out (errata 9); here
each is a check with its numbers (facts["rounding"]), and with a tolerance the heads of memory j are
chosen so that all of them hold.

Proposition 4.5, `deep`: the same for K = 0 with one memory a layer, M + 1 layers. All heads of a
layer serve one memory, which lowers heads and neurons a layer, not in total (errata 12).
"""

import dataclasses
from typing import ClassVar

from headcount.construct.blocks.moved_heads import moved_refusals
from headcount.construct.blocks.retrieval import AbstractAdaptive, one_by_one, stages
from headcount.construct.draft import Draft, Request, constructions
from headcount.construct.methods.lags_named_by_tokens import dot_draft, network_refusals
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory

NESTED = Ref("wang-e-2024", "Theorem 4.4")
DEEP = Ref("wang-e-2024", "Proposition 4.5")


@constructions.register(
    "nested",
    formula=(
        "lag_i = [g_i(token, memory_1, …)], memory_i = x_{t-lag_i}, layer by layer; y = FFN(token,"
        " memories)"
    ),
    ref=NESTED,
)
@dataclasses.dataclass(frozen=True)
class Nested(AbstractAdaptive):
    """K + 1 + 1{M > K} layers for a K-adaptive memory; lin or log heads moved by a dot product."""

    ref = NESTED
    cost: ClassVar[int] = 3
    attention: ClassVar[str] = "dot"

    def _refusals(self, target: AdaptiveMemory, request: Request) -> list[str]:
        reasons = moved_refusals(request)
        if len(stages(target)) == 1:
            reasons.append(
                "no lag depends on a token that another lag finds: adaptive (Theorem 4.1) does it"
                " in two layers"
            )
        return reasons + network_refusals(target, request)

    def _draft(self, target: AdaptiveMemory, request: Request) -> Draft:
        return dot_draft(target, request, stages(target), NESTED)


@constructions.register("deep", formula="as nested with one memory a layer, M + 1 layers", ref=DEEP)
@dataclasses.dataclass(frozen=True)
class Deep(AbstractAdaptive):
    """M + 1 layers in place of more heads a layer, for lags that the current token decides (K =
    0).
    """

    ref = DEEP
    cost: ClassVar[int] = 4
    attention: ClassVar[str] = "dot"

    def _refusals(self, target: AdaptiveMemory, request: Request) -> list[str]:
        reasons = moved_refusals(request)
        if len(stages(target)) > 1:
            reasons.append(
                f"lags depend on tokens that other lags find (K = {target.nesting}): use nested"
            )
        if len(target.lag_functions) == 1:
            reasons.append("one memory takes one layer anyway: use adaptive")
        return reasons + network_refusals(target, request)

    def _draft(self, target: AdaptiveMemory, request: Request) -> Draft:
        return dot_draft(target, request, one_by_one(target), DEEP)
