"""Adaptive lags: one set of coefficients for every lag B <= T that the input may ask for (Lemmas
F.2 and F.5).

The head's logit is moved by the wanted lag: lin heads draw e^{-b(s-B)}, log heads (s/B)^{-b}, and

    phi(s; B) = sum_h c_h e^{-b_h (s-B)}   or   sum_h c_h (s/B)^{-b_h}

shall be 1{s=B} for all B at once, with the same c. What is reported is the largest l1 error over B,
every B measured in balls.

lin: u = s - B + T runs over the integers >= T - B, so with a_h = c_h e^{b_h T} the error for B is
the fixed error for lag T over lags u >= T - B only: B = T is the worst and the adaptive problem is
the fixed one. log: u = sT/B is a fraction. Interpolating at integers is no help, a bump is
(construction A); the tail of heads and the lags below B weigh differently for each B, so that a
linear program over all B at once does better where it is small.
"""

import dataclasses
import functools
import math

import numpy as np
import scipy  # its parts load when they are used
from flint import arb, fmpq

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.threads import one_thread
from headcount.memory.kernels import Lag
from headcount.theory.balls import precision
from headcount.theory.closed_forms import best_bump, chebyshev_bump, interpolation
from headcount.theory.fit import fit_heads
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import AbstractDecay, AbstractFamily, Lin, Log, as_decay
from headcount.theory.measure import exact_coefficient, measure, measure_curves
from headcount.theory.problem import Norm, Problem

LP_CELLS = 40_000  # lags x asked lags x heads up to which the linear program is worth its time
LP_HEADS = 16
FASTEST = 64.0
# Lags are asked for by shifting the curve (lin) or by scaling it (log); log1p can do neither.
LEMMAS = {Lin(): Ref("wang-e-2024", "Lemma F.2"), Log(): Ref("wang-e-2024", "Lemma F.5")}
ROUNDING = 1e-9  # of the budget
GOOD_ENOUGH = 1e-12  # below this the smaller coefficients win
# float64 solves the smaller one well and the larger one roughly; the balls decide between them
LP_WEIGHTS = (1e6, 1e9)


@dataclasses.dataclass(frozen=True)
class AdaptiveFit:
    """phi(s; B) = sum_h c_h curve_h(shifted or scaled by B). `errors[i]` is the l1 error for
    B = first + i.
    """

    family: AbstractDecay
    T: int
    head_sum: HeadSum  # a_h of the fixed problem at lag T; c_h = a_h phi(T; b_h)
    errors: tuple[float, ...]
    first: int
    method: str
    ref: Ref

    @property
    def error(self) -> float:
        """The maximum over B."""
        return max(self.errors)

    @property
    def worst(self) -> int:
        """The lag with that error (the furthest, where several have it)."""
        return self.first + len(self.errors) - 1 - int(np.argmax(self.errors[::-1]))

    @property
    def coefficients(self) -> tuple[fmpq, ...]:
        """c_h: what multiplies the curve that is moved by B."""
        with precision(128 + self.head_sum.weight_bits):
            pairs = zip(self.head_sum.coefficients, self.head_sum.rates, strict=True)
            return tuple(exact_coefficient(arb(a) * self.family.value(b, self.T)) for a, b in pairs)

    def to_json(self) -> dict[str, object]:
        return {
            "bias": self.family.name,
            "T": self.T,
            "heads": self.head_sum.heads,
            "rates": list(self.head_sum.rates),
            "coefficients": [_number(c) for c in self.coefficients],
            "error": self.error,
            "worst_lag": self.worst,
            "errors": list(self.errors),
            "method": self.method,
            "source": str(self.ref),
        }


@one_thread()
def fit_adaptive(T: int, bias: AbstractFamily, heads: int, budget: float = math.inf) -> AdaptiveFit:
    """The best coefficients found for all lags up to T; `budget` bounds sum|a_h|."""
    family = as_decay(bias)
    require(
        family in LEMMAS, f"adaptive lags with {family.name}", "lin or log", "choose one of these"
    )
    first = family.first_lag
    require(
        first <= T,
        f"largest lag {T}",
        f"at least {first} for {family.name}",
        "adaptive lags begin there",
    )
    require(heads >= 1, f"{heads} heads", "at least 1", "pass more heads")
    candidates = [("zero", HeadSum(family, (2 * family.slowest(Norm.L1),), (fmpq(0),)))]
    candidates.append(
        ("Chebyshev bump (A)", chebyshev_bump(family, T, heads, *best_bump(family, T, heads)))
    )
    if family.geometric and heads > T:
        candidates += [
            ("interpolation (B)", interpolation(T, heads, step))
            for step in (math.log(2), 1.0, 2.5, 6.0)
        ]
        candidates.append(
            (
                "fixed problem at lag T",
                _movable(fit_heads(Problem(Lag(T), family, budget=budget), heads).head_sum),
            )
        )
    if not family.geometric:
        candidates += [
            ("linear program over all lags", h) for h in _linear_program(T, family, heads, budget)
        ]
    within = [(m, h) for m, h in candidates if h.within(budget * (1 + ROUNDING))]
    fits = [
        AdaptiveFit(family, T, h, adaptive_errors(T, h), first, m, LEMMAS[family])
        for m, h in within
    ]
    return min(fits, key=lambda f: (max(f.error, GOOD_ENOUGH), f.head_sum.weight_bits))


def _movable(head_sum: HeadSum) -> HeadSum:
    """With finite rates: the limit curve cannot be moved by B, a very fast head can."""
    return HeadSum(
        head_sum.family, tuple(min(b, FASTEST) for b in head_sum.rates), head_sum.coefficients
    )


@functools.lru_cache(maxsize=256)
def adaptive_errors(T: int, head_sum: HeadSum) -> tuple[float, ...]:
    """The l1 error for every B from the first lag to T, each enclosed in balls and rounded up."""
    if all(a == 0 for a in head_sum.coefficients):
        return (1.0,) * (T + 1 - head_sum.family.first_lag)
    if as_decay(head_sum.family).geometric:
        return _shift_errors(T, head_sum)
    return tuple(_scale_error(T, head_sum, B) for B in range(1, T + 1))


def _shift_errors(T: int, head_sum: HeadSum) -> tuple[float, ...]:
    """The fixed error at lag T without the lags u < T - B, which B does not have; by balls."""
    full = measure(Problem(Lag(T), head_sum.family), head_sum).l1
    with precision(200 + 2 * head_sum.weight_bits):
        pairs = [
            (arb(a), arb(b)) for a, b in zip(head_sum.coefficients, head_sum.rates, strict=True)
        ]
        early = [abs(sum((a * (-b * u).exp() for a, b in pairs), arb(0))) for u in range(T)]
        errors, left = [], arb(0)
        for B in range(T, -1, -1):
            errors.append(max(full - float(left.lower()) * (1 - 1e-15), 0.0))
            if B > 0:
                left = left + early[T - B]
    return tuple(reversed(errors))


def _scale_error(T: int, head_sum: HeadSum, B: int) -> float:
    """sum_s |1{s=B} - sum_h c_h (s/B)^{-b_h}|: the fixed measure at lag B with a_h (B/T)^{b_h},
    a ball at every precision.
    """

    def coefficients() -> list[arb]:
        ratio = arb(B) / T
        return [
            arb(a) * ratio ** arb(b)
            for a, b in zip(head_sum.coefficients, head_sum.rates, strict=True)
        ]

    return measure_curves(
        Problem(Lag(B), head_sum.family), head_sum.rates, coefficients, head_sum.weight_bits
    ).l1


def _linear_program(T: int, family: AbstractDecay, heads: int, budget: float) -> list[HeadSum]:
    """min over a of max over B of the l1 error on a window, the best of a few ladders of rates;
    nothing where that is too large.
    """
    lags = np.arange(1, max(4 * T, 48) + 1, dtype=np.float64)
    if len(lags) * T * heads > LP_CELLS or heads > LP_HEADS:
        return []
    found: list[tuple[float, HeadSum]] = []
    for low, high in ((1.5, 8.0), (2.0, 20.0), (4.0, 20.0), (5.0, 45.0), (8.0, 60.0)):
        rates = np.geomspace(low, high, heads) if heads > 1 else np.array([high])
        tails = scipy.special.zeta(rates, len(lags) + 1)  # at B = T, where they are largest
        for weight in sorted({min(budget, weight) for weight in LP_WEIGHTS}):
            solved = _minimax(T, rates, lags, weight)
            if solved is not None:
                found.append(
                    (
                        solved[0] + float(np.abs(solved[1]) @ tails),
                        HeadSum.of(family, rates, solved[1]),
                    )
                )
    return [min(found, key=lambda pair: pair[0])[1]] if found else []


def _minimax(
    T: int, rates: np.ndarray, lags: np.ndarray, budget: float
) -> tuple[float, np.ndarray] | None:
    """The program: a = p - m, e_{B,s} >= |1{s=B} - sum_h a_h (sT/B)^-b_h|, sum_s e_{B,s} <= z
    for each B, sum(p + m) <= budget.
    """
    S, H = len(lags), len(rates)
    # [T*S, H]
    blocks = np.vstack([(lags[:, None] * (T / B)) ** -rates[None, :] for B in range(1, T + 1)])
    target = np.concatenate([(lags == B).astype(float) for B in range(1, T + 1)])
    rows = T * S
    limits = _limits(blocks, T)
    right = np.concatenate([target, -target, np.zeros(T), [budget]])
    cost = np.zeros(2 * H + rows + 1)
    cost[-1] = 1
    solved = scipy.optimize.linprog(cost, A_ub=limits, b_ub=right, bounds=(0, None), method="highs")
    if solved.status != 0:
        return None
    a = solved.x[:H] - solved.x[H : 2 * H]
    return float(np.abs(target - blocks @ a).reshape(T, S).sum(axis=1).max()), a


def _limits(blocks: np.ndarray, T: int) -> "scipy.sparse.csc_matrix":
    """The rows of `_minimax` over p, m, e and z.  [2 T S + T + 1, 2 H + T S + 1]"""
    (rows, H), values = blocks.shape, blocks.ravel()
    at, head = np.divmod(np.arange(rows * H), H)
    each, sums, both = np.arange(rows), np.arange(T), np.arange(2 * H)
    ones, last = np.ones(rows), np.full(T, 2 * H + rows)
    entries = [  # row, column, value
        (at, head, values),
        (at, H + head, -values),
        (rows + at, head, -values),
        (rows + at, H + head, values),
        (each, 2 * H + each, -ones),
        (rows + each, 2 * H + each, -ones),
        (2 * rows + each // (rows // T), 2 * H + each, ones),
        (2 * rows + sums, last, -np.ones(T)),
        (np.full(2 * H, 2 * rows + T), both, np.ones(2 * H)),
    ]
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    shape = (2 * rows + T + 1, 2 * H + rows + 1)
    return scipy.sparse.csc_matrix((value, (row, column)), shape=shape)


def _number(value: fmpq) -> float | str:
    """A double, or a decimal string where a double overflows."""
    try:
        return float(int(value.p) / int(value.q))
    except OverflowError:
        with precision(128):
            return str(arb(value).str(30, radius=False))
