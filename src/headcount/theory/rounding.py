"""What the same heads give in float32 and bfloat16, and how large coefficients a precision affords.

How a head is evaluated. A softmax head at lag s weighs p_h(s) = phi(s; b_h) / Z_h, Z_h = sum_s
phi(s; b_h) over the lags handled one by one, and its value map carries w_h = a_h Z_h; the kernel is
sum_h w_h p_h(s). Rates, logits and the softmax are float32; then p_h(s) and w_h are rounded to the
format, and products and the sum over heads accumulate in float32. For float32 this is plain
float32, for bfloat16 what attention on common hardware does ("probabilities and values"). Z_h is a
design constant: w_h = a_h Z_h is computed exactly and rounded once.

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

import ml_dtypes
import numpy as np
from flint import arb
from scipy.optimize import least_squares

from headcount.core.errors import require
from headcount.core.threads import one_thread
from headcount.theory.balls import precision
from headcount.theory.errors import Errors, Norms, measure
from headcount.theory.families import AbstractFamily
from headcount.theory.fit.path import ETAS, chebyshev_rates
from headcount.theory.fit.sample import Sample, sample, thin
from headcount.theory.problem import HeadSum, Norm, Problem

# what rounding may cost at each budget, relative to the kernel
LADDER = (1e4, 30.0, 1.0, 0.3, 0.1, 0.01)
# times u: from a worst case down to roundings that cancel
PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
REFINED = 4  # starts that are refined at each penalty, beside the last penalty's optimum
# of starts with heads around one rate: a far lag is met by heads that nearly coincide
WIDTHS = (0.1, 0.5, 2.0)
CENTRES = 8
EVALUATIONS = 100


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


@dataclasses.dataclass(frozen=True)
class Rounded:
    """The error of the rounded evaluation over the explicit lags plus the exact tail; `finite`
    is False after an overflow.
    """

    dtype: Dtype
    error: Norms
    finite: bool


def softmax_weights(problem: Problem, head_sum: HeadSum) -> np.ndarray:
    """w_h = a_h Z_h in float64, computed in balls (inf where it exceeds a double).  [H]"""
    with precision(128):
        weights = []
        for rate, a in zip(head_sum.rates, head_sum.coefficients, strict=True):
            weights.append(
                float(
                    arb(a)
                    * curve_mass(problem.family, rate, problem.family.first_lag, problem.length)
                )
            )
    return np.array(weights)


def curve_mass(family: AbstractFamily, rate: float, first: int, length: int, power: int = 1) -> arb:
    """sum of phi(s; b)^power over first <= s < length: a difference of closed forms, lag by lag
    where they diverge.
    """
    if math.isinf(rate):
        return arb(1 if first <= family.first_lag else 0)
    total = power * arb(rate)
    mass = family.tail(total, first) - family.tail(total, length)  # type: ignore[arg-type]
    return (
        mass
        if mass.is_finite()
        else sum((x**power for x in family.curve(rate, length)[first:]), arb(0))
    )


def rounded_kernel(problem: Problem, head_sum: HeadSum, dtype: Dtype) -> np.ndarray:
    """The kernel that the heads draw in `dtype`, on `problem.lags`, as float64.  [S]"""
    # softmax runs over every lag the head sees, whether or not the error counts it
    first = problem.family.first_lag
    lags = np.arange(first, problem.length, dtype=np.float64)
    lags = lags if problem.family.name == "lin" else np.log(lags + (1 - first))
    weights = softmax_weights(problem, head_sum)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rates = np.array(head_sum.rates, dtype=np.float32)  # [H]
        distance = lags.astype(np.float32)  # [S]
        # [S, H]
        curves = np.exp(
            np.where(distance[:, None] == 0, np.float32(0), -rates[None, :] * distance[:, None])
        )
        probabilities = (curves / curves.sum(axis=0, keepdims=True, dtype=np.float32)).astype(
            dtype.scalar
        )
        total = np.zeros(len(lags), dtype=np.float32)
        for h, w in enumerate(weights.astype(dtype.scalar).astype(np.float32)):
            total += probabilities[:, h].astype(np.float32) * w
    return total[problem.first_lag - first :].astype(np.float64)


def rounded_errors(problem: Problem, head_sum: HeadSum, dtype: Dtype, exact: Errors) -> Rounded:
    """Error of the evaluation in `dtype`; `exact` is `errors.measure` of the same heads, whose
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
        for rate, a in zip(head_sum.rates, head_sum.coefficients, strict=True):
            if problem.norm is Norm.SUP:
                size = arb(1) if first <= family.first_lag else family.curve(rate, first + 1)[first]
            elif problem.norm is Norm.L2:
                size = curve_mass(family, rate, first, problem.length, 2).sqrt()
            else:
                size = curve_mass(family, rate, first, problem.length)
            total += abs(arb(a)) * size
        ratio = total / arb(exact.kernel[problem.norm])
        return max(float(ratio.log()) / math.log(10), 0.0) if ratio > 1 else 0.0


def affordable_budget(dtype: Dtype, kernel_norm: float, tol: float) -> float:
    """The sum|w| at which rounding alone costs `tol` of the kernel: tol ||kernel|| / u."""
    require(tol > 0, f"tol {tol}", "a positive number", "pass the relative error that is wanted")
    return tol * kernel_norm / dtype.unit


@dataclasses.dataclass(frozen=True)
class PrecisionFit:
    """The best heads for a format: chosen by their measured error in it, not by their exact
    error.
    """

    head_sum: HeadSum
    method: str
    error: Norms
    budget: float


@one_thread()
def fit_for_precision(
    problem: Problem,
    dtype: Dtype,
    fit: Callable[[Problem], tuple[HeadSum, str]],
    kernel_norm: float,
) -> PrecisionFit:
    """Minimise E + u sum|w|: fit under a ladder of budgets around what the format affords and keep
    what measures best in it.

    The ladder starts far above: u sum|w| is a worst case, and roundings that are equal in two
    cancelling heads cost nothing. In l2 the penalised fits with as many heads compete.
    """
    best: PrecisionFit | None = None
    heads = 0
    for tol in LADDER:
        budget = min(affordable_budget(dtype, kernel_norm, tol), problem.budget)
        if best is not None and budget == best.budget == problem.budget:
            continue
        limited = dataclasses.replace(problem, budget=budget)
        head_sum, method = fit(limited)
        heads = max(heads, head_sum.heads)
        rounded = rounded_errors(limited, head_sum, dtype, measure(limited, head_sum))
        if best is None or rounded.error[problem.norm] < best.error[problem.norm]:
            best = PrecisionFit(head_sum, method, rounded.error, budget)
    assert best is not None
    if problem.norm is Norm.L2 and heads:
        best = min((best, penalised_fit(problem, heads, dtype)), key=lambda found: found.error.l2)
    return best


def penalised_fit(problem: Problem, heads: int, dtype: Dtype) -> PrecisionFit:
    """Of the penalised fits within the budget the one that measures best (l2) in the format; no
    head at all if none is better.
    """
    none = HeadSum(problem.family, (), ())
    candidates = [
        none,
        *(
            found
            for found in penalised_fits(problem, heads, dtype)
            if found.coefficient_sum <= problem.budget
        ),
    ]
    errors = [
        rounded_errors(problem, found, dtype, measure(problem, found)).error for found in candidates
    ]
    best = min(range(len(candidates)), key=lambda i: errors[i].l2)
    return PrecisionFit(
        candidates[best], "penalised least squares", errors[best], candidates[best].coefficient_sum
    )


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


def _starts(data: Sample, heads: int) -> list[np.ndarray]:
    """Rates at Chebyshev points of every scale, and around one rate."""
    offsets = np.linspace(-1, 1, heads) if heads > 1 else np.zeros(1)
    centres = np.geomspace(2 / data.length, 4.0, CENTRES)
    near = [
        data.bounded(centre * np.exp(width * offsets)) for centre in centres for width in WIDTHS
    ]
    return [chebyshev_rates(data, heads, eta) for eta in ETAS] + near


def _penalised(data: Sample, rates: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
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


def _descended(data: Sample, rates: np.ndarray, penalty: float) -> np.ndarray:
    """The local optimum in the rates, coefficients eliminated (variable projection), sorted.
    [H]
    """

    def left(u: np.ndarray) -> np.ndarray:
        return _penalised(data, data.rates_at(u), penalty)[1]

    found = least_squares(
        left, data.coordinate(data.bounded(rates)), xtol=1e-6, ftol=1e-6, max_nfev=EVALUATIONS
    )
    return np.sort(data.rates_at(found.x))


def _size(residual: np.ndarray) -> float:
    return float(residual @ residual)
