"""Sums of lin or log heads that a token's lag moves: by dot product (Theorem 4.1) or by TMX
(Proposition 4.3).

Head h of memory i has rate b and coefficient a (of the fixed problem at lag T), and writes  a w(s)
x_{t-s}  to `memory_i`:

|     | `lag_i`, `one`        | query, key (dot) or direction (TMX)                     | logit                   | gain         |
|-----|-----------------------|---------------------------------------------------------|-------------------------|--------------|
| dot | g, 1 (lin)            | sqrt(b) (lag - T one), sqrt(b) one                      | -b (s - g + T)          | a            |
| dot | log g, log 2 (log)    | sqrt(b) (lag - log T/log 2 one), sqrt(b)/log 2 one      | -b (log s - log g/T)    | a            |
| tmx | g (lin and log)       | w = lag                                                 | b (phi(s) - phi(g))     | a phi(T; b)  |

phi(s) = -s or -log s. The dot product's query takes T off at once: the paper's own form (without
it, gain a e^{-bT}) is the same function, but e^{bT} overflows. TMX has no such term; its rates are
kept below 60/T (60/log T) in float32. For TMX with log heads the stream holds g itself, rounded to
whole numbers: holding log g would give -log log g, and no value at g = 1 (errata 6).

softmax-sink (theory 2.5): with a sink of logit c and value 0, and gains times e^c, head h returns
its normalisation-free output divided by 1 + rho, rho = e^{-c} sum_s e^{z_s}. Since sum_s e^{z_s} <=
Z_h (times e^{bT} for TMX), c = log(Z_h/rho) costs at most rho sum_h |a_h| Z_h. Here rho is chosen
so that this is 2^-20 of the kernel's error (or 1e-12), and c is a whole number, so that z - c stays
exact in float32: the sink then costs no digits at all (1 + rho is 1 in float32), only c of the 87
nats that float32's range has.

Plain softmax cannot serve: the moved part of the logit is the same for every key, e^{b g - b
s}/sum_j e^{b g - b j} has no g in it (errata 17).
"""

import abc
import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.adaptive_heads import AdaptiveHeads, Limits
from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.retrieval import AbstractRetrieval
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Precision, Request
from headcount.model.attention import Attention
from headcount.model.biases import Lin, Log
from headcount.model.biases.base import AbstractBias
from headcount.model.normalisers import AbstractNormaliser, NoNormaliser, SoftmaxSink
from headcount.model.scores import TMX, AbstractScore, DotProduct

NORMALISERS = ("none", "softmax-sink")
CANCELLED = (
    "under plain softmax the lag cancels: what the token adds to the logits is the same for every"
    " key, and softmax divides it out (errata 17); use normaliser none or softmax-sink, or bias"
    " peak"
)
BIASES: dict[str, type[AbstractBias]] = {"lin": Lin, "log": Log}
ROOM = {
    Precision.FLOAT32: 60.0,
    Precision.FLOAT64: 480.0,
}  # nats that e^z may grow to where nothing is divided (NoNormaliser's cap is 62 and 496)
SINK_SHARE = 2.0**-20
LOG_SHARE = 1 / 16  # an exponent of 16 nats is off by 16 units


def moved_refusals(request: Request) -> list[str]:
    """Why this bias or normaliser cannot carry moved heads."""
    reasons = (
        [] if request.bias in BIASES else [f"bias {request.bias} is not one of {', '.join(BIASES)}"]
    )
    if request.normaliser == "softmax":
        return [*reasons, CANCELLED]
    return (
        reasons
        if request.normaliser in NORMALISERS
        else [*reasons, f"normaliser {request.normaliser} is not one of {', '.join(NORMALISERS)}"]
    )


def tmx_limits(T: int, request: Request) -> Limits:
    """TMX weighs the lag u = 0 by e^{bT} (T^b): it must not overflow, and log's exponents, which
    are not exact, cost digits.
    """
    if request.bias == "lin":
        return Limits(ROOM[request.precision] / T)
    return Limits(ROOM[request.precision] / math.log(T), LOG_SHARE) if T > 1 else Limits()


@dataclasses.dataclass(frozen=True)
class AbstractMoved(AbstractRetrieval):
    """Heads for every memory; a subclass says what moves them."""

    heads: tuple[AdaptiveHeads, ...]  # one a memory
    request: Request
    size: float  # of a token

    def attend(self, space: Space, memories: tuple[int, ...]) -> Attention:
        chosen = [self.heads[i - 1] for i in memories]
        gains = np.concatenate([self._gains(h) for h in chosen])
        names = [i for i, h in zip(memories, chosen, strict=True) for _ in range(h.heads)]
        written = [
            Head("token", f"memory_{i}", float(gain)) for i, gain in zip(names, gains, strict=True)
        ]
        bias = BIASES[self.request.bias](np.concatenate([h.rates for h in chosen]))  # type: ignore[call-arg]
        return attention(
            space, written, self._score(space, memories), bias, self._normaliser(chosen)
        )

    @abc.abstractmethod
    def _score(self, space: Space, memories: tuple[int, ...]) -> AbstractScore:
        """What moves the heads of these memories, head by head."""

    def _top(self, heads: AdaptiveHeads) -> np.ndarray:
        """The logit of lag u = 0 above that of the gain a: 0 where T was taken off.  [H]"""
        return np.zeros(heads.heads)

    def _gains(self, heads: AdaptiveHeads) -> np.ndarray:
        sink = 0.0 if self.request.normaliser == "none" else self._sink(heads)
        return heads.coefficients * np.exp(sink - self._top(heads))

    def _sink(self, heads: AdaptiveHeads) -> np.ndarray:
        """c = log(Z/rho), a whole number, above the top logit.  [H]"""
        masses = np.maximum(heads.masses(self.request.length), 1e-300)
        return np.ceil(self._top(heads) + np.log(masses) - math.log(self._rho(heads)))

    def _rho(self, heads: AdaptiveHeads) -> float:
        total = float(np.abs(heads.coefficients) @ heads.masses(self.request.length))
        return min(max(SINK_SHARE * heads.error, 1e-12) / max(total, 1e-300), 0.5)

    def _normaliser(self, chosen: list[AdaptiveHeads]) -> AbstractNormaliser:
        if self.request.normaliser == "none":
            return NoNormaliser()
        return SoftmaxSink(np.concatenate([self._sink(h) for h in chosen]))  # type: ignore[arg-type]

    def bound(self, memory: int) -> Bound:
        heads = self.heads[memory - 1]
        bound = heads.bound(self.request.length, self.size)
        if self.request.normaliser == "none":
            return bound
        terms = np.abs(heads.coefficients) * heads.masses(self.request.length) * self.size
        # exponents are c larger
        return bound + Bound(
            self._rho(heads) * float(terms.sum()), 8 * float(terms @ self._sink(heads))
        )

    def why(self, memory: int) -> str:
        heads = self.heads[memory - 1]
        return (
            f"l1 error {heads.error:.3g} for every lag up to {heads.T}, {heads.heads} {heads.bias}"
            f" heads with sum|a| {heads.weight:.3g}"
        )

    @property
    def facts(self) -> dict[str, object]:
        """Numbers worth showing."""
        told: dict[str, object] = {
            "coefficient_sums": [h.weight for h in self.heads],
            "kernel_errors": [h.error for h in self.heads],
            "heads_by_memory": [h.heads for h in self.heads],
        }
        if self.request.normaliser == "softmax-sink":
            told["sink_logits"] = [float(self._sink(h).max(initial=0.0)) for h in self.heads]
        return told


@dataclasses.dataclass(frozen=True)
class DotRetrieval(AbstractMoved):
    """Moved by a dot product of the lag with a constant."""

    @functools.cached_property
    def log(self) -> bool:  # type: ignore[override]
        return self.request.bias == "log"

    @functools.cached_property
    def one(self) -> float:  # type: ignore[override]
        # log 2 survives rounding on the log scale, 1 would become log 3
        return math.log(2) if self.log else 1.0

    def _score(self, space: Space, memories: tuple[int, ...]) -> AbstractScore:
        queries, keys = [], []
        for i in memories:
            heads = self.heads[i - 1]
            furthest = math.log(heads.T) / self.one if self.log else float(heads.T)
            query = space.vector(**{f"lag_{i}": 1.0, "one": -furthest})
            roots = np.sqrt(heads.rates)[:, None]
            queries.append(roots * query)
            keys.append(roots / self.one * space.vector(one=1.0))
        return DotProduct(np.concatenate(queries)[:, None, :], np.concatenate(keys)[:, None, :])  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class TmxRetrieval(AbstractMoved):
    """Moved by TMX: D numbers a head, and no constant in the stream."""

    log = False
    one = None

    def _score(self, space: Space, memories: tuple[int, ...]) -> AbstractScore:
        rows = [
            space.vector(**{f"lag_{i}": 1.0})
            for i in memories
            for _ in range(self.heads[i - 1].heads)
        ]
        return TMX(np.stack(rows))  # type: ignore[arg-type]

    def _top(self, heads: AdaptiveHeads) -> np.ndarray:
        return heads.shift
