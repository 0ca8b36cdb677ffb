"""Sums of lin or log heads that a token's lag moves: by dot product (Theorem 4.1) or by TMX
(Proposition 4.3), for every lag up to T at once (Lemmas F.2 and F.5).

Head h of memory i has rate b and coefficient a (of the fixed problem at lag T), and writes
a w(s) x_{t-s} to `memory_i`:

    dot product, lin   lag_i = g, one = 1
                       query  sqrt(b) (lag - T one),  key  sqrt(b) one
                       logit  -b (s - g + T),         gain a
    dot product, log   lag_i = log g, one = log 2
                       query  sqrt(b) (lag - log T/log 2 one),  key  sqrt(b)/log 2 one
                       logit  -b (log s - log g/T),             gain a
    TMX, lin and log   lag_i = g, direction w = lag
                       logit  b (phi(s) - phi(g)),  gain a phi(T; b)

phi(s) = -s or -log s. The dot product's query takes T off at once: the paper's own form (without
it, gain a e^{-bT}) is the same function, but e^{bT} overflows. TMX has no such term; its rates are
kept below 60/T (60/log T) in float32. For TMX with log heads the stream holds g itself, rounded to
whole numbers: holding log g would give -log log g, and no value at g = 1 (docs/errata.md#e6).

softmax-sink (docs/theory.md#sink): with a sink of logit c and value 0, and gains times e^c, head h
returns its normalisation-free output divided by 1 + rho, rho = e^{-c} sum_s e^{z_s}. Since
sum_s e^{z_s} <= Z_h (times e^{bT} for TMX), c = log(Z_h/rho) costs at most rho sum_h |a_h| Z_h.
Here rho is chosen so that this is 2^-20 of the kernel's error (or 1e-12), and c is a whole number,
so that z - c stays exact in float32: the sink then costs no digits at all (1 + rho is 1 in
float32), only c of the 87 nats that float32's range has.

Plain softmax cannot serve: the moved part of the logit is the same for every key, and
e^{bg - bs} / sum_j e^{bg - bj} has no g in it (docs/errata.md#e17).

The numbers:

    lin   sum_h a_h e^{-b_h (s - B + T)}
    log   sum_h a_h (sT/B)^{-b_h}

shall be 1{s = B} for all B <= T, with one set of coefficients. lin is the fixed problem at lag T
(`theory.adaptive_lags`), so its heads, its claims and its refusals are those of `decaying_heads`;
log has a linear program of its own. Whatever found the numbers, the ones that are written are
measured: in balls, for every B.

Two roundings are made before that measurement. A lin rate is a square r^2 of a multiple r of 2^-7:
the dot product r g r, the bias r^2 s and their difference are then exact in float32 (24 bits) up to
2^10 nats, else an exponent that is off by b T 2^-24 would be amplified by coefficients of 10^5.
`Limits` bounds the rates where e^{b T} itself must not overflow (TMX without a normaliser).
Coefficients are then found anew for these rates.
"""

import abc
import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.decaying_heads import (
    STEEPEST,
    affordable,
    drawn,
    enough_for_each,
    heads_for_count,
    heads_for_tol,
    refuse_weight,
    split_heads,
)
from headcount.construct.blocks.drawn_heads import DECAYS, DrawnHeads, facts_of, fewest
from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.retrieval import AbstractRetrieval
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Request, Unreachable
from headcount.core.claims import Precision
from headcount.memory.kernels import Lag
from headcount.model.attention import Attention
from headcount.model.normalisers import AbstractNormaliser, NoNormaliser, SoftmaxSink
from headcount.model.scores import TMX, AbstractScore, DotProduct
from headcount.theory.adaptive_lags import adaptive_errors, fit_adaptive
from headcount.theory.fit import best_coefficients
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

BIASES = ("lin", "log")
NORMALISERS = ("none", "softmax-sink")
CANCELLED = (
    "the lag cancels: what the token adds to the logits is the same for every key, and softmax"
    " divides it out (docs/errata.md#e17); use none or softmax-sink, or bias peak"
)
# nats that e^z may grow to where nothing is divided (NoNormaliser's cap is 62 and 496)
ROOM = {Precision.FLOAT32: 60.0, Precision.FLOAT64: 480.0}
SINK_SHARE = 2.0**-20
LOG_SHARE = 1 / 16  # an exponent of 16 nats is off by 16 units
GRID = 2.0**7
MOST_LOG_HEADS = 16  # what the linear program over all lags handles
OPERATIONS = 48  # roundings per term, generously
EXPONENT_OPERATIONS = 6  # roundings of an exponent


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the score allows: the steepest rate, and the share of the affordable sum|a|
    (exponents that are not small cost digits).
    """

    steepest: float = STEEPEST
    share: float = 1.0


FREE = Limits()


def tmx_limits(T: int, request: Request) -> Limits:
    """TMX weighs the lag u = 0 by e^{bT} (T^b): it must not overflow, and log's exponents, which
    are not exact, cost digits.
    """
    if request.bias == "lin":
        return Limits(ROOM[request.precision] / T)
    return Limits(ROOM[request.precision] / math.log(T), LOG_SHARE) if T > 1 else Limits()


def sink_note(request: Request) -> tuple[str, ...]:
    """What a sink does, where there is one."""
    told = (
        "softmax with a zero-valued sink whose logit makes the division by 1 + rho harmless"
        " (docs/theory.md#sink)"
    )
    return (told,) if request.normaliser == "softmax-sink" else ()


def longest(heads: DrawnHeads) -> int:
    """T: the fixed problem whose coefficients these are."""
    assert isinstance(heads.kernel, Lag)
    return heads.kernel.T


def exponent_units(heads: DrawnHeads, bias: str, length: int) -> float:
    """Units that exponents add: one made of parts of size z is off by a few z units.

    lin: the exponent -b u is made of b (g - T) and b s, at most b (2T + u) together, and is an
    exact 0 at u = 0; log: of b log g, b log T and b log s.
    """
    lags, T = np.arange(1, max(length, 2), dtype=np.float64), longest(heads)
    distance, parts = (
        (lags, 2 * T + lags) if bias == "lin" else (np.log(lags), 2 * math.log(T) + np.log(lags))
    )
    exponents = heads.rates * (np.exp(-np.outer(heads.rates, distance)) @ parts)  # [H]
    return EXPONENT_OPERATIONS * float(np.abs(heads.coefficients) @ exponents)


def measured(
    T: int, bias: str, rates: np.ndarray, coefficients: np.ndarray, method: str
) -> DrawnHeads:
    """The heads with the largest error that these very doubles have for any lag up to T."""
    head_sum = HeadSum.of(family(bias), rates, coefficients)
    return drawn(Lag(T), head_sum, max(adaptive_errors(T, head_sum)), method)


@functools.lru_cache(maxsize=256)
def adaptive_for_tol(
    T: int, bias: str, tol: float, precision: Precision, limits: Limits = FREE
) -> DrawnHeads:
    """The fewest heads found with an l1 error of at most `tol` for every lag up to T, or
    `Unreachable` (with a claim where weights say no).
    """
    budget = limits.share * affordable(tol, precision)
    if bias == "lin":
        made = _lin_for_tol(T, tol, precision, limits.steepest)
    else:
        refuse_weight(Problem(Lag(T), family(bias), Norm.L1, None, budget), tol, precision)
        made = _log_for_tol(T, tol, budget, limits.steepest)
    if made.error > tol:
        got = (
            f"l1 error {made.error:.3g} for some lag up to {T} with {made.count} {bias} heads and"
            f" sum|a| up to {budget:.3g}"
        )
        raise Unreachable(
            got,
            f"at most {tol:.3g}",
            "use --bias peak (one head per memory), raise the tolerance, or use more digits than"
            f" {precision}",
        )
    return made


def _lin_for_tol(T: int, tol: float, precision: Precision, steepest: float) -> DrawnHeads:
    """Ask for a little more until the rounded rates are within `tol` too."""
    made = _on_grid(
        T, heads_for_tol(Lag(T), "lin", tol, precision), affordable(tol, precision), steepest
    )
    for share in (0.7, 0.4):
        if made.error <= tol:
            break
        try:
            made = _on_grid(
                T,
                heads_for_tol(Lag(T), "lin", share * tol, precision),
                affordable(tol, precision),
                steepest,
            )
        except Unreachable:  # for the smaller tolerance only: what there is decides
            break
    return made


def _log_for_tol(T: int, tol: float, budget: float, steepest: float) -> DrawnHeads:
    first = max(T, 1)
    most = max(first, MOST_LOG_HEADS)
    attempt = functools.cache(lambda heads: _log(T, heads, budget, steepest))
    if attempt(first).error > tol and attempt(most).error > tol:
        return attempt(most)  # nor will any number between
    return fewest(attempt, tol, first, most)


@functools.lru_cache(maxsize=256)
def adaptive_for_count(
    T: int, bias: str, heads: int, precision: Precision, limits: Limits = FREE
) -> DrawnHeads:
    """The best found with so many heads, for weights that this precision can bear."""
    budget = limits.share * affordable(None, precision)
    if bias == "log":
        return _log(T, heads, budget, limits.steepest)
    return _on_grid(T, heads_for_count(Lag(T), "lin", heads, precision), budget, limits.steepest)


def split_adaptive(lags: list[int], request: Request, limits: list[Limits]) -> list[DrawnHeads]:
    """`request.heads` heads shared by memories: lin as for fixed lags, log evenly with the
    surplus at the longest.
    """
    total = request.heads or 0
    enough_for_each(total, len(lags))
    if request.bias == "lin":
        kernels, budget = (
            split_heads([Lag(T) for T in lags], request),
            affordable(None, request.precision),
        )
        return [
            _on_grid(T, k, limit.share * budget, limit.steepest)
            for T, k, limit in zip(lags, kernels, limits, strict=True)
        ]
    longest_first = sorted(range(len(lags)), key=lambda k: -lags[k])
    counts = [
        total // len(lags) + (longest_first.index(k) < total % len(lags)) for k in range(len(lags))
    ]
    return [
        adaptive_for_count(T, "log", n, request.precision, limit)
        for T, n, limit in zip(lags, counts, limits, strict=True)
    ]


def _on_grid(T: int, kernel: DrawnHeads, budget: float, steepest: float) -> DrawnHeads:
    """Rates rounded to squares of multiples of 2^-7 (and capped), coefficients solved for again.

    Slower heads need less weight, so that rounding down may be the better where the budget binds:
    the better of the two is kept.
    """
    problem = Problem(Lag(T), family("lin"), Norm.L1, None, budget)
    # below the threshold of Theorem A nothing beats it
    made = [measured(T, "lin", np.ones(1), np.zeros(1), "zero")]
    for rounded in (np.round, np.floor) if kernel.count else ():
        roots = np.minimum(
            rounded(np.sqrt(kernel.rates) * GRID), math.floor(math.sqrt(steepest) * GRID)
        )
        rates = np.unique((np.maximum(roots, 1) / GRID) ** 2)
        found = best_coefficients(problem, rates).head_sum
        made.append(
            measured(
                T,
                "lin",
                np.array(found.rates),
                np.array([float(a) for a in found.coefficients]),
                kernel.method,
            )
        )
    return min(made, key=lambda heads: heads.error)


def _log(T: int, heads: int, budget: float, steepest: float) -> DrawnHeads:
    fit = fit_adaptive(T, family("log"), min(heads, MOST_LOG_HEADS), budget)
    rates = np.minimum(np.array(fit.head_sum.rates), steepest)
    return measured(
        T, "log", rates, np.array([float(a) for a in fit.head_sum.coefficients]), fit.method
    )


@dataclasses.dataclass(frozen=True)
class AbstractMovedRetrieval(AbstractRetrieval):
    """Heads for every memory; a subclass says what moves them."""

    heads: tuple[DrawnHeads, ...]  # one per memory
    request: Request
    size: float  # of a token

    def attend(self, space: Space, memories: tuple[int, ...]) -> Attention:
        chosen = [self.heads[i - 1] for i in memories]
        gains = np.concatenate([self._gains(h) for h in chosen])
        names = [i for i, h in zip(memories, chosen, strict=True) for _ in range(h.count)]
        written = [
            Head("token", f"memory_{i}", float(gain)) for i, gain in zip(names, gains, strict=True)
        ]
        bias = DECAYS[self.request.bias](np.concatenate([h.rates for h in chosen]))
        return attention(
            space, written, self._score(space, memories), bias, self._normaliser(chosen)
        )

    @abc.abstractmethod
    def _score(self, space: Space, memories: tuple[int, ...]) -> AbstractScore:
        """What moves the heads of these memories, head by head."""

    def _top(self, heads: DrawnHeads) -> np.ndarray:
        """The logit of lag u = 0 above that of the gain a: 0 where T was taken off.  [H]"""
        return np.zeros(heads.count)

    def _gains(self, heads: DrawnHeads) -> np.ndarray:
        sink = 0.0 if self.request.normaliser == "none" else self._sink(heads)
        return heads.coefficients * np.exp(sink - self._top(heads))

    def _sink(self, heads: DrawnHeads) -> np.ndarray:
        """c = log(Z/rho), a whole number, above the top logit.  [H]"""
        masses = np.maximum(heads.masses(self.request.length), 1e-300)
        return np.ceil(self._top(heads) + np.log(masses) - math.log(self._rho(heads)))

    def _rho(self, heads: DrawnHeads) -> float:
        total = float(np.abs(heads.coefficients) @ heads.masses(self.request.length))
        return min(max(SINK_SHARE * heads.error, 1e-12) / max(total, 1e-300), 0.5)

    def _normaliser(self, chosen: list[DrawnHeads]) -> AbstractNormaliser:
        if self.request.normaliser == "none":
            return NoNormaliser()
        return SoftmaxSink(np.concatenate([self._sink(h) for h in chosen]))  # type: ignore[arg-type]

    def bound(self, memory: int) -> Bound:
        heads = self.heads[memory - 1]
        beside = exponent_units(heads, self.request.bias, self.request.length)
        bound = heads.bound(self.request.length, self.size, beside, OPERATIONS)
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
            f"l1 error {heads.error:.3g} for every lag up to {longest(heads)}, {heads.count}"
            f" {self.request.bias} heads with sum|a| {heads.weight:.3g}"
        )

    @property
    def facts(self) -> dict[str, object]:
        """Numbers worth showing."""
        told: dict[str, object] = facts_of(self.heads)
        if self.request.normaliser == "softmax-sink":
            told["sink_logits"] = [float(self._sink(h).max(initial=0.0)) for h in self.heads]
        return told


@dataclasses.dataclass(frozen=True)
class DotRetrieval(AbstractMovedRetrieval):
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
            furthest = math.log(longest(heads)) / self.one if self.log else float(longest(heads))
            query = space.vector(**{f"lag_{i}": 1.0, "one": -furthest})
            roots = np.sqrt(heads.rates)[:, None]
            queries.append(roots * query)
            keys.append(roots / self.one * space.vector(one=1.0))
        return DotProduct(np.concatenate(queries)[:, None, :], np.concatenate(keys)[:, None, :])  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class TmxRetrieval(AbstractMovedRetrieval):
    """Moved by TMX: D numbers per head, and no constant in the stream."""

    log = False
    one = None

    def _score(self, space: Space, memories: tuple[int, ...]) -> AbstractScore:
        rows = [
            space.vector(**{f"lag_{i}": 1.0})
            for i in memories
            for _ in range(self.heads[i - 1].count)
        ]
        return TMX(np.stack(rows))  # type: ignore[arg-type]

    def _top(self, heads: DrawnHeads) -> np.ndarray:
        """b T or b log T."""
        T = longest(heads)
        return heads.rates * (T if self.request.bias == "lin" else math.log(T))
