"""A linear answer needs one slot: heads add up in it what the readout would add up later.

For f(z) = sum_k w_k u(z_k), u(x) = (1/sqrt d) sum_j x_j, the answer of a fixed or essential memory
is one convolution of the numbers u_t = u(x_t):

    y_t = w_0 u_t + sum_k w_k (rho_k * u)(t) = (kappa * u)(t),
    kappa = w_0 1{s=0} + sum_k w_k rho_k

(rho_k = 1{s=T_k} for fixed lags). Stream: `number` (u_t) and `answer`; D = 2 whatever d and M are.
Heads read `number` and write `answer`; the embedding puts the missing part of lag 0 there (x_t
comes free); the readout is the coordinate `answer`, without neurons. So

- fixed lags with decaying heads: one sum of heads draws kappa as a whole, beside x_t;
- fixed lags with peak or rotary heads: one head per lag, of gain w_k;
- fixed lags with tables: one head per sign of w, which stands on all its lags at once;
- kernels: the heads of each, times w_k.

The bound: |u_t| <= ||x_t|| <= size, so the l1 error of the heads for kappa times the size of a
token is the answer's error. No Lipschitz constant, no sqrt(M).
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.drawn_heads import (
    DECAYING,
    DrawnHeads,
    Gathering,
    facts_of,
    gather,
    offsets,
)
from headcount.construct.blocks.layers import layer, linear_readout
from headcount.construct.blocks.peak_table_rope import (
    LARGEST_LOGIT,
    kernel_heads,
    lag_error,
    lag_head,
    shape_bound,
)
from headcount.construct.blocks.shared_rates import shared_heads
from headcount.construct.blocks.slots import convolved, memory_count
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.one_head_per_lag import Sparse, normaliser_reasons
from headcount.construct.methods.sums_of_decays import (
    heads_within,
    length_notes,
    one_position_reasons,
    summable_notes,
    window_of,
)
from headcount.core.plural import counted
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import ArrayKernel, Lag
from headcount.memory.read import At, Last
from headcount.memory.readouts import Linear
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.transformer import Transformer

REF = Ref("headcount", "a linear answer in one slot: heads add up what the readout would")
SHARE = 0.97  # of the tolerance, for the heads
SHAPES = ("peak", "table", "rope")


@methods.register(
    "folded",
    formula="y_t = sum_h a_h sum_s phi(s; b_h) u_{t-s} + direct u_t, u = (1/sqrt d) sum_j x_j",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class LinearAnswers(AbstractMethod):
    """One layer, no dot product, no neurons, a stream of two numbers; for linear readouts."""

    ref = REF
    cost = 1
    drafted_first = True
    families = (FixedMemory, EssentialMemory)
    noun = "fixed or essential memory"
    biases = (*DECAYING, *SHAPES)
    normalisers = ("softmax", "softmax-bos", "softmax-tail", "softmax-sink", "none")
    bounded_tokens = True

    def further(self, target: Sparse, request: Request) -> list[Refusal]:
        reasons = []
        if not isinstance(target.readout, Linear):
            got = f"readout {target.readout.kind} needs neurons behind the heads"
            reasons.append(Refusal(RefusalKind.READOUT, got, expected="fixed, essential or shaped"))
        if request.heads is not None:
            reasons.append(
                Refusal(RefusalKind.HEADS, "a number of heads", expected="a tolerance (--tol)")
            )
        if request.bias in DECAYING:
            reasons += one_position_reasons(target, request)
            if request.normaliser == "softmax-sink":
                got = "softmax-sink leaves one lag per head alone, not a sum of decays"
                reasons.append(Refusal(RefusalKind.NORMALISER, got, expected="softmax-tail"))
        elif request.bias in SHAPES:
            reasons += _shape_reasons(target, request)
        return reasons

    def weights(self, target: Sparse, request: Request) -> Draft:
        size, w = target.inputs.bound, weights_of(target)
        heads = _heads(target, request, w)
        kernel = heads.kernel
        gap = heads.missing_at_zero() + (w[0] if isinstance(target, EssentialMemory) else 0.0)
        if request.bias in SHAPES:
            bound = shape_bound(heads, heads.error, request, size)
        else:
            bound = heads.bound(request.length, size)
        bound = bound + Bound(0.0, 8 * size * (abs(gap) + 1))
        space = Space(number=1, answer=1)
        along = np.full((1, target.inputs.dim), 1 / math.sqrt(target.inputs.dim))
        embedding = LinearEmbedding(
            np.concatenate([along, gap * along]),  # type: ignore[arg-type]
            np.zeros(2),  # type: ignore[arg-type]
            NoPosition(),
        )
        attend = gather(space, [Gathering(heads, "answer", "number")], request)
        readout = linear_readout(space, np.ones((1, 1)), ["answer"])
        model = Transformer(embedding, (layer(attend, readout, reads_out=True),), None, None)
        exact = functools.partial(_answers, kernel=kernel, along=along[0], direct=w[0])
        if isinstance(target, FixedMemory):
            exact = functools.partial(_answers, kernel=kernel, along=along[0], direct=0.0)
        why = f"l1 error {heads.error:.3g} of the answer's kernel, {counted(heads.count, 'head')}"
        promise = SlotPromise(1, "attention", "answer", space.where("answer"), exact, bound, why)
        return Draft(
            model,
            (promise,),
            bound,
            REF,
            _notes(target, request, heads),
            {**facts_of([heads]), "readout": "linear, no neurons"},
            first_promised(target, request),
        )


def weights_of(target: Sparse) -> np.ndarray:
    """w_0 (x_t), w_1, …, w_M.  [M+1]"""
    assert isinstance(target.readout, Linear)
    return target.readout.full(memory_count(target) + 1)


def first_promised(target: Sparse, request: Request) -> int:
    """The first position that is right. Plain softmax divides by what is there so far."""
    if request.normaliser != "softmax":
        return 1
    if isinstance(target, FixedMemory) and request.bias in SHAPES:
        alone = len(target.lags) == 1 and request.bias == "table"
        return 1 if alone else target.lags[-1] + 1
    return request.length


def _shape_reasons(target: Sparse, request: Request) -> list[Refusal]:
    reasons = normaliser_reasons(target, request)
    if request.bias == "table" and isinstance(target, FixedMemory) and len(target.lags) > 1:
        late = isinstance(target.read, Last) or (
            isinstance(target.read, At) and target.read.position > target.lags[-1]
        )
        if request.normaliser in ("softmax-sink", "softmax-bos") or (
            request.normaliser == "softmax" and not late
        ):
            got = f"{request.normaliser} divides by the lags that exist, and one head has several"
            reasons.append(Refusal(RefusalKind.NORMALISER, got, expected="softmax-tail"))
    return reasons


def _heads(target: Sparse, request: Request, w: np.ndarray) -> DrawnHeads:
    """All heads as one sum, for the answer's own kernel beside x_t."""
    assert request.tol is not None
    tol = SHARE * request.tol / target.inputs.bound
    if isinstance(target, FixedMemory):
        return _lag_heads(target, request, w, tol)
    share = tol / max(float(np.abs(w[1:]).sum()), 1e-300)
    decays = request.bias in DECAYING
    parts = [
        heads_within(kernel, request, share)
        if decays
        else kernel_heads(kernel, request, share, None)
        for kernel in target.kernel
    ]
    return _added(parts, w[1:], _Mixture(target.kernel, tuple(w[1:])), len(parts))


def _lag_heads(target: FixedMemory, request: Request, w: np.ndarray, tol: float) -> DrawnHeads:
    kernel = answer_kernel(target.lags, w)
    if request.bias in DECAYING:
        scale = 1.0 if len(target.lags) > 1 else abs(float(w[1])) or 1.0
        drawn = kernel if len(target.lags) > 1 else Lag(target.lags[0])
        window = window_of(kernel, request)
        (made,) = shared_heads((drawn,), request.bias, tol / scale, request.precision, window)
        sign = 1.0 if len(target.lags) > 1 else float(w[1])
        return dataclasses.replace(
            made, kernel=kernel, coefficients=made.coefficients * sign, error=made.error * scale
        )
    if request.bias == "table" and len(target.lags) > 1:
        return kernel_heads(kernel, request, tol, None)
    parts = [lag_head(T, request) for T in target.lags]
    leaks = [lag_error(part.error, request.normaliser) for part in parts]
    parts = [dataclasses.replace(p, error=e) for p, e in zip(parts, leaks, strict=True)]
    return _added(parts, w[1:], kernel, len(parts))


def answer_kernel(lags: tuple[int, ...], w: np.ndarray) -> ArrayKernel:
    """kappa of a fixed memory."""
    values = np.zeros(lags[-1] + 1)
    values[[0, *lags]] = w
    return ArrayKernel(tuple(values.tolist()))


def _added(parts: list[DrawnHeads], w: np.ndarray, kernel: object, count: int) -> DrawnHeads:
    """Sums of heads side by side, each times its weight."""
    return DrawnHeads(
        kernel,  # type: ignore[arg-type]
        tuple(curve for part in parts for curve in part.curves),
        np.concatenate([part.coefficients * wk for part, wk in zip(parts, w, strict=True)]),
        float(sum(abs(wk) * part.error for part, wk in zip(parts, w, strict=True))),
        parts[0].method if count == 1 else f"{count} sums side by side",
    )


@dataclasses.dataclass(frozen=True)
class _Mixture:
    """sum_k w_k rho_k, as far as a sum of heads asks: its values."""

    kernels: tuple
    weights: tuple[float, ...]

    kind = "mixture"

    def values(self, length: int) -> np.ndarray:
        """[S]"""
        return sum(
            (w * k.values(length) for k, w in zip(self.kernels, self.weights, strict=True)),
            np.zeros(length),
        )


def _answers(x: np.ndarray, kernel: object, along: np.ndarray, direct: float) -> np.ndarray:
    """kappa * u from the definition.  [N, d] → [N, 1]"""
    u = np.asarray(x, np.float64) @ along[:, None]
    if isinstance(kernel, _Mixture):
        parts = zip(kernel.kernels, kernel.weights, strict=True)
        return direct * u + sum(w * convolved(u, k) for k, w in parts)
    return direct * u + convolved(u, kernel)  # type: ignore[arg-type]


def _notes(target: Sparse, request: Request, heads: DrawnHeads) -> tuple[str, ...]:
    told: tuple[str, ...] = ()
    first = first_promised(target, request)
    if first > 1:
        if isinstance(target, FixedMemory) and request.bias in SHAPES:
            told = (f"plain softmax: exact from position {first} on, not before",)
        else:
            told = length_notes(request, [])
    else:
        told = (f"holds for sequences up to {request.length} tokens",)
    if isinstance(target, EssentialMemory):
        told = (*told, *summable_notes(target, request))
    if request.bias == "rope" and float(np.abs(offsets(heads.curves)).max()) > LARGEST_LOGIT:
        told = (*told, "rotary logits above the exponential of float32: softmax is needed")
    return told
