"""Theorem 4.1: an adaptive M-sparse memory by two layers, normalisation-free.

    layer 1  attention idle (W_O = 0, errata 3); the precision FFN writes lag_r = [g_r(x_t)] (lin)
      or log[e^{log g_r(x_t)}] (log) and the
             constant 1 (lin) or log 2 (log)
    layer 2  dot-product heads: the query reads lag_r, the key the constant, so that the bias -b
      phi(s) is moved by the lag asked for:
             memory_r = sum_h a_h sum_s e^{-b_h (s - g_r + T)} x_{t-s}     (`moved_heads`)
             readout f(token, memory_1, …, memory_M) by a network

One set of coefficients serves every lag up to T_r (Lemmas F.2, F.5), with l1 error e_r for each of
them; the lags are exact (rounding, `lag_networks`), so the answer is off by at most E_FFN + Lip
sqrt(sum_r e_r^2) (errata 12).

What it costs: a sum of lin heads that isolates lag T needs T + 1 heads and sum|a| ~ e^{2.46 T}
(Theorems A and B): in float32 about lag 5 is the end, in float64 about 10; log heads are weak
beyond lag 3. Then this refuses, with the certificate. `peak-tmx` has no such limit.
"""

import dataclasses
import math
from typing import ClassVar

from headcount.construct.blocks.adaptive_heads import (
    FREE,
    AdaptiveHeads,
    Limits,
    adaptive_for_tol,
    split_adaptive,
)
from headcount.construct.blocks.lag_networks import LagNetwork, lag_networks, lag_refusals
from headcount.construct.blocks.moved_heads import DotRetrieval, moved_refusals
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.blocks.retrieval import AbstractAdaptive, Stages, Wiring, assemble, stages
from headcount.construct.draft import Draft, Request, constructions
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory

REF = Ref("wang-e-2024", "Theorem 4.1")
SHARE = 0.95  # of the tolerance, for the kernels
MARGIN = 0.8  # of what rounding can mend, for the tokens found first


@constructions.register(
    "adaptive",
    formula=(
        "lag_r = [g_r(x_t)], memory_r = sum_h a_h sum_s e^{-b_h (s - lag_r)} x_{t-s}, y ="
        " FFN(token, memories)"
    ),
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Adaptive(AbstractAdaptive):
    """Two layers for lags that the current token decides; lin or log heads moved by a dot
    product.
    """

    ref = REF
    cost: ClassVar[int] = 2
    attention: ClassVar[str] = "dot"

    def _refusals(self, target: AdaptiveMemory, request: Request) -> list[str]:
        reasons = moved_refusals(request)
        if len(stages(target)) > 1:
            reasons.append(
                f"lags depend on tokens that other lags find (K = {target.nesting}): use nested"
            )
        return reasons + network_refusals(target, request)

    def _draft(self, target: AdaptiveMemory, request: Request) -> Draft:
        return dot_draft(target, request, stages(target), REF)


def network_refusals(
    target: AdaptiveMemory, request: Request, log: bool | None = None
) -> list[str]:
    """Why lags or answers cannot be computed by networks."""
    found = lag_refusals(target, request.bias == "log" if log is None else log)
    # the stream holds g, but log heads still cannot see lag 0
    if request.bias == "log" and log is False and not found:
        found = [reason for reason in lag_refusals(target, log=True) if "lag 0" in reason]
    return found + readout_refusals(target.readout, len(target.lag_functions) + 1, target.inputs)


def dot_draft(target: AdaptiveMemory, request: Request, order: Stages, theorem: Ref) -> Draft:
    """Dot-product heads in these stages."""
    networks = lag_networks(target, request, order, request.bias == "log")
    readout = readout_for(target.readout, len(networks) + 1, target.inputs, request)
    heads = choose_heads(target, request, order, networks, readout, [FREE] * len(networks))
    retrieval = DotRetrieval(heads, request, target.inputs.bound)
    return assemble(
        Wiring(
            target,
            request,
            order,
            networks,
            retrieval,
            readout,
            theorem,
            sink_note(request),
            retrieval.facts,
        )
    )


def choose_heads(
    target: AdaptiveMemory,
    request: Request,
    order: Stages,
    networks: list[LagNetwork],
    readout: NetworkFit,
    limits: list[Limits],
) -> tuple[AdaptiveHeads, ...]:
    """Heads for every memory: the fewest within the tolerance (and the rounding conditions), or
    the number given, layer by layer.
    """
    if request.tol is None:
        made: dict[int, AdaptiveHeads] = {}
        for stage in order:
            shared = split_adaptive(
                [networks[i - 1].largest for i in stage], request, [limits[i - 1] for i in stage]
            )
            made.update(zip(stage, shared, strict=True))
        return tuple(made[net.index] for net in networks)
    size = target.inputs.bound
    each = (
        SHARE
        * (request.tol - readout.error)
        / (max(readout.lipschitz, 1e-300) * size * math.sqrt(len(networks)))
    )
    return tuple(
        adaptive_for_tol(
            net.largest,
            request.bias,
            min(each, _mendable(net, networks) / size, 0.999),
            request.precision,
            limit,
        )
        for net, limit in zip(networks, limits, strict=True)
    )


def _mendable(net: LagNetwork, networks: list[LagNetwork]) -> float:
    """How far `memory_i` may be off so that every later lag function still rounds to the exact
    lag (errata 9).
    """
    later = [n for n in networks if n.arguments > net.index]
    return min(
        (
            MARGIN * n.tolerance / (max(n.lipschitz, 1e-300) * math.sqrt(n.arguments - 1))
            for n in later
        ),
        default=math.inf,
    )


def sink_note(request: Request) -> tuple[str, ...]:
    return (
        (
            (
                "softmax with a zero-valued sink whose logit makes the division by 1 + rho harmless"
                " (theory 2.5)"
            ),
        )
        if request.normaliser == "softmax-sink"
        else ()
    )
