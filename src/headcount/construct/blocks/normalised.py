"""Dot-product-free heads under each normaliser: the same kernel, whether attention divides or not
(theory 2.4, 2.5).

| normaliser     | gain of head h         | exact at                                         |
|----------------|------------------------|--------------------------------------------------|
| none           | a_h                    | every position                                   |
| softmax-bos    | a_h / (1 - e^{-b_h})   | every position (lin: the sink continues the sum) |
| softmax-tail   | a_h Z_h(horizon)       | every position up to the horizon (any bias)      |
| softmax        | a_h Z_h(N)             | the last position of sequences of length N alone |
"""

import dataclasses
from typing import Any

import numpy as np

from headcount.construct.blocks.decaying_heads import KernelHeads, head_masses, sink_logits
from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Request
from headcount.memory.read import Last
from headcount.memory.target import AbstractTarget
from headcount.model.attention import Attention
from headcount.model.biases import Lin, Log, Log1p
from headcount.model.normalisers import (
    AbstractNormaliser,
    NoNormaliser,
    Softmax,
    SoftmaxBos,
    SoftmaxTail,
)
from headcount.model.scores import DotFree

BIASES: dict[str, Any] = {"lin": Lin, "log": Log, "log1p": Log1p}
NORMALISERS = ("none", "softmax-bos", "softmax-tail", "softmax")


@dataclasses.dataclass(frozen=True)
class Gathering:
    """One memory: these heads gather `reads` (times `gain`) into `writes`."""

    heads: KernelHeads
    writes: str
    reads: str = "token"


def normaliser_refusals(target: AbstractTarget, request: Request) -> list[str]:
    """Why this normaliser cannot carry fixed kernels."""
    name = request.normaliser
    if name not in NORMALISERS:
        return [f"normaliser {name} is not one of {', '.join(NORMALISERS)}"]
    reasons = []
    if name == "softmax-bos" and request.bias != "lin":
        reasons.append(
            "softmax-bos repairs lin heads alone (a geometric sum goes on before the first token);"
            " use softmax-tail"
        )
    if name == "softmax" and not isinstance(target.read, Last):
        reasons.append(
            "plain softmax divides by a sum that grows with the position: one position alone can be"
            " exact; read the last, or use softmax-tail"
        )
    return reasons


def gather(space: Space, memories: list[Gathering], request: Request) -> Attention:
    """All memories' heads as one sublayer."""
    rates = np.concatenate([m.heads.rates for m in memories])
    coefficients = np.concatenate([m.heads.coefficients for m in memories])
    if request.normaliser == "softmax-bos":
        rates = np.maximum(rates, 1e-12)  # a head that never decays has no finite sum
    gains, normaliser = _divided(request, rates, coefficients)
    named = [(m.reads, m.writes) for m in memories for _ in range(m.heads.heads.heads)]
    heads = [
        Head(reads, writes, float(gain)) for (reads, writes), gain in zip(named, gains, strict=True)
    ]
    return attention(space, heads, DotFree(), BIASES[request.bias](rates), normaliser)


def _divided(
    request: Request, rates: np.ndarray, coefficients: np.ndarray
) -> tuple[np.ndarray, AbstractNormaliser]:
    """Gains that undo the denominator, and the normaliser."""
    if request.normaliser == "none":
        return coefficients, NoNormaliser()
    if request.normaliser == "softmax-bos":
        return coefficients / -np.expm1(-rates), SoftmaxBos(sink_logits(rates))  # type: ignore[arg-type]
    gains = coefficients * head_masses(request.bias, rates, request.length)
    return gains, SoftmaxTail(request.length) if request.normaliser == "softmax-tail" else Softmax()
