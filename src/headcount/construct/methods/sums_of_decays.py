"""Theorems 3.1 and 5.1: a fixed or an essentially sparse memory by one layer without dot product.

Slot k holds x_{t-T_k} (fixed) or (X*rho_k)(t) = sum_s rho_k(s) x_{t-s} (essential). The heads of
memory k draw the kernel, 1{s = T_k} or rho_k, by a sum of their curves; the l1 error of that sum,
certified in ball arithmetic for the doubles that are written, is the slot's error for tokens of
norm 1. The readout network sees (token, memory_1, …, memory_M). The paper takes lin heads for
exponential tails and log heads for polynomial ones; the error is certified whichever is used, and
lin heads do both (docs/theory.md#heavy-tails).

Lag 0 (docs/errata.md#e5). log heads cannot see x_t, and s^-b has no value there. The residual
stream has x_t: for a kernel rho_k the embedding puts (rho_k(0) - what the heads give at lag 0) x_t
into slot k, so that lag 0 is exact with every bias.

Lags that count. Sequences have at most `length` tokens, so lags from `length` on do not exist:
kernels are fitted on that window, and one that is not summable (outside the theorem:
docs/errata.md#e18) is served on it too. The slots lie in balls of radius ||rho_k||_1 over the
window (docs/errata.md#e14), on which the readout must hold.
"""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from flint import fmpq

from headcount.construct.blocks.decaying_heads import drawn, heads_for_tol, split_heads
from headcount.construct.blocks.drawn_heads import DECAYING, DrawnHeads, Gathering, facts_of, gather
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.slots import (
    Ending,
    Slot,
    convolved,
    kernel_mass,
    memory_count,
    one_layer,
    share_of_tolerance,
    shifted,
    slot_names,
    slot_space,
)
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.core.plural import counted
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.memory.read import Last
from headcount.memory.target import AbstractTarget
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem

FIXED = Ref("wang-e-2024", "Theorem 3.1")
ESSENTIAL = Ref("wang-e-2024", "Theorem 5.1")
NORMALISERS = ("none", "softmax-bos", "softmax-tail", "softmax")
# a fit of H heads has 2H unknowns; an error over more lags than exist bounds that over fewer
LEAST_WINDOW = 64


class AbstractSum(AbstractMethod):
    """What sums of decaying heads have in common."""

    biases = DECAYING
    normalisers = NORMALISERS
    reads_slots = True

    def further(self, target: Any, request: Request) -> list[Refusal]:
        return one_position_reasons(target, request)


def one_position_reasons(target: AbstractTarget, request: Request) -> list[Refusal]:
    """Why softmax-bos or plain softmax cannot carry a sum of decaying heads."""
    kind, bos = RefusalKind.NORMALISER, request.normaliser == "softmax-bos"
    if bos and request.bias in DECAYING and request.bias != "lin":
        why = "a geometric sum goes on before the first token"
        got = f"softmax-bos repairs lin heads alone, not {request.bias}"
        return [Refusal(kind, got, why, "softmax-tail")]
    if request.normaliser == "softmax" and not isinstance(target.read, Last):
        got = "plain softmax divides by a sum that grows with the position"
        why = "one position alone can be exact"
        return [Refusal(kind, got, why, "read=last or softmax-tail")]
    return []


@methods.register(
    "fixed",
    formula="memory_k = sum_h a_h sum_s phi(s; b_h) x_{t-s}, y = FFN(token, memories)",
    ref=FIXED,
)
@dataclasses.dataclass(frozen=True)
class FixedBySum(AbstractSum):
    """One layer, dot-product-free; lin, log or log1p bias."""

    ref = FIXED
    planned = False
    families = (FixedMemory,)
    noun = "fixed memory"

    def weights(self, target: FixedMemory, request: Request) -> Draft:
        readout = readout_for(target.readout, len(target.lags) + 1, target.inputs, request)
        kernels = [Lag(T) for T in target.lags]
        if request.tol is None:
            memories = split_heads(kernels, request, request.length)
        else:
            each = share_of_tolerance(request, readout, target.inputs.bound, len(kernels))
            memories = [
                heads_for_tol(k, request.bias, each, request.precision, window_of(k, request))
                for k in kernels
            ]
        told = length_notes(request, memories)
        ending = Ending(FIXED, told, facts_of(memories), first_of(request))
        return lag_draft(target, request, memories, [0.0] * len(memories), readout, ending)


def window_of(kernel: AbstractKernel, request: Request) -> int:
    """The lags that exist; a kernel of finite support is seen whole. A smooth kernel is fitted on
    no fewer than make a well-posed fit.
    """
    if kernel.support is not None:
        return max(request.length, kernel.support)
    return max(request.length, LEAST_WINDOW)


def lag_draft(
    target: FixedMemory,
    request: Request,
    memories: list[DrawnHeads],
    direct: list[float],
    readout: NetworkFit,
    ending: Ending,
) -> Draft:
    """The layer of a fixed memory for given heads; `direct` x_t is added to each slot."""
    slots = lag_slots(target, request, memories, direct)
    radius = target.inputs.bound * math.sqrt(len(slots) + 1)
    return slots_draft(target, request, memories, slots, readout, radius, ending)


def lag_slots(
    target: FixedMemory, request: Request, memories: list[DrawnHeads], direct: list[float]
) -> list[Slot]:
    """What the slots of a fixed memory hold, and how far off these heads leave them."""
    size = target.inputs.bound
    return [
        Slot(
            functools.partial(shifted, lag=T),
            heads.bound(request.length, size) + Bound(0.0, 8 * size * abs(gap)),
            f"l1 error {heads.error:.3g} of the kernel of lag {T}, {counted(heads.count, 'head')}",
            gap,
        )
        for T, heads, gap in zip(target.lags, memories, direct, strict=True)
    ]


def slots_draft(
    target: FixedMemory | EssentialMemory,
    request: Request,
    memories: list[DrawnHeads],
    slots: list[Slot],
    readout: NetworkFit,
    radius: float,
    ending: Ending,
) -> Draft:
    """One layer whose heads fill the slots."""
    space, names = slot_space(len(memories), target.inputs.dim), slot_names(len(memories))
    gathered = [Gathering(heads, name) for heads, name in zip(memories, names, strict=True)]
    return one_layer(space, gather(space, gathered, request), slots, readout, radius, ending)


@methods.register(
    "essential",
    formula=(
        "memory_k = sum_h a_h sum_s phi(s; b_h) x_{t-s} + (rho_k(0) - k(0)) x_t, y = FFN(token,"
        " memories)"
    ),
    ref=ESSENTIAL,
)
@dataclasses.dataclass(frozen=True)
class EssentialBySum(AbstractSum):
    """One layer, dot-product-free; lin, log or log1p bias."""

    ref = ESSENTIAL
    families = (EssentialMemory,)
    noun = "essential memory"
    bounded_tokens = True

    def further(self, target: EssentialMemory, request: Request) -> list[Refusal]:
        reasons = one_position_reasons(target, request)
        if request.heads is not None and request.heads < len(target.kernel):
            got = f"{request.heads} heads for {len(target.kernel)} kernels"
            reasons.append(Refusal(RefusalKind.HEADS, got, "every kernel has heads of its own"))
        return reasons

    def slot_radius(self, target: EssentialMemory, request: Request) -> float:
        return filtered_radius(target, request)

    def weights(self, target: EssentialMemory, request: Request) -> Draft:
        M, size, reach = memory_count(target), target.inputs.bound, filtered_radius(target, request)
        readout = readout_for(target.readout, M + 1, target.inputs, request, reach)
        if request.tol is None:
            window = max(request.length, LEAST_WINDOW)
            memories = split_heads(list(target.kernel), request, window)
        else:
            each = share_of_tolerance(request, readout, size, M)
            memories = [heads_within(kernel, request, each) for kernel in target.kernel]
        gaps = [heads.missing_at_zero() for heads in memories]
        slots = [
            Slot(
                functools.partial(convolved, kernel=heads.kernel),
                heads.bound(request.length, size)
                + Bound(0.0, 8 * size * (abs(gap) + abs(float(heads.kernel.values(1)[0])))),
                f"l1 error {heads.error:.3g} of {heads.kernel.kind},"
                f" {counted(heads.count, 'head')}",
                gap,
            )
            for heads, gap in zip(memories, gaps, strict=True)
        ]
        facts = {**facts_of(memories), "lag_zero": gaps, "radius": reach}
        ending = Ending(
            ESSENTIAL,
            (*length_notes(request, memories), *summable_notes(target, request)),
            facts,
            first_of(request),
        )
        whole = math.hypot(size, reach * math.sqrt(M))
        return slots_draft(target, request, memories, slots, readout, whole, ending)


def filtered_radius(target: EssentialMemory, request: Request) -> float:
    """The largest norm of an exact slot (docs/errata.md#e14)."""
    masses = [kernel_mass(kernel, request.length) for kernel in target.kernel]
    return target.inputs.bound * max(masses)


def heads_within(kernel: AbstractKernel, request: Request, tol: float) -> DrawnHeads:
    """The fewest heads for the kernel on the window; one silent head where only lag 0 is left."""
    window = window_of(kernel, request)
    problem = Problem(kernel, family(request.bias), Norm.L1, window)
    if not np.any(problem.target):
        silent = HeadSum(problem.family, (problem.family.slowest(Norm.L1) + 1,), (fmpq(0),))
        return drawn(kernel, silent, 0.0, "nothing but lag 0")
    return heads_for_tol(kernel, request.bias, tol, request.precision, window)


def first_of(request: Request) -> int:
    """The first position that is promised: plain softmax divides by a sum that grows."""
    return request.length if request.normaliser == "softmax" else 1


def length_notes(request: Request, memories: list[DrawnHeads]) -> tuple[str, ...]:
    """For which lengths the layer holds."""
    if request.normaliser == "softmax":
        told = f"plain softmax: exact for sequences of exactly {request.length} tokens, read at the"
        return (f"{told} last",)
    if request.normaliser == "softmax-tail" or not all(every_length(h) for h in memories):
        return (f"holds for sequences up to {request.length} tokens",)
    return ()


def summable_notes(target: EssentialMemory, request: Request) -> tuple[str, ...]:
    return tuple(
        f"{kernel.kind} kernel not summable: outside Theorem 5.1, served on {request.length} lags"
        for kernel in target.kernel
        if not kernel.summable
    )


def every_length(heads: DrawnHeads) -> bool:
    """Does the promised error hold whatever the length?"""
    if not heads.curves:
        return True
    if not heads.kernel.summable or (heads.error > 0 and heads.kernel.support is None):
        return False
    curves = family(heads.curves[0].bias)  # type: ignore[union-attr]
    head_sum = HeadSum.of(curves, heads.rates, heads.coefficients)
    return measure(Problem(heads.kernel, curves), head_sum).l1 <= heads.error * (1 + 1e-9)
