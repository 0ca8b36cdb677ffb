"""Heads that are not decays: a peak, a table or a rotary head reaches one lag alone, at any
distance, without cancellation.

Where lin, log and log1p heads need T + 1 heads and weights of 5.8^T for lag T (Theorems A and B),
here one head a lag has weight 1. Let phi be the head's curve, phi(T) = 1, and  leak = sum_{s != T}
phi(s)  over the lags that exist:

    peak    phi = e^{-p (s-T)^2}                        leak <= 2 e^{-p} / (1 - e^{-3p}),  since j^2
      >= 1 + 3(j-1)
    table   0 at T, -inf elsewhere                      leak = 0
    rope    exp(sum_j r_j cos(theta_j (s-T)) - sum_j r_j)   leak as certified by the fit, on the
      window

p = 128 makes e^{-p} vanish beside 1 in every format. A lag that does not exist yet (position t <=
T) must read zero:

| normaliser   | error                                           | before the lag exists                                         |
|--------------|-------------------------------------------------|---------------------------------------------------------------|
| none         | leak                                            | nothing of weight above leak is there                         |
| softmax-tail | leak (the gain is Z, the same at all positions) | as above                                                      |
| softmax-sink | 2 leak + eps, eps = e^{sink} = sqrt(leak)       | the sink takes all but leak/eps = sqrt(leak)                  |
| softmax-bos  | 3 leak                                          | peak: the sink sits at lag t, closer to T than every token    |
| softmax      | 3 leak                                          | WRONG for peak and rope: the nearest token is read with weight 1 |

Under plain softmax a table head sees nothing before its lag exists and its row is 0, so that it is
exact everywhere; peak and rope are exact from position T + 1 on, so that the target must be read
there. Every other kernel (essential memory) is the sum of heads that `theory.shaped` finds: tables
are exact on the window of `length` lags, one head a sign.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.peak_table_rope import (
    LARGEST_LOGIT,
    ShapedHeads,
    gather,
    kernel_heads,
    lag_error,
    lag_heads,
    offsets,
)
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.blocks.slots import (
    Slot,
    convolved,
    kernel_mass,
    shifted,
    slot_space,
    with_slots,
)
from headcount.construct.draft import AbstractConstruction, Bound, Draft, Request, constructions
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.named import unnamed
from headcount.memory.read import At, Last
from headcount.memory.target import AbstractTarget

REF = Ref("headcount", "shaped heads: one head a lag")
SHAPED = ("peak", "table", "rope")
NORMALISERS = ("none", "softmax-tail", "softmax-sink", "softmax-bos", "softmax")


@constructions.register(
    "shaped", formula="memory_k = x_{t-T_k} by one peak, table or rotary head", ref=REF
)
@dataclasses.dataclass(frozen=True)
class Shaped(AbstractConstruction):
    """One layer, dot-product-free; peak, table or rope bias; fixed and essential memories."""

    ref = REF

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        if not isinstance(found, (FixedMemory, EssentialMemory)):
            return [f"{target.kind} is no fixed or essential memory"]
        reasons = (
            []
            if request.bias in SHAPED
            else [f"bias {request.bias} is not one of {', '.join(SHAPED)}"]
        )
        if not reasons:
            reasons = normaliser_reasons(target, request)
        if request.heads is not None and request.heads < count(found):
            reasons.append(
                f"{request.heads} heads for {count(found)} memories: one a memory is the least"
            )
        return reasons + readout_refusals(
            found.readout, count(found) + 1, found.inputs, slot_radius(found, request)
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        found = unnamed(target)
        assert isinstance(found, (FixedMemory, EssentialMemory))
        radius = slot_radius(found, request)
        readout = readout_for(found.readout, count(found) + 1, found.inputs, request, radius)
        bound = found.inputs.bound
        if isinstance(found, FixedMemory):
            memories = [lag_heads(T, request) for T in found.lags]
            errors = [lag_error(memory.error, request.normaliser) for memory in memories]
            exacts = [functools.partial(shifted, lag=T) for T in found.lags]
            direct = [0.0] * len(memories)
        else:
            each = (
                None
                if request.tol is None
                else 0.95
                * (request.tol - readout.error)
                / (readout.lipschitz * bound * math.sqrt(count(found)) + 1e-300)
            )
            heads = None if request.heads is None else request.heads // count(found)
            memories = [kernel_heads(kernel, request, each, heads) for kernel in found.kernel]
            errors = [memory.error for memory in memories]
            exacts = [functools.partial(convolved, kernel=kernel) for kernel in found.kernel]
            direct = [
                float(kernel.values(1)[0]) - memory.at_zero()
                for kernel, memory in zip(found.kernel, memories, strict=True)
            ]
        bounds = [
            Bound(e * bound, m.rounding(request.length, request.precision.unit) * bound)
            for e, m in zip(errors, memories, strict=True)
        ]
        slots = [
            Slot(exact, b, f"{m.method}, l1 error {e:.3g}", gap)
            for exact, b, m, e, gap in zip(exacts, bounds, memories, errors, direct, strict=True)
        ]
        space = slot_space(len(memories), found.inputs.dim)
        whole = (
            bound * math.sqrt(count(found) + 1)
            if radius is None
            else math.hypot(bound, radius * math.sqrt(count(found)))
        )
        model, claims, output = with_slots(
            space, gather(space, memories, request), slots, readout, whole
        )
        facts = {
            "coefficient_sums": [float(np.abs(m.coefficients).sum()) for m in memories],
            "kernel_errors": errors,
            "heads_by_memory": [len(m.shapes) for m in memories],
            "readout": readout.method,
        }
        return Draft(
            model,
            claims,
            output,
            REF,
            notes(found, request, memories) + readout.notes,
            facts,
            partly(found, request),
        )


def count(found: FixedMemory | EssentialMemory) -> int:
    """M."""
    return len(found.lags) if isinstance(found, FixedMemory) else len(found.kernel)


def slot_radius(found: FixedMemory | EssentialMemory, request: Request) -> float | None:
    """The norm that a filtered slot can reach (errata 14); None where slots are tokens."""
    if isinstance(found, FixedMemory):
        return None
    return found.inputs.bound * max(kernel_mass(kernel, request.length) for kernel in found.kernel)


def partly(found: FixedMemory | EssentialMemory, request: Request) -> bool:
    """Is the model right at late positions only (plain softmax)?"""
    return request.normaliser == "softmax" and not (
        isinstance(found, FixedMemory) and request.bias == "table"
    )


def normaliser_reasons(target: AbstractTarget, request: Request) -> list[str]:
    """Why this normaliser cannot carry these heads."""
    found, name = unnamed(target), request.normaliser
    if name not in NORMALISERS:
        return [f"normaliser {name} is not one of {', '.join(NORMALISERS)}"]
    if isinstance(found, EssentialMemory):
        if name in ("softmax-sink", "softmax-bos"):
            return [f"{name} leaves one lag a head alone, not a kernel; use none or softmax-tail"]
        if name == "softmax" and not isinstance(target.read, Last):
            return [
                "plain softmax divides by a sum that grows with the position; read the last one, or"
                " use softmax-tail"
            ]
        return []
    assert isinstance(found, FixedMemory)
    if name == "softmax-bos" and request.bias == "rope":
        return [
            "softmax-bos follows the bias, and a rotary one says nothing of lags before the first"
            " token; use softmax-sink"
        ]
    late = isinstance(target.read, Last) or (
        isinstance(target.read, At) and target.read.position > found.lags[-1]
    )
    if partly(found, request) and not late:
        return [
            f"plain softmax reads the nearest token while lag {found.lags[-1]} does not exist yet;"
            " use softmax-sink or softmax-bos"
        ]
    if name == "none" and request.bias == "rope":
        total = max(offsets([lag_heads(T, request).shapes[0]])[0] for T in found.lags)
        if total > LARGEST_LOGIT:
            return [
                f"a rotary logit of {total:.0f} has no float32 exponential (at most"
                f" {LARGEST_LOGIT:.0f}); use softmax-sink or softmax-tail"
            ]
    return []


def notes(
    found: FixedMemory | EssentialMemory, request: Request, memories: list[ShapedHeads]
) -> tuple[str, ...]:
    told = []
    if partly(found, request):
        last = found.lags[-1] + 1 if isinstance(found, FixedMemory) else request.length
        told.append(
            f"plain softmax: exact from position {last} on, not before"
            if isinstance(found, FixedMemory)
            else f"plain softmax: exact at position {last} alone"
        )
    if (
        request.normaliser == "softmax-tail"
        or isinstance(found, EssentialMemory)
        or request.bias == "rope"
    ):
        told.append(f"holds for sequences up to {request.length} tokens")
    used = sum(len(m.shapes) for m in memories)
    if request.heads is not None and used < request.heads:
        told.append(f"{used} of {request.heads} heads suffice")
    return tuple(told)
