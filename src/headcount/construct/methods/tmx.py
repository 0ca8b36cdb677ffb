"""Proposition 4.3: TMX, the bias measured against the lag asked for, in place of the dot product.

    z = b (phi(s) - phi(w . x_t)),   w = e_lag:   D numbers a head instead of two D x q matrices,
      and no constant in the stream.

The heads are those of Theorem 4.1, so are the layers and the errors (`adaptive`, and `nested` for K
> 0); only what moves the bias differs (`moved_heads`). Two repairs (errata 6): for log heads the
paper stores log g, whereupon phi_log(log g) = -log log g; here the stream holds g itself, rounded
to whole numbers (so that the width condition is the lin one), and the score clamps, phi_log(max(1,
.)), phi_lin(max(0, .)).
"""

import dataclasses
from typing import ClassVar

from headcount.construct.blocks.lag_networks import lag_networks
from headcount.construct.blocks.moved_heads import TmxRetrieval, moved_refusals, tmx_limits
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.retrieval import Wiring, assemble, stages
from headcount.construct.draft import AbstractConstruction, Draft, Request, constructions
from headcount.construct.methods.lags_named_by_tokens import (
    choose_heads,
    network_refusals,
    sink_note,
)
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget

REF = Ref("wang-e-2024", "Proposition 4.3")


@constructions.register(
    "tmx",
    formula=(
        "memory_i = sum_h a_h sum_s e^{b_h (phi(s) - phi(lag_i))} x_{t-s}, y = FFN(token, memories)"
    ),
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Tmx(AbstractConstruction):
    """As `adaptive` and `nested`, with TMX heads: O(D) parameters a head."""

    ref = REF
    cost: ClassVar[int] = 5
    attention: ClassVar[str] = "tmx"

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        if not isinstance(found, AdaptiveMemory):
            return [f"{target.kind} is no adaptive memory"]
        return moved_refusals(request) + network_refusals(found, request, log=False)

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        found = unnamed(target)
        assert isinstance(found, AdaptiveMemory)
        order = stages(found)
        networks = lag_networks(found, request, order, log=False)
        readout = readout_for(found.readout, len(networks) + 1, found.inputs, request)
        heads = choose_heads(
            found,
            request,
            order,
            networks,
            readout,
            [tmx_limits(net.largest, request) for net in networks],
        )
        retrieval = TmxRetrieval(heads, request, found.inputs.bound)
        return assemble(
            Wiring(
                found,
                request,
                order,
                networks,
                retrieval,
                readout,
                REF,
                sink_note(request),
                retrieval.facts,
            )
        )
