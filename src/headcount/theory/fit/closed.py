"""Sums of heads that are written down, not searched for.

* One head is exact for its own curve: e^{-b s} by lin, s^{-b} by log, the first visible lag by the
  limit curve b = inf.
* One lag T by lin heads (Theorem A's construction). Nodes x_0..x_n, n >= T, interpolate 1{s = T} on
  lags 0..n with a_h = [z^T] prod_{j != h} (z - x_j)/(x_h - x_j); beyond, the error is
  O(eta^{n+1-T}) for nodes in [0, eta]. At the n = T Chebyshev extrema of [0, eta] sum|a| =
  2^{2T-1}/eta^T is the smallest possible; T = 1 gives C/2 (x^s - 0^s), x = 2/C.
* One lag T by log heads: with integer e, the rates 1 + e + e i make y = t^-e a rational node, and
  P(t) = (T/t)^{1+e} prod_{j <= H, j != T} (t^-e - j^-e)/(T^-e - j^-e) is exact on lags 1..H with
  rational coefficients.
* Where lag 0 is free (`Problem.residual`) lin and log1p interpolate from lag 1 on, with a head
  less. For lin, x^s = x x^{s-1}: the nodes must be positive (Chebyshev's zeros instead of his
  extrema), and interpolate lag T - 1 with the coefficients divided by them.
* A power law by lin heads: the trapezoid rule for t^-p = 1/Gamma(p) int exp(-t e^u + p u) du gives
  rates e^u, evenly spaced in the logarithm (Beylkin and Monzon 2010); its coefficients are improved
  by the linear program afterwards.

Coefficients of a lag outgrow doubles (2^{2T-1}/eta^T), so that they are solved in ball arithmetic
for the float64 rates and kept as dyadic rationals of matching length.
"""

import dataclasses
import math

import numpy as np
from flint import arb, fmpq, fmpq_poly

from headcount.core.refs import Ref
from headcount.memory.kernels import Exponential, Lag, Power
from headcount.theory.balls import precision
from headcount.theory.families import AbstractFamily, Lin, Log, Log1p
from headcount.theory.problem import HeadSum, Problem

THEOREM_A = Ref("headcount", "Theorem A")
CONSTRUCTION_B = Ref("headcount", "construction (B)")
QUADRATURE = Ref("beylkin-monzon-2010", "Section 2")
AIM = 1e-9  # l1 error at which more cancellation is not worth its digits
MOST_EXTRA = 6  # heads beyond T + 1 that the lag's construction uses


@dataclasses.dataclass(frozen=True)
class Closed:
    """A sum of heads by formula; `optimal` where no sum with as many heads can be better."""

    head_sum: HeadSum
    method: str
    optimal: bool = False


def closed_forms(problem: Problem, heads: int, low: float) -> list[Closed]:
    """Every closed form with at most that many heads, within the budget; `low` is the smallest
    rate allowed.
    """
    kernel, family = problem.kernel, problem.family
    found = [Closed(HeadSum(family, (), ()), "no head", optimal=_zero_is_best(problem, heads))]
    if found[0].optimal:
        return found
    rate = _own_rate(problem, low)
    if rate is not None:
        a = min(1.0, problem.budget)
        found.append(
            Closed(
                HeadSum.of(family, np.array([rate]), np.array([a])),
                "one exact head",
                optimal=a == 1.0,
            )
        )
    elif isinstance(kernel, Lag):
        found += [
            c
            for c in _lag_forms(problem, kernel.T, heads)
            if within_budget(c.head_sum, problem.budget)
        ]
    return found


def within_budget(head_sum: HeadSum, budget: float) -> bool:
    """sum|a| <= budget, decided exactly."""
    return math.isinf(budget) or sum((abs(a) for a in head_sum.coefficients), fmpq(0)) <= fmpq(
        *float(budget).as_integer_ratio()
    )


def quadrature_rates(problem: Problem, heads: int) -> np.ndarray:
    """Rates of the trapezoid rule that suit lags 1..length, empty where the kernel is not a
    power law or heads not lin.
    """
    if not (isinstance(problem.kernel, Power) and isinstance(problem.family, Lin)):
        return np.zeros(0)
    return np.exp(np.linspace(math.log(0.3 / problem.length), math.log(4.0 + 0.15 * heads), heads))


def _zero_is_best(problem: Problem, heads: int) -> bool:
    """Theorem A: at most T lin heads (T-1 with lag 0 free) are no better than none for lag T (l1)
    where lags up to T + H exist. A kernel that cannot be seen, too.
    """
    kernel = problem.kernel
    invisible = not np.any(problem.target) and kernel.support is not None
    too_far = (
        isinstance(kernel, Lag)
        and heads <= kernel.T - problem.first_lag
        and kernel.T + (heads + 1) // 2 in problem.scope().lags
    )
    return invisible or (too_far and isinstance(problem.family, Lin) and problem.norm == "l1")


def _own_rate(problem: Problem, low: float) -> float | None:
    """The rate of the family's curve that the kernel is."""
    kernel, family = problem.kernel, problem.family
    if isinstance(kernel, Lag) and kernel.T == family.first_lag == problem.first_lag:
        return math.inf
    if isinstance(kernel, Exponential) and isinstance(family, Lin):
        return kernel.rate
    if isinstance(kernel, Power) and isinstance(family, Log) and kernel.exponent >= low:
        return kernel.exponent
    return None


def _lag_forms(problem: Problem, lag: int, heads: int) -> list[Closed]:
    family = problem.family
    seen = lag + 1 if isinstance(family, Log1p) else lag  # (1+s)^-b at lag T is t^-b at t = T + 1
    least = lag + 1 - problem.first_lag
    free = problem.first_lag > family.first_lag
    forms = []
    if not problem.tail_counts and heads >= len(problem.lags):
        return [_exact_on_window(problem, lag)]
    for used in range(least, min(heads, least + MOST_EXTRA) + 1):
        if isinstance(family, Lin) and free:
            eta = _free_eta(lag, used, problem.budget)
            forms.append(
                Closed(
                    later_lag_by_lin(family, lag, used, eta), f"Chebyshev's zeros on [0, {eta:.3g}]"
                )
            )
        elif isinstance(family, Lin):
            eta = _eta(lag, used, problem.budget)
            forms.append(
                Closed(lag_by_lin(family, lag, used, eta), f"Chebyshev nodes on [0, {eta:.3g}]")
            )
        else:
            e = max(seen, 2) * (2 if math.isinf(problem.budget) else 1)
            forms.append(
                Closed(
                    lag_by_log(family, seen, used, e, first=2 if free else 1),
                    f"Lagrange interpolation in t^-{e}",
                )
            )
    return forms


def _exact_on_window(problem: Problem, lag: int) -> Closed:
    """As many heads as lags: exact for any nodes, and lightest for those spread over [0, 1]."""
    family, count = problem.family, len(problem.lags)
    free = problem.first_lag > family.first_lag
    if isinstance(family, Lin):
        drawn = (later_lag_by_lin if free else lag_by_lin)(family, lag, count, 1.0)
    else:
        seen = lag + 1 if isinstance(family, Log1p) else lag
        drawn = lag_by_log(family, seen, count, 1, first=2 if free else 1)
    return Closed(drawn, "interpolation of every lag")


def _eta(lag: int, heads: int, budget: float) -> float:
    """The interval of the nodes: as small as the aim asks for, as large as the budget needs (T +
    1 heads).
    """
    aimed = min(0.9, AIM ** (1 / (heads - lag)))
    if math.isinf(budget):
        return aimed
    affordable = 2.0 ** ((2 * lag - 1) / lag) * budget ** (-1 / lag) * (1 + 1e-12)
    return (
        min(0.9, max(aimed, affordable))
        if heads == lag + 1
        else min(0.9, max(aimed, 1.3 * affordable))
    )


def _free_eta(lag: int, heads: int, budget: float) -> float:
    """The same where lag 0 is free: the coefficients are eta^-lag times those of [0, 1]."""
    aimed = min(0.9, AIM ** (1 / (heads + 1 - lag)))
    if math.isinf(budget):
        return aimed
    return min(
        0.9,
        max(
            aimed,
            (later_lag_by_lin(Lin(), lag, heads, 1.0).coefficient_sum / budget) ** (1 / lag)
            * (1 + 1e-12),
        ),
    )


def lag_by_lin(family: AbstractFamily, lag: int, heads: int, eta: float) -> HeadSum:
    """1{s = lag} interpolated on lags 0..heads-1 at Chebyshev extrema of [0, eta]; the node 0 is
    the rate inf.
    """
    x = eta * (1 - np.cos(np.pi * np.arange(heads) / max(heads - 1, 1))) / 2
    return _interpolated(family, x, lag, 0)


def later_lag_by_lin(family: AbstractFamily, lag: int, heads: int, eta: float) -> HeadSum:
    """1{s = lag} interpolated on lags 1..heads at Chebyshev zeros of [0, eta]; lag 0 takes what
    value it takes.
    """
    x = eta * (1 - np.cos(np.pi * (np.arange(heads) + 0.5) / heads)) / 2
    return _interpolated(family, x, lag - 1, 1)


def _interpolated(family: AbstractFamily, x: np.ndarray, lag: int, later: int) -> HeadSum:
    """sum_h a_h x_h^{s+later} = 1{s = lag} for s < H."""
    heads = len(x)
    rates = tuple(math.inf if node < 1e-300 else abs(math.log(node)) for node in x)
    bits = 256 + 4 * heads + int(heads * max(0.0, -math.log2(x.max())) * 2)
    while True:
        with precision(bits):
            nodes = [arb(0) if math.isinf(b) else (-arb(b)).exp() for b in rates]
            coefficients = [
                a / node**later for a, node in zip(_cardinal(nodes, lag), nodes, strict=True)
            ]
            if all(a.rel_accuracy_bits() > 128 + bits // 4 for a in coefficients):
                return HeadSum(family, rates[::-1], tuple(_rational(a) for a in coefficients)[::-1])
        bits *= 2


def _cardinal(nodes: list[arb], lag: int) -> list[arb]:
    """[z^lag] of each Lagrange polynomial: prod (z - x_j) divided by (z - x_h), coefficient by
    coefficient.
    """
    n = len(nodes)
    product = [arb(1)]  # ascending powers of prod_j (z - x_j)
    for x in nodes:
        product = [
            (product[i - 1] if i else arb(0)) - (x * product[i] if i < len(product) else arb(0))
            for i in range(len(product) + 1)
        ]
    answer = []
    for h, x in enumerate(nodes):
        quotient = arb(0)
        for power in range(n, lag, -1):  # synthetic division from the top down to z^lag
            quotient = product[power] + x * quotient
        scale = arb(1)
        for j, other in enumerate(nodes):
            if j != h:
                scale *= x - other
        answer.append(quotient / scale)
    return answer


def lag_by_log(family: AbstractFamily, seen: int, heads: int, e: int, first: int = 1) -> HeadSum:
    """1{t = seen} on t = first..first+heads-1 by t^-(1+e+e i), i = 0..heads-1, with exact
    rational coefficients.
    """
    poly = fmpq_poly([1])
    top = fmpq(1, seen**e)
    for j in range(first, first + heads):
        if j != seen:
            node = fmpq(1, j**e)
            poly *= fmpq_poly([-node / (top - node), 1 / (top - node)])
    scale = fmpq(seen ** (1 + e))
    rates = tuple(float(1 + e + e * i) for i in range(heads))
    return HeadSum(family, rates, tuple(scale * poly[i] for i in range(heads)))


def _rational(value: arb) -> fmpq:
    """The midpoint, exactly."""
    mantissa, exponent = value.mid().man_exp()
    return fmpq(mantissa) * (fmpq(2) ** int(exponent))
