"""Theorem 3.1: a fixed M-sparse memory by one layer without dot product.

Stream: `token` (x_t), `memory_1` … `memory_M`, each of the size of a token. The heads of memory k
draw the kernel 1{s = T_k} by a sum of their curves and add  sum_s k(s) x_{t-s}  to `memory_k`; the
readout network sees (token, memory_1, …, memory_M).

Why the error is what is promised: memory k is off by at most e_k ||x|| (e_k the l1 error of its
kernel), blocks are orthogonal, so the slots are off by E_Attn = sqrt(sum e_k^2) (errata 12) and the
answer by E_FFN + Lip E_Attn.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.allocate import split_heads
from headcount.construct.blocks.decaying_heads import DECAYING, KernelHeads, heads_for_tol
from headcount.construct.blocks.layers import layer, real_embedding
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.normalised import Gathering, gather, normaliser_refusals
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.blocks.slots import shifted, together
from headcount.construct.blocks.space import Space
from headcount.construct.draft import AbstractConstruction, Claim, Draft, Request, constructions
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Lag
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget
from headcount.model.transformer import Transformer

REF = Ref("wang-e-2024", "Theorem 3.1")


@constructions.register(
    "fixed",
    formula="memory_k = sum_h a_h sum_s phi(s; b_h) x_{t-s}, y = FFN(token, memories)",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Fixed(AbstractConstruction):
    """One layer, dot-product-free; lin, log or log1p bias."""

    ref = REF

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        if not isinstance(found, FixedMemory):
            return [f"{target.kind} is no fixed memory"]
        reasons = (
            []
            if request.bias in DECAYING
            else [f"bias {request.bias} is not one of {', '.join(DECAYING)}"]
        )
        return (
            reasons
            + normaliser_refusals(target, request)
            + readout_refusals(found.readout, len(found.lags) + 1, found.inputs)
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        fixed = unnamed(target)
        assert isinstance(fixed, FixedMemory)
        readout = readout_for(fixed.readout, len(fixed.lags) + 1, fixed.inputs, request)
        memories = self._heads(fixed, request, readout)
        return assemble(fixed, request, memories, readout)

    @staticmethod
    def _heads(fixed: FixedMemory, request: Request, readout: NetworkFit) -> list[KernelHeads]:
        kernels = [Lag(T) for T in fixed.lags]
        if request.tol is None:
            return split_heads(kernels, request)
        left = request.tol - readout.error
        each = (
            0.95
            * left
            / (max(readout.lipschitz, 1e-300) * fixed.inputs.bound * math.sqrt(len(kernels)))
        )
        return [heads_for_tol(kernel, request.bias, each, request.precision) for kernel in kernels]


def assemble(
    fixed: FixedMemory, request: Request, memories: list[KernelHeads], readout: NetworkFit
) -> Draft:
    """The layer for given heads, with its claims."""
    d, bound = fixed.inputs.dim, fixed.inputs.bound
    names = [f"memory_{k}" for k in range(1, len(memories) + 1)]
    space = Space(token=d, **dict.fromkeys(names, d))
    attend = gather(
        space,
        [Gathering(heads, name) for heads, name in zip(memories, names, strict=True)],
        request,
    )
    model = Transformer(
        real_embedding(space),
        (layer(attend, readout.ffn(space, ("token", *names)), reads_out=True),),
        None,
        None,
    )
    bounds = [heads.bound(request.length, bound) for heads in memories]
    claims = tuple(
        Claim(
            1,
            "attention",
            name,
            space.where(name),
            functools.partial(shifted, lag=T),
            b,
            f"l1 error {heads.error:.3g} of the kernel of lag {T}, {heads.heads.heads} heads",
        )
        for name, T, heads, b in zip(names, fixed.lags, memories, bounds, strict=True)
    )
    slots = together(bounds)
    radius = bound * math.sqrt(len(names) + 1)
    total = [float(np.abs(h.coefficients).sum()) for h in memories]
    facts = {
        "coefficient_sums": total,
        "kernel_errors": [h.error for h in memories],
        "heads_by_memory": [h.heads.heads for h in memories],
        "readout": readout.method,
    }
    return Draft(
        model,
        claims,
        readout.answer(slots, radius + slots.error),
        REF,
        notes(request) + readout.notes,
        facts,
        request.normaliser == "softmax",
    )


def notes(request: Request) -> tuple[str, ...]:
    if request.normaliser == "softmax":
        return (
            (
                f"plain softmax: exact for sequences of exactly {request.length} tokens, read at"
                " the last"
            ),
        )
    return (
        (f"softmax-tail: exact up to {request.length} tokens",)
        if request.normaliser == "softmax-tail"
        else ()
    )
