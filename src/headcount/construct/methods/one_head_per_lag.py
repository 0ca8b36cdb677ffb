"""Heads that are not decays: a peak, a table or a rotary head reaches one lag alone, at any
distance, without cancellation.

A linear sum of lin, log or log1p heads pays for lag T with heads and weights that grow with T
(Theorems A and B); here one head per lag has weight 1. Let phi be the head's curve, phi(T) = 1, and
leak = sum_{s != T} phi(s) over the lags that exist:

    peak    e^{-p (s-T)^2}            leak <= 2 e^{-p} / (1 - e^{-3p}), since j^2 >= 1 + 3(j-1)
    table   logit 0 at T, else -inf   leak = 0
    rope    exp(sum_j r_j cos(theta_j (s-T)) - sum_j r_j)
                                      leak as certified by the fit, on the window

p = 128 makes e^{-p} vanish beside 1 in every format. A lag that does not exist yet (position
t <= T) must read zero:

| normaliser   | error          | before the lag exists                                            |
|--------------|----------------|------------------------------------------------------------------|
| none         | leak           | nothing of weight above leak is there                            |
| softmax-tail | leak           | as above (the gain is Z, the same at all positions)              |
| softmax-sink | 2 leak + eps   | the sink takes all but leak/eps = eps (eps = e^{sink})           |
| softmax-bos  | 3 leak         | peak: the sink sits at lag t, closer to T than every token       |
| softmax      | 3 leak         | WRONG for peak and rope: the nearest token is read with weight 1 |

with eps = sqrt(leak). Under plain softmax a table head sees nothing before its lag exists and its
row is 0, so that it is exact everywhere; peak and rope are exact from position T + 1 on, so that
the target must be read there. Every other kernel (essential memory) is the sum of heads that
`theory.fit.shaped_fit` finds: tables are exact on the window of `length` lags, one head per sign.
"""

import dataclasses
import functools
import math

from headcount.construct.blocks.drawn_heads import DrawnHeads, Gathering, facts_of, gather, offsets
from headcount.construct.blocks.peak_table_rope import (
    LARGEST_LOGIT,
    kernel_heads,
    lag_error,
    lag_head,
    shape_bound,
)
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.slots import (
    Ending,
    Slot,
    convolved,
    memory_count,
    one_layer,
    share_of_tolerance,
    shifted,
    slot_names,
    slot_space,
)
from headcount.construct.draft import Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.sums_of_decays import filtered_radius
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.read import At, Last

REF = Ref("headcount", "shaped heads: one head per lag")
Sparse = FixedMemory | EssentialMemory


@methods.register(
    "shaped", formula="memory_k = x_{t-T_k} by one peak, table or rotary head", ref=REF
)
@dataclasses.dataclass(frozen=True)
class OneHeadPerLag(AbstractMethod):
    """One layer, dot-product-free; peak, table or rope bias; fixed and essential memories."""

    ref = REF
    families = (FixedMemory, EssentialMemory)
    noun = "fixed or essential memory"
    biases = ("peak", "table", "rope")
    normalisers = ("none", "softmax-tail", "softmax-sink", "softmax-bos", "softmax")
    reads_slots = True

    def further(self, target: Sparse, request: Request) -> list[Refusal]:
        reasons = []
        if request.bias in self.biases and request.normaliser in self.normalisers:
            reasons = normaliser_reasons(target, request)
        if request.heads is not None and request.heads < memory_count(target):
            got = f"{request.heads} heads for {memory_count(target)} memories"
            reasons.append(Refusal(RefusalKind.HEADS, got, "every memory has a head of its own"))
        return reasons

    def slot_radius(self, target: Sparse, request: Request) -> float | None:
        return None if isinstance(target, FixedMemory) else filtered_radius(target, request)

    def weights(self, target: Sparse, request: Request) -> Draft:
        reach, M, size = (
            self.slot_radius(target, request),
            memory_count(target),
            target.inputs.bound,
        )
        readout = readout_for(target.readout, M + 1, target.inputs, request, reach)
        if isinstance(target, FixedMemory):
            memories = [lag_head(T, request) for T in target.lags]
            errors = [lag_error(memory.error, request.normaliser) for memory in memories]
            exacts = [functools.partial(shifted, lag=T) for T in target.lags]
            direct = [0.0] * M
        else:
            given = request.tol is None
            each = None if given else share_of_tolerance(request, readout, size, M)
            heads = None if request.heads is None else request.heads // M
            memories = [kernel_heads(kernel, request, each, heads) for kernel in target.kernel]
            errors = [memory.error for memory in memories]
            exacts = [functools.partial(convolved, kernel=kernel) for kernel in target.kernel]
            direct = [memory.missing_at_zero() for memory in memories]
        slots = [
            Slot(exact, shape_bound(m, e, request, size), f"{m.method}, l1 error {e:.3g}", gap)
            for exact, m, e, gap in zip(exacts, memories, errors, direct, strict=True)
        ]
        whole = size * math.sqrt(M + 1) if reach is None else math.hypot(size, reach * math.sqrt(M))
        facts = {**facts_of(memories), "kernel_errors": errors}
        told = notes(target, request, memories)
        ending = Ending(REF, told, facts, first_right(target, request))
        space = slot_space(M, target.inputs.dim)
        gathered = [Gathering(m, name) for m, name in zip(memories, slot_names(M), strict=True)]
        return one_layer(space, gather(space, gathered, request), slots, readout, whole, ending)


def first_right(target: Sparse, request: Request) -> int:
    """The first position at which the model is right: a late one under plain softmax."""
    if request.normaliser != "softmax":
        return 1
    if isinstance(target, FixedMemory):
        return 1 if request.bias == "table" else target.lags[-1] + 1
    return request.length


def normaliser_reasons(target: Sparse, request: Request) -> list[Refusal]:
    """Why this normaliser cannot carry these heads."""
    name = request.normaliser

    def refusal(got: str, use: str) -> list[Refusal]:
        return [Refusal(RefusalKind.NORMALISER, got, expected=use)]

    if isinstance(target, EssentialMemory):
        if name in ("softmax-sink", "softmax-bos"):
            return refusal(f"{name} leaves one lag per head alone, not a kernel", "softmax-tail")
        if name == "softmax" and not isinstance(target.read, Last):
            got = "plain softmax divides by a sum that grows with the position"
            return refusal(got, "read=last or softmax-tail")
        return []
    if name == "softmax-bos" and request.bias == "rope":
        got = "softmax-bos follows the bias, and a rotary one says nothing of lags before the first"
        return refusal(f"{got} token", "softmax-sink")
    late = isinstance(target.read, Last) or (
        isinstance(target.read, At) and target.read.position > target.lags[-1]
    )
    if first_right(target, request) > 1 and not late:
        got = (
            f"plain softmax reads the nearest token while lag {target.lags[-1]} does not exist yet"
        )
        return refusal(got, "softmax-sink or softmax-bos")
    if name == "none" and request.bias == "rope":
        total = max(offsets(lag_head(T, request).curves)[0] for T in target.lags)
        if total > LARGEST_LOGIT:
            got = f"a rotary logit of {total:.0f} has no float32 exponential (at most"
            return refusal(f"{got} {LARGEST_LOGIT:.0f})", "softmax-sink or softmax-tail")
    return []


def notes(target: Sparse, request: Request, memories: list[DrawnHeads]) -> tuple[str, ...]:
    told, fixed = [], isinstance(target, FixedMemory)
    first = first_right(target, request)
    if first > 1:
        if fixed:
            told.append(f"plain softmax: exact from position {first} on, not before")
        else:
            told.append(f"plain softmax: exact at position {first} alone")
    if request.normaliser == "softmax-tail" or not fixed or request.bias == "rope":
        told.append(f"holds for sequences up to {request.length} tokens")
    used = sum(memory.count for memory in memories)
    if request.heads is not None and used < request.heads:
        told.append(f"{used} of {request.heads} heads suffice")
    return tuple(told)
