"""What the same heads give in float32 and bfloat16, and how large coefficients a precision affords.

How a head is evaluated. A softmax head at lag s weighs p_h(s) = phi(s; b_h) / Z_h,
Z_h = sum_s phi(s; b_h) over the lags handled one by one, and its value map carries w_h = a_h Z_h;
the kernel is sum_h w_h p_h(s). Rates, logits and the softmax are float32; then p_h(s) and w_h are
rounded to the format, and products and the sum over heads accumulate in float32. For float32 this
is plain float32, for bfloat16 what attention on common hardware does ("probabilities and values").
Z_h is a design constant: w_h = a_h Z_h is computed exactly and rounded once.

What is lost. Rounding moves each w_h p_h(s) by about u |w_h| p_h(s), so the l1 error grows by about
u sum_h |w_h| (u = 2^-24 for float32, 2^-9 for bfloat16), and

    digits_lost = log10( sum_h |a_h| ||phi_h|| / ||kernel|| ),

the condition number of the sum in the norm of the problem, at least 0.

Which heads a format bears best. In l2 rounding adds about u^2 sum_h a_h^2 |phi_h|_2^2, so that the
heads are fitted with that as a penalty (`penalised_fits`), times a few factors: the roundings of
two cancelling heads may agree. |phi_h| counts every lag that the head sees, lag 0 too where the
residual gives it: a softmax head hands out its lags as one sum. Then the weights are rounded one at
a time, and those still free are fitted anew to the curves as the format draws them, so that they
make up for what was lost.
"""

import dataclasses
import enum
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
from flint import arb

from headcount.core.errors import require
from headcount.core.threads import one_thread
from headcount.theory.balls import precision
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.measure import Errors, Norms, measure
from headcount.theory.problem import Norm, Problem

if TYPE_CHECKING:
    from headcount.theory.fit.sample import Sample

# what rounding may cost at each budget, relative to the kernel
LADDER = (1e4, 30.0, 1.0, 0.3, 0.1, 0.01, 0.001)
# times u: from a worst case down to roundings that cancel
PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
REFINED = 4  # starts that are refined at each penalty, beside the last penalty's optimum
# of starts with heads around one rate: a far lag is met by heads that nearly coincide
WIDTHS = (0.1, 0.5, 2.0)
CENTRES = 8
EVALUATIONS = 100
SPARED = 1.0  # digits lost beyond those of a format: rounding should leave ten times the kernel


class Dtype(enum.StrEnum):
    """Number formats in which heads are evaluated."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"

    @property
    def scalar(self) -> np.dtype:
        return np.dtype(np.float32) if self is Dtype.FLOAT32 else np.dtype(ml_dtypes.bfloat16)

    @property
    def unit(self) -> float:
        """The unit roundoff u."""
        return 2.0**-24 if self is Dtype.FLOAT32 else 2.0**-9

    @property
    def digits(self) -> float:
        """Decimal digits that the format holds."""
        return -math.log10(self.unit)


@dataclasses.dataclass(frozen=True)
class Rounded:
    """The error of the rounded evaluation over the explicit lags plus the exact tail; `finite`
    is False after an overflow.
    """

    dtype: Dtype
    error: Norms
    finite: bool

    def by_chance(self, norm: Norm, kernel_norm: float, digits_lost: float) -> bool:
        """Is the kernel met although cancelling heads lose more digits than the format has? Then
        their roundings happen to agree: lag:2 by three lin heads has weights near 1 : -2 : 1 times
        2e18, which bfloat16 holds exactly and float32 does not.
        """
        met = self.finite and self.error[norm] < kernel_norm
        return met and digits_lost > self.dtype.digits + SPARED


def softmax_weights(problem: Problem, head_sum: HeadSum) -> np.ndarray:
    """w_h = a_h Z_h in float64, computed in balls (inf where it exceeds a double).  [H]"""
    first, length = problem.family.first_lag, problem.length
    with precision(128):
        masses = [problem.family.mass(curve, first, length) for curve in head_sum.curves]
        pairs = zip(head_sum.coefficients, masses, strict=True)
        return np.array([float(arb(a) * mass) for a, mass in pairs])


def rounded_kernel(problem: Problem, head_sum: HeadSum, dtype: Dtype) -> np.ndarray:
    """The kernel that the heads draw in `dtype`, on `problem.lags`, as float64.  [S]"""
    # softmax runs over every lag the head sees, whether or not the error counts it
    first = problem.family.first_lag
    weights = softmax_weights(problem, head_sum)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        drawn = problem.family.probabilities(head_sum.curves, problem.length)  # [S, H]
        probabilities = drawn.astype(dtype.scalar)
        total = np.zeros(problem.length - first, dtype=np.float32)
        for h, w in enumerate(weights.astype(dtype.scalar).astype(np.float32)):
            total += probabilities[:, h].astype(np.float32) * w
    return total[problem.first_lag - first :].astype(np.float64)


def rounded_errors(problem: Problem, head_sum: HeadSum, dtype: Dtype, exact: Errors) -> Rounded:
    """Error of the evaluation in `dtype`; `exact` is `theory.measure` of the same heads, whose
    tail is added.
    """
    residual = problem.target - rounded_kernel(problem, head_sum, dtype)
    if not np.isfinite(residual).all():
        return Rounded(dtype, Norms(math.inf, math.inf, math.inf), False)
    tail_l2 = math.sqrt(max(exact.l2**2 - exact.window.l2**2, 0.0)) if exact.tail.included else 0.0
    tail_l1 = max(exact.l1 - exact.window.l1, 0.0) if exact.tail.included else 0.0
    sizes = np.abs(residual)
    norms = Norms(
        float(sizes.sum()) + tail_l1,
        math.hypot(float(np.sqrt((sizes**2).sum())), tail_l2),
        float(sizes.max()),
    )
    return Rounded(dtype, norms, True)


def digits_lost(problem: Problem, head_sum: HeadSum, exact: Errors) -> float:
    """Decimal digits that the cancellation between heads eats."""
    first, family = problem.first_lag, problem.family
    with precision(128):
        total = arb(0)
        for curve, a in zip(head_sum.curves, head_sum.coefficients, strict=True):
            total += abs(arb(a)) * family.size(curve, problem.norm, first, problem.length)
        ratio = total / arb(exact.kernel[problem.norm])
        return max(float(ratio.log()) / math.log(10), 0.0) if ratio > 1 else 0.0


def affordable_budget(dtype: Dtype, kernel_norm: float, tol: float) -> float:
    """The sum|w| at which rounding alone costs `tol` of the kernel: tol ||kernel|| / u."""
    require(tol > 0, f"tol {tol}", "a positive number", "pass the relative error that is wanted")
    return tol * kernel_norm / dtype.unit


@one_thread()
def fit_for_precision(
    problem: Problem, dtype: Dtype, fit: Callable[[Problem], Fit], kernel_norm: float
) -> Fit:
    """Minimise E + u sum|w|: fit under a ladder of budgets around what the format affords and keep
    what measures best in it.

    The ladder starts far above: u sum|w| is a worst case, and roundings that are equal in two
    cancelling heads cost nothing. In l2 the penalised fits with as many heads compete.
    """
    best, least = None, math.inf
    heads = 0
    for tol in LADDER:
        budget = min(affordable_budget(dtype, kernel_norm, tol), problem.budget)
        if best is not None and budget == best.budget == problem.budget:
            continue
        limited = dataclasses.replace(problem, budget=budget)
        found = dataclasses.replace(fit(limited), budget=budget)
        heads = max(heads, found.head_sum.heads)
        error = measured_in(limited, found.head_sum, dtype)[problem.norm]
        if best is None or error < least:
            best, least = found, error
    assert best is not None
    if problem.norm is Norm.L2 and heads:
        other = penalised_fit(problem, heads, dtype)
        if measured_in(problem, other.head_sum, dtype).l2 < least:
            best, least = other, measured_in(problem, other.head_sum, dtype).l2
    if least > kernel_norm:  # no head at all does better in this format
        return dataclasses.replace(best, head_sum=HeadSum(problem.family, (), ()))
    return best


def measured_in(problem: Problem, head_sum: HeadSum, dtype: Dtype) -> Norms:
    """The error of the heads in a format."""
    return rounded_errors(problem, head_sum, dtype, measure(problem, head_sum)).error


def penalised_fit(problem: Problem, heads: int, dtype: Dtype) -> Fit:
    """Of the penalised fits within the budget the one that measures best (l2) in the format; no
    head at all if none is better.
    """
    candidates = [HeadSum(problem.family, (), ()), *penalised_fits(problem, heads, dtype)]
    best = min(
        (found for found in candidates if found.coefficient_sum <= problem.budget),
        key=lambda found: measured_in(problem, found, dtype).l2,
    )
    return Fit(best, "penalised least squares", budget=best.coefficient_sum)


@one_thread()
def penalised_fits(problem: Problem, heads: int, dtype: Dtype) -> list[HeadSum]:
    """Candidates for a format: at each penalty the best rates found, their coefficients, and
    these rounded one at a time.
    """
    require(
        problem.norm is Norm.L2,
        f"norm {problem.norm}",
        "l2: the penalty is a sum of squares",
        "use fit_for_precision",
    )
    from headcount.theory.fit.sample import sample, thin  # the search: slow to load

    data = thin(sample(problem))
    starts, found = _starts(data, heads), list[HeadSum]()
    last: list[np.ndarray] = []
    for factor in PENALTIES:
        penalty = factor * dtype.unit
        near = sorted(starts, key=lambda rates: _size(_penalised(data, rates, penalty)[1]))[
            :REFINED
        ]
        tried = [_descended(data, rates, penalty) for rates in near + last]
        rates = min(tried, key=lambda rates: _size(_penalised(data, rates, penalty)[1]))
        last = [rates]
        weights = [_penalised(data, rates, penalty)[0]]
        weights += [compensated(problem, rates, dtype, less * penalty) for less in (1.0, 0.1)]
        found += [HeadSum.of(problem.family, rates, a) for a in weights]
    return found


def compensated(problem: Problem, rates: np.ndarray, dtype: Dtype, penalty: float) -> np.ndarray:
    """Coefficients whose weights the format holds: one is rounded, the others fitted anew, and
    so on, the largest first.  [H]
    """
    # Z_h; rates are sorted
    mass = softmax_weights(problem, HeadSum.of(problem.family, rates, np.ones(len(rates))))
    alone = [
        HeadSum.of(problem.family, rates[h : h + 1], 1 / mass[h : h + 1]) for h in range(len(rates))
    ]
    # p_h as the format draws it, weight 1
    curves = np.stack([rounded_kernel(problem, head, dtype) for head in alone], axis=1)
    rest, weights, free = problem.target, np.zeros(len(rates)), list(range(len(rates)))
    while free:
        rows = np.concatenate([curves[:, free], penalty * np.eye(len(free))])
        fitted = np.linalg.lstsq(rows, np.concatenate([rest, np.zeros(len(free))]), rcond=None)[0]
        i = int(np.argmax(np.abs(fitted)))
        h = free.pop(i)
        weights[h] = float(fitted[i].astype(dtype.scalar))
        rest = rest - weights[h] * curves[:, h]
    return weights / mass


def _starts(data: "Sample", heads: int) -> list[np.ndarray]:
    """Rates at Chebyshev points of every scale, and around one rate."""
    from headcount.theory.fit.path import ETAS, chebyshev_rates  # the search: slow to load

    offsets = np.linspace(-1, 1, heads) if heads > 1 else np.zeros(1)
    centres = np.geomspace(2 / data.length, 4.0, CENTRES)
    near = [
        data.bounded(centre * np.exp(width * offsets)) for centre in centres for width in WIDTHS
    ]
    return [chebyshev_rates(data, heads, eta) for eta in ETAS] + near


def _penalised(data: "Sample", rates: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """The best coefficients [H] under the penalty, and what is left of the lags and of the
    penalty's rows [S + H].
    """
    columns = data.columns(rates)
    # lag 0 where it does not count
    unseen = data.family.columns(rates, np.arange(data.family.first_lag, data.lags[0]))
    sizes = np.sqrt((columns**2).sum(axis=0) + (unseen**2).sum(axis=0))
    rows = np.concatenate([columns / sizes, penalty * np.eye(len(rates))])
    target = np.concatenate([data.target, np.zeros(len(rates))])
    scaled = np.linalg.lstsq(rows, target, rcond=None)[0]
    return scaled / sizes, target - rows @ scaled


def _descended(data: "Sample", rates: np.ndarray, penalty: float) -> np.ndarray:
    """The local optimum in the rates, sorted; coefficients eliminated (varpro).  [H]"""

    def left(u: np.ndarray) -> np.ndarray:
        return _penalised(data, data.rates_at(u), penalty)[1]

    from scipy.optimize import least_squares  # slow to load

    found = least_squares(
        left, data.coordinate(data.bounded(rates)), xtol=1e-6, ftol=1e-6, max_nfev=EVALUATIONS
    )
    return np.sort(data.rates_at(found.x))


def _size(residual: np.ndarray) -> float:
    return float(residual @ residual)
