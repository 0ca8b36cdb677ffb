"""Sums of decaying heads for a kernel, as a construction needs them: doubles, measured as they are,
or a certified refusal.

The fit may use as many digits as it likes; a model holds doubles. So coefficients are rounded first
and the rounded ones are measured in ball arithmetic: the error that is promised belongs to the
weights that are written.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.draft import Bound, Precision, Unreachable
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.bounds import lower_bound, weight_needed
from headcount.theory.errors import measure
from headcount.theory.families import family
from headcount.theory.fit import fit_heads
from headcount.theory.problem import HeadSum, Norm, Problem

DECAYING = ("lin", "log", "log1p")
STEEPEST = 1e4  # stands for an infinite rate: e^-10000 is 0 in every format
DOUBTFUL = 4  # heads beyond the threshold after which a lower bound is worth its seconds
MOST_EXTRA = 16
LIGHTER = 1  # attempts to make coefficients 16 times smaller
ROUNDING_OPERATIONS = 32  # exponentials, products and sums per term, generously


@dataclasses.dataclass(frozen=True)
class KernelHeads:
    """`heads` (doubles) draw `kernel` with an l1 error of at most `error` over the lags that
    count.
    """

    kernel: AbstractKernel
    heads: HeadSum
    error: float
    method: str

    @property
    def rates(self) -> np.ndarray:
        return np.minimum(np.array(self.heads.rates), STEEPEST)

    @property
    def coefficients(self) -> np.ndarray:
        return np.array([float(a) for a in self.heads.coefficients])

    def bound(self, length: int, size: float) -> Bound:
        """For tokens of norm up to `size` in sequences up to `length`.

        Rounding: a sum of N terms a_h phi_h(s) x is off by at most about (N + operations per term)
        units times the sum of their sizes, and sum_s phi_h(s) <= Z_h.
        """
        masses = head_masses(self.heads.family.name, self.rates, length)
        terms = float(np.abs(self.coefficients) @ masses)
        return Bound(
            self.error * size, (length + self.heads.heads + ROUNDING_OPERATIONS) * terms * size
        )


def head_masses(bias: str, rates: np.ndarray, length: int) -> np.ndarray:
    """Z_h = sum over lags below `length` of the head's curve.  [H]"""
    lags = np.arange(length, dtype=np.float64)
    if bias == "lin":
        return np.exp(-np.outer(rates, lags)).sum(1)
    distance = lags[1:] if bias == "log" else lags + 1
    return (
        np.exp(-np.outer(rates, np.log(distance))).sum(1) if len(distance) else np.zeros(len(rates))
    )


def affordable(tol: float | None, precision: Precision) -> float:
    """The largest sum|a| worth having: rounding costs about unit * sum|a|, and shall stay below
    a quarter of the tolerance.
    """
    return (0.02 if tol is None else tol / 4) / precision.unit


@functools.lru_cache(maxsize=256)
def heads_for_tol(
    kernel: AbstractKernel, bias: str, tol: float, precision: Precision, window: int | None = None
) -> KernelHeads:
    """The fewest heads found with an l1 error of at most `tol`, or `Unreachable`, with a
    certificate where there is one.
    """
    budget = affordable(tol, precision)
    refuse_weight(kernel, bias, tol, budget, precision)
    problem = Problem(kernel, family(bias), Norm.L1, window, budget)
    low, high = threshold(kernel, bias) - 1, threshold(kernel, bias)
    while (made := _counted(problem, high)).error > tol:
        if high - threshold(kernel, bias) >= DOUBTFUL:
            refuse_budget(problem, tol, precision)
        if high >= threshold(kernel, bias) + MOST_EXTRA:
            got = (
                f"l1 error {made.error:.3g} with {high} {bias} heads and sum|a| up to {budget:.3g}"
            )
            raise Unreachable(
                got,
                f"at most {tol:.3g}",
                f"raise the tolerance, use another bias, or more digits than {precision}",
            )
        low, high = high, threshold(kernel, bias) + max(2 * (high - threshold(kernel, bias)), 1)
    while high - low > 1:
        middle = (low + high) // 2
        fewer = _counted(problem, middle)
        low, high, made = (low, middle, fewer) if fewer.error <= tol else (middle, high, made)
    return _lighter(problem, made, tol)


def _lighter(problem: Problem, made: KernelHeads, tol: float) -> KernelHeads:
    """As many heads with smaller coefficients, as long as the tolerance holds: less to cancel,
    less to round.
    """
    for _ in range(LIGHTER):
        sparing = dataclasses.replace(problem, budget=float(np.abs(made.coefficients).sum()) / 16)
        if sparing.budget < 1:
            break
        lighter = _counted(sparing, made.heads.heads)
        if lighter.error > tol:
            break
        made = lighter
    return made


def threshold(kernel: AbstractKernel, bias: str) -> int:
    """The number of heads below which an isolated lag cannot be told from zero (Theorem A)."""
    return (kernel.T if bias == "log" else kernel.T + 1) if isinstance(kernel, Lag) else 1


def _counted(problem: Problem, heads: int) -> KernelHeads:
    found = fit_heads(problem, heads)
    return as_doubles(problem.kernel, problem, found.head_sum, found.method)


def refuse_budget(problem: Problem, tol: float, precision: Precision) -> None:
    """Refuse where no number of heads within the budget reaches the tolerance (dual
    certificate), x_t free through the residual.
    """
    problem = dataclasses.replace(problem, residual=True)
    floor = lower_bound(problem)
    if floor.certified and floor.value > tol:
        got = (
            f"{problem.family.name} heads with sum|a| <= {problem.budget:.3g} leave an l1 error of"
            f" at least {floor.value:.3g}, however many"
        )
        raise Unreachable(
            got,
            f"at most {tol:.3g}",
            f"raise the tolerance, use another bias, or more digits than {precision}",
            (problem, floor),
        )


@functools.lru_cache(maxsize=512)
def heads_for_count(
    kernel: AbstractKernel, bias: str, heads: int, precision: Precision, window: int | None = None
) -> KernelHeads:
    """The best sum of so many heads whose weights this precision can bear."""
    return _counted(
        Problem(kernel, family(bias), Norm.L1, window, affordable(None, precision)), heads
    )


def as_doubles(
    kernel: AbstractKernel, problem: Problem, head_sum: HeadSum, method: str
) -> KernelHeads:
    """Rounded to doubles and finite rates, then measured."""
    rates = np.minimum(np.array(head_sum.rates), STEEPEST)
    rounded = HeadSum.of(problem.family, rates, np.array([float(a) for a in head_sum.coefficients]))
    return KernelHeads(kernel, rounded, measure(problem, rounded).l1, method)


def refuse_weight(
    kernel: AbstractKernel, bias: str, tol: float, budget: float, precision: Precision
) -> None:
    """Refuse a lag whose weight no number of heads can bring under the budget (Theorem B); the
    certificate goes with it.

    The residual gives lag 0 for free. From lag 1 on, heads that see lag 0 are smaller heads one lag
    nearer: e^{-ps} = e^{-p} e^{-p(s-1)}, so that lag T needs at least the weight of lag T-1 (log
    heads have no lag 0, and Theorem B counts from lag 1 for them).
    """
    seen = 0 if bias == "log" else 1
    if not isinstance(kernel, Lag) or tol >= 1 or kernel.T <= seen:
        return
    needed = weight_needed(kernel.T - seen, family(bias), tol)
    if needed.weight > budget:
        got = (
            f"lag {kernel.T} within {tol:g} by {bias} heads needs sum|a| >= {_power(needed.log10)},"
            " however many heads"
        )
        fix = (
            "use --bias peak, table or rope (one head a lag), or --theorem composed (a layer a"
            " short lag)"
        )
        raise Unreachable(
            got, f"at most {budget:.3g}, what {precision} can add up to this tolerance", fix, needed
        )


def _power(log10: float) -> str:
    return f"10^{log10:.1f}" if log10 > 6 else f"{10**log10:.3g}"


def sink_logits(rates: np.ndarray) -> np.ndarray:
    """-log(1 - e^{-b}): with this sink softmax divides a lin head by 1/(1-e^{-b}) at every
    position (numerics 5).  [H]
    """
    return np.array([-math.log(-math.expm1(-b)) for b in rates])
