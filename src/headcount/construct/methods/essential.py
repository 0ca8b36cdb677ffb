"""Theorem 5.1: an essentially sparse memory by one layer without dot product.

Slot k holds (X*rho_k)(t) = sum_s rho_k(s) x_{t-s}. The heads of memory k draw rho_k by a sum of
their curves; the l1 error of that sum, certified in ball arithmetic for the doubles that are
written, is the slot's error for tokens of norm 1. The paper takes lin heads for exponential tails
and log heads for polynomial ones; the error is certified whichever is used, and lin heads do both
(theory 2.2 (F)).

Lag 0 (errata 5). log heads cannot see x_t, and s^-b has no value there. The residual stream has
x_t: the embedding puts (rho_k(0) - what the heads give at lag 0) x_t into slot k, so that lag 0 is
exact with every bias.

Lags that count. Sequences have at most `length` tokens, so lags from `length` on do not exist:
kernels are fitted on that window, and one that is not summable (outside the theorem: errata 18) is
served on it too. The slots lie in balls of radius
||rho_k||_1 over the window (errata 14), on which the readout must hold.
"""

import dataclasses
import functools
import math

import numpy as np
from flint import fmpq

from headcount.construct.blocks.allocate import split_heads
from headcount.construct.blocks.decaying_heads import DECAYING, KernelHeads, heads_for_tol
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.normalised import Gathering, gather, normaliser_refusals
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.blocks.slots import (
    Slot,
    convolved,
    kernel_mass,
    slot_names,
    slot_space,
    with_slots,
)
from headcount.construct.draft import AbstractConstruction, Bound, Draft, Request, constructions
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import AbstractKernel
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget
from headcount.theory.errors import measure
from headcount.theory.families import family
from headcount.theory.problem import HeadSum, Norm, Problem

REF = Ref("wang-e-2024", "Theorem 5.1")
# a fit of H heads has 2H unknowns; an error over more lags than exist bounds that over those that
# do
LEAST_WINDOW = 64


@constructions.register(
    "essential",
    formula=(
        "memory_k = sum_h a_h sum_s phi(s; b_h) x_{t-s} + (rho_k(0) - k(0)) x_t, y = FFN(token,"
        " memories)"
    ),
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Essential(AbstractConstruction):
    """One layer, dot-product-free; lin, log or log1p bias."""

    ref = REF

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        if not isinstance(found, EssentialMemory):
            return [f"{target.kind} is no essential memory"]
        reasons = (
            []
            if request.bias in DECAYING
            else [f"bias {request.bias} is not one of {', '.join(DECAYING)}"]
        )
        if request.heads is not None and request.heads < len(found.kernel):
            reasons.append(
                f"{request.heads} heads for {len(found.kernel)} kernels: one a kernel is the least"
            )
        if not math.isfinite(found.inputs.bound):
            reasons.append(
                f"{found.inputs.kind} tokens are unbounded, so that no kernel error bounds the"
                " answer's"
            )
        return (
            reasons
            + normaliser_refusals(target, request)
            + readout_refusals(
                found.readout, len(found.kernel) + 1, found.inputs, radius(found, request)
            )
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        found = unnamed(target)
        assert isinstance(found, EssentialMemory)
        readout = readout_for(
            found.readout, len(found.kernel) + 1, found.inputs, request, radius(found, request)
        )
        return assemble(found, request, self._heads(found, request, readout), readout)

    @staticmethod
    def _heads(found: EssentialMemory, request: Request, readout: NetworkFit) -> list[KernelHeads]:
        if request.tol is None:
            return split_heads(list(found.kernel), request, max(request.length, LEAST_WINDOW))
        left = request.tol - readout.error
        each = (
            0.95
            * left
            / (max(readout.lipschitz, 1e-300) * found.inputs.bound * math.sqrt(len(found.kernel)))
        )
        return [heads_within(kernel, request, each) for kernel in found.kernel]


def heads_within(kernel: AbstractKernel, request: Request, tol: float) -> KernelHeads:
    """The fewest heads for the kernel on the window; one silent head where only lag 0 is left to
    do.
    """
    window = window_of(kernel, request)
    problem = Problem(kernel, family(request.bias), Norm.L1, window)
    if not np.any(problem.target):
        return KernelHeads(
            kernel,
            HeadSum(problem.family, (problem.family.lowest_rate + 1,), (fmpq(0),)),
            0.0,
            "nothing but lag 0",
        )
    return heads_for_tol(kernel, request.bias, tol, request.precision, window)


def window_of(kernel: AbstractKernel, request: Request) -> int:
    """The lags that exist, and no fewer than make a well-posed fit; a kernel of finite support
    is seen whole.
    """
    return max(request.length, LEAST_WINDOW, kernel.support or 1)


def radius(found: EssentialMemory, request: Request) -> float:
    """The largest norm of an exact slot (errata 14)."""
    return found.inputs.bound * max(kernel_mass(kernel, request.length) for kernel in found.kernel)


def lag_zero(heads: KernelHeads) -> float:
    """rho(0) minus what the heads give at lag 0 (every lin and log1p curve is 1 there, log does
    not see it).
    """
    here = sum(heads.heads.coefficients, fmpq(0)) if heads.heads.family.first_lag == 0 else fmpq(0)
    return float(fmpq(*float(heads.kernel.values(1)[0]).as_integer_ratio()) - here)


def assemble(
    found: EssentialMemory, request: Request, memories: list[KernelHeads], readout: NetworkFit
) -> Draft:
    """The layer for given heads, with its claims."""
    bound, gaps = found.inputs.bound, [lag_zero(heads) for heads in memories]
    space = slot_space(len(memories), found.inputs.dim)
    attend = gather(
        space,
        [
            Gathering(heads, name)
            for heads, name in zip(memories, slot_names(len(memories)), strict=True)
        ],
        request,
    )
    slots = [
        Slot(
            functools.partial(convolved, kernel=heads.kernel),
            heads.bound(request.length, bound)
            + Bound(0.0, 8 * bound * (abs(gap) + abs(float(heads.kernel.values(1)[0])))),
            f"l1 error {heads.error:.3g} of {heads.kernel.kind}, {heads.heads.heads} heads",
            gap,
        )
        for heads, gap in zip(memories, gaps, strict=True)
    ]
    whole = math.hypot(bound, radius(found, request) * math.sqrt(len(memories)))
    model, claims, output = with_slots(space, attend, slots, readout, whole)
    facts = {
        "coefficient_sums": [float(np.abs(h.coefficients).sum()) for h in memories],
        "kernel_errors": [h.error for h in memories],
        "heads_by_memory": [h.heads.heads for h in memories],
        "lag_zero": gaps,
        "radius": radius(found, request),
        "readout": readout.method,
    }
    return Draft(
        model,
        claims,
        output,
        REF,
        notes(found, request, memories) + readout.notes,
        facts,
        request.normaliser == "softmax",
    )


def notes(found: EssentialMemory, request: Request, memories: list[KernelHeads]) -> tuple[str, ...]:
    told = []
    if request.normaliser == "softmax":
        told.append(
            f"plain softmax: exact for sequences of exactly {request.length} tokens, read at the"
            " last"
        )
    elif request.normaliser == "softmax-tail" or not all(every_length(heads) for heads in memories):
        told.append(f"holds for sequences up to {request.length} tokens")
    told += [
        f"{kernel.kind} kernel not summable: outside Theorem 5.1, served on {request.length} lags"
        for kernel in found.kernel
        if not kernel.summable
    ]
    return tuple(told)


def every_length(heads: KernelHeads) -> bool:
    """Is the kernel met exactly at every lag, whatever the length?"""
    if heads.error > 0 or not heads.kernel.summable:
        return False
    return measure(Problem(heads.kernel, heads.heads.family), heads.heads).l1 == 0
