"""Heads for every lag up to T at once (Lemmas F.2 and F.5), as doubles that a model can hold.

    lin  sum_h a_h e^{-b_h (s - B + T)}      log  sum_h a_h (sT/B)^{-b_h}      shall be 1{s = B} for
      all B <= T

with one set of coefficients. lin is the fixed problem at lag T (theory/adaptive.py), so its heads,
its certificates and its refusals are those of `kernel_heads`; log has a linear program of its own.
Whatever found the numbers, the ones that are written are measured: in balls, for every B.

Two roundings are made before that measurement. A lin rate is a square r^2 of a multiple r of 2^-7:
the dot product r g r, the bias r^2 s and their difference are then exact in float32 (24 bits) up to
2^10 nats, else an exponent that is off by b T 2^-24 would be amplified by coefficients of 10^5.
`Limits` bounds the rates where e^{b T} itself must not overflow (TMX without a normaliser).
Coefficients are then found anew for these rates.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.allocate import split_heads
from headcount.construct.blocks.decaying_heads import (
    STEEPEST,
    KernelHeads,
    affordable,
    head_masses,
    heads_for_count,
    heads_for_tol,
    refuse_weight,
)
from headcount.construct.draft import Bound, Precision, Request, Unreachable
from headcount.core.errors import require
from headcount.memory.kernels import Lag
from headcount.theory.adaptive import adaptive_errors, fit_adaptive
from headcount.theory.families import family
from headcount.theory.fit import best_coefficients
from headcount.theory.problem import HeadSum, Norm, Problem

BIASES = ("lin", "log")
GRID = 2.0**7
MOST_LOG_HEADS = 16  # what the linear program over all lags handles
OPERATIONS = 48  # roundings a term, generously
EXPONENT_OPERATIONS = 6  # roundings of an exponent


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the score allows: the steepest rate, and the share of the affordable sum|a|
    (exponents that are not small cost digits).
    """

    steepest: float = STEEPEST
    share: float = 1.0


FREE = Limits()


@dataclasses.dataclass(frozen=True)
class AdaptiveHeads:
    """Rates b_h and coefficients a_h (of the fixed problem at lag T); `errors` are the l1 errors
    for B = first … T.
    """

    T: int
    bias: str
    rates: np.ndarray
    coefficients: np.ndarray
    errors: tuple[float, ...]
    method: str

    @property
    def heads(self) -> int:
        return len(self.rates)

    @property
    def error(self) -> float:
        return max(self.errors)

    @property
    def weight(self) -> float:
        return float(np.abs(self.coefficients).sum())

    @property
    def shift(self) -> np.ndarray:
        """b T or b log T: what the logit of the lag T itself is below the largest.  [H]"""
        return self.rates * (self.T if self.bias == "lin" else math.log(self.T))

    def masses(self, length: int) -> np.ndarray:
        """Largest sum over s of e^{-b(s-B+T)} or (sT/B)^{-b}: at B = T, where it is that of the
        unmoved head.  [H]
        """
        return head_masses(self.bias, self.rates, length)

    def bound(self, length: int, size: float) -> Bound:
        """For tokens of norm up to `size`. Rounding: N terms are added up, and an exponent made of
        parts of size z is off by a few z units.

        lin: the exponent -b u is made of b (g - T) and b s, at most b (2T + u) together, and is an
        exact 0 at u = 0; log: of b log g, b log T and b log s.
        """
        lags = np.arange(1, max(length, 2), dtype=np.float64)
        distance, parts = (
            (lags, 2 * self.T + lags)
            if self.bias == "lin"
            else (np.log(lags), 2 * math.log(self.T) + np.log(lags))
        )
        exponents = self.rates * (np.exp(-np.outer(self.rates, distance)) @ parts)  # [H]
        units = (length + self.heads + OPERATIONS) * self.masses(
            length
        ) + EXPONENT_OPERATIONS * exponents
        return Bound(self.error * size, float(np.abs(self.coefficients) @ units) * size)


def measured(
    T: int, bias: str, rates: np.ndarray, coefficients: np.ndarray, method: str
) -> AdaptiveHeads:
    """The heads with the errors of these very doubles."""
    head_sum = HeadSum.of(family(bias), rates, coefficients)
    made = np.array([float(a) for a in head_sum.coefficients])
    return AdaptiveHeads(
        T, bias, np.array(head_sum.rates), made, adaptive_errors(T, head_sum), method
    )


@functools.lru_cache(maxsize=256)
def adaptive_for_tol(
    T: int, bias: str, tol: float, precision: Precision, limits: Limits = FREE
) -> AdaptiveHeads:
    """The fewest heads found with an l1 error of at most `tol` for every lag up to T, or
    `Unreachable` (with a certificate where weights say no).
    """
    budget = limits.share * affordable(tol, precision)
    if bias == "lin":
        made = _lin_for_tol(T, tol, precision, limits.steepest)
    else:
        refuse_weight(Lag(T), bias, tol, budget, precision)
        made = _log_for_tol(T, tol, budget, limits.steepest)
    if made.error > tol:
        got = (
            f"l1 error {made.error:.3g} for some lag up to {T} with {made.heads} {bias} heads and"
            f" sum|a| up to {budget:.3g}"
        )
        raise Unreachable(
            got,
            f"at most {tol:.3g}",
            "use --bias peak (one head a memory), raise the tolerance, or use more digits than"
            f" {precision}",
        )
    return made


def _lin_for_tol(T: int, tol: float, precision: Precision, steepest: float) -> AdaptiveHeads:
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


def _log_for_tol(T: int, tol: float, budget: float, steepest: float) -> AdaptiveHeads:
    best = None
    for heads in range(max(T, 1), MOST_LOG_HEADS + 1):
        made = _log(T, heads, budget, steepest)
        best = made if best is None or made.error < best.error else best
        if best.error <= tol:
            break
    assert best is not None
    return best


@functools.lru_cache(maxsize=256)
def adaptive_for_count(
    T: int, bias: str, heads: int, precision: Precision, limits: Limits = FREE
) -> AdaptiveHeads:
    """The best found with so many heads, for weights that this precision can bear."""
    budget = limits.share * affordable(None, precision)
    if bias == "log":
        return _log(T, heads, budget, limits.steepest)
    return _on_grid(T, heads_for_count(Lag(T), "lin", heads, precision), budget, limits.steepest)


def split_adaptive(lags: list[int], request: Request, limits: list[Limits]) -> list[AdaptiveHeads]:
    """`request.heads` heads shared by memories: lin as for fixed lags, log evenly with the
    surplus at the longest.
    """
    total = request.heads or 0
    require(
        total >= len(lags),
        f"{total} heads for {len(lags)} memories",
        "at least one a memory",
        "pass more heads",
    )
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


def _on_grid(T: int, kernel: KernelHeads, budget: float, steepest: float) -> AdaptiveHeads:
    """Rates rounded to squares of multiples of 2^-7 (and capped), coefficients solved for again.

    Slower heads need less weight, so that rounding down may be the better where the budget binds:
    the better of the two is kept.
    """
    problem = Problem(Lag(T), family("lin"), Norm.L1, None, budget)
    # below the threshold of Theorem A nothing beats it
    made = [measured(T, "lin", np.ones(1), np.zeros(1), "zero")]
    for rounded in (np.round, np.floor) if kernel.heads.heads else ():
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


def _log(T: int, heads: int, budget: float, steepest: float) -> AdaptiveHeads:
    fit = fit_adaptive(T, family("log"), min(heads, MOST_LOG_HEADS), budget)
    rates = np.minimum(np.array(fit.head_sum.rates), steepest)
    return measured(
        T, "log", rates, np.array([float(a) for a in fit.head_sum.coefficients]), fit.method
    )
