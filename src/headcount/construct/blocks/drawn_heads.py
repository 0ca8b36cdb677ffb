"""Heads that draw a kernel: one record for all of them, and how a layer holds them.

A head's curve over lags is a decay (lin, log, log1p) or a shape (peak, table, rope); the sum of
curves times coefficients is the kernel. Whatever found the numbers, `error` belongs to the doubles
that are written. A layer divides or not, the kernel is the same:

| normaliser   | gain of head h      | exact at                                                 |
|--------------|---------------------|----------------------------------------------------------|
| none         | a_h                 | every position                                           |
| softmax-bos  | a_h/(1 - e^{-b_h})  | every position: lin, where the sink goes on with the sum |
|              | a_h                 | every position: shapes                                   |
| softmax-sink | a_h (shapes alone)  | every position, but for what the sink takes              |
| softmax-tail | a_h Z_h(horizon)    | every position up to the horizon                         |
| softmax      | a_h Z_h(N)          | the last position of sequences of length N alone         |
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Request
from headcount.core.errors import require
from headcount.memory.kernels import AbstractKernel
from headcount.model.attention import Attention
from headcount.model.biases import Lin, Log, Log1p
from headcount.model.biases import Peak as PeakBias
from headcount.model.biases import Rope as RopeBias
from headcount.model.biases import Table as TableBias
from headcount.model.biases.base import AbstractBias
from headcount.model.normalisers import (
    AbstractNormaliser,
    NoNormaliser,
    Softmax,
    SoftmaxBos,
    SoftmaxSink,
    SoftmaxTail,
)
from headcount.model.scores import DotFree
from headcount.theory.heads import family
from headcount.theory.shaped_curves import AbstractShape, Peak, Rotary, Table

DECAYS: dict[str, Any] = {"lin": Lin, "log": Log, "log1p": Log1p}
DECAYING = tuple(DECAYS)
ROUNDING_OPERATIONS = 32  # exponentials, products and sums per term, generously
SLOWEST = 1e-12  # under softmax-bos a head that never decays has no finite sum
DARK = -100.0  # sink logit that leaves a table head alone: e^-100 beside 1


@dataclasses.dataclass(frozen=True)
class Decay:
    """e^{-b s}, s^{-b} or (1+s)^{-b}."""

    bias: str
    rate: float

    def values(self, length: int) -> np.ndarray:
        """The curve in float64.  [S]"""
        lags = np.arange(length, dtype=np.float64)
        return family(self.bias).columns(np.array([self.rate]), lags)[:, 0]


@dataclasses.dataclass(frozen=True, eq=False)
class DrawnHeads:
    """Curves and coefficients (doubles) that draw `kernel` with an l1 error of at most `error` over
    the lags that count.
    """

    kernel: AbstractKernel
    curves: tuple[Decay | AbstractShape, ...]
    coefficients: np.ndarray  # [H]
    error: float
    method: str

    @property
    def count(self) -> int:
        return len(self.curves)

    @property
    def rates(self) -> np.ndarray:
        """Of decays.  [H]"""
        return np.array([curve.rate for curve in self.curves if isinstance(curve, Decay)])

    @property
    def weight(self) -> float:
        """sum|a|."""
        return float(np.abs(self.coefficients).sum())

    def masses(self, length: int) -> np.ndarray:
        """Z_h: the sum of each curve over the lags below `length`.  [H]"""
        return np.array([curve.values(length).sum() for curve in self.curves])

    def missing_at_zero(self) -> float:
        """The kernel at lag 0 minus what the heads give x_t there, added up without rounding."""
        drawn = [
            -a * float(curve.values(1)[0])
            for a, curve in zip(self.coefficients.tolist(), self.curves, strict=True)
        ]
        return math.fsum([float(self.kernel.values(1)[0]), *drawn])

    def bound(
        self, length: int, size: float, beside: float = 0.0, operations: int = ROUNDING_OPERATIONS
    ) -> Bound:
        """For tokens of norm up to `size` in sequences up to `length`.

        Rounding: a sum of N terms a_h phi_h(s) x is off by at most about (N + operations per term)
        units times the sum of their sizes, and sum_s phi_h(s) <= Z_h; `beside` are the units that
        inexact logits add.
        """
        terms = float(np.abs(self.coefficients) @ self.masses(length))
        units = (length + self.count + operations) * terms + beside
        return Bound(self.error * size, units * size)


def facts_of(memories: Sequence[DrawnHeads]) -> dict[str, Any]:
    """Numbers worth showing."""
    return {
        "coefficient_sums": [m.weight for m in memories],
        "kernel_errors": [m.error for m in memories],
        "heads_by_memory": [m.count for m in memories],
    }


def fewest(
    attempt: Callable[[int], DrawnHeads],
    tol: float,
    first: int,
    most: int,
    hopeless: Callable[[int], None] = lambda count: None,
    likely: int | None = None,
) -> DrawnHeads:
    """The fewest heads found within `tol`, from `first` on: the surplus doubles until it suffices,
    then it is bisected. Beyond `most` the last attempt is returned, which is not within `tol`.
    `hopeless(surplus)` may raise after a failure. Where some number is `likely` the search goes
    down from there, one by one.
    """
    low, high = first - 1, first
    if likely is not None and first < likely <= most:
        made, high = attempt(likely), likely
        if made.error <= tol:
            while high > first and (fewer := attempt(high - 1)).error <= tol:
                made, high = fewer, high - 1
            return made
        low, high = likely, min(likely + 1, most)
    while (made := attempt(high)).error > tol:
        hopeless(high - first)
        if high >= most:
            return made
        low, high = high, min(first + max(2 * (high - first), 1), most)
    while high - low > 1:
        middle = (low + high) // 2
        fewer = attempt(middle)
        low, high, made = (low, middle, fewer) if fewer.error <= tol else (middle, high, made)
    return made


@dataclasses.dataclass(frozen=True)
class Gathering:
    """One memory: these heads gather `reads` into `writes`."""

    heads: DrawnHeads
    writes: str
    reads: str = "token"


def gather(space: Space, memories: Sequence[Gathering], request: Request) -> Attention:
    """All memories' heads as one sublayer without dot product."""
    gains, normaliser = divided([m.heads for m in memories], request)
    named = [(m.reads, m.writes) for m in memories for _ in m.heads.curves]
    heads = [
        Head(reads, writes, float(gain)) for (reads, writes), gain in zip(named, gains, strict=True)
    ]
    curves = [curve for m in memories for curve in m.heads.curves]
    return attention(space, heads, DotFree(), bias_of(curves, request), normaliser)


def divided(
    memories: Sequence[DrawnHeads], request: Request
) -> tuple[np.ndarray, AbstractNormaliser]:
    """Gains that undo the denominator, and the normaliser (table of the module docstring)."""
    a = np.concatenate([m.coefficients for m in memories])
    curves, name = [curve for m in memories for curve in m.curves], request.normaliser
    if name == "none":
        return a * np.exp(-offsets(curves)), NoNormaliser()
    if name == "softmax-sink":
        sinks = [sink_logit(m.error) for m in memories for _ in m.curves]
        return a, SoftmaxSink(offsets(curves) + np.array(sinks))
    if name == "softmax-bos":
        rates = np.maximum([c.rate for c in curves if isinstance(c, Decay)], SLOWEST)
        if not len(rates):
            return a, SoftmaxBos(np.zeros(len(curves)))  # type: ignore[arg-type]
        return a / -np.expm1(-rates), SoftmaxBos(sum_goes_on(rates))  # type: ignore[arg-type]
    masses = np.concatenate([m.masses(request.length) for m in memories])
    return a * masses, SoftmaxTail(request.length) if name == "softmax-tail" else Softmax()


def sum_goes_on(rates: np.ndarray) -> np.ndarray:
    """-log(1 - e^{-b}): with this sink softmax divides a lin head by 1/(1-e^{-b}) at every
    position (docs/numerics.md#sink).  [H]
    """
    return np.array([-math.log(-math.expm1(-b)) for b in rates])


def sink_logit(leak: float) -> float:
    """log eps, eps = sqrt(leak): half of the leak's logarithm, so that the sink loses to the lag
    and beats all the rest.
    """
    return 0.5 * math.log(leak) if leak > 0 else DARK


def offsets(curves: Sequence[Decay | AbstractShape]) -> np.ndarray:
    """The logit of a curve's value 1: 0, and sum_j r_j for a rotary head.  [H]"""
    return np.array([curve.offset if isinstance(curve, Rotary) else 0.0 for curve in curves])


def bias_of(curves: Sequence[Decay | AbstractShape], request: Request) -> AbstractBias:
    """The model's bias with these curves."""
    require(
        curves,
        "no curve is left: the best sum of so few heads is 0",
        "heads that help",
        "allow more heads, or use --bias peak, table or rope",
    )
    decays = np.array([curve.rate for curve in curves if isinstance(curve, Decay)])
    if len(decays):
        slowest = SLOWEST if request.normaliser == "softmax-bos" else 0.0
        return DECAYS[request.bias](np.maximum(decays, slowest))
    peaks = [curve for curve in curves if isinstance(curve, Peak)]
    if peaks:
        return PeakBias(np.array([s.sharpness for s in peaks]), np.array([s.centre for s in peaks]))  # type: ignore[arg-type]
    tables = [curve.logits for curve in curves if isinstance(curve, Table)]
    if tables:
        longest = max(len(logits) for logits in tables)
        padded = [logits + (-math.inf,) * (longest - len(logits)) for logits in tables]
        return TableBias(np.array(padded))  # type: ignore[arg-type]
    turned = [curve for curve in curves if isinstance(curve, Rotary)]
    roots = np.sqrt(np.array([s.amplitudes for s in turned]))  # [H, J]
    phases = np.array([s.phases for s in turned])  # [H, J]
    # q = (sqrt r, 0), k = sqrt r (cos f, -sin f): r cos(theta s + f)
    query = np.concatenate([roots, np.zeros_like(roots)], axis=1)
    key = np.concatenate([roots * np.cos(phases), -roots * np.sin(phases)], axis=1)
    return RopeBias(query, key, turned[0].base)  # type: ignore[arg-type]
