"""Best coefficients for the paper's exponents: the published optima, whose coefficients no
double holds.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.core.errors import InputError
from headcount.memory.kernels import Lag, Power
from headcount.theory.fit import best_coefficients
from headcount.theory.fit.given_rates import arnoldi
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

from ..reference import norm, residuals


def paper_rates(name: str, heads: int) -> np.ndarray:
    """beta_k of Lemmas F.1 and F.4."""
    return (0.01 if name == "lin" else 1.01) + 0.01 * np.arange(heads)


def paper_fit(name, lag, heads, *, lags_only=True, budget=math.inf):
    window = 1024 + (name == "log") if lags_only else None
    return best_coefficients(
        Problem(Lag(lag), family(name), window=window, budget=budget),
        paper_rates(name, heads),
        lags_only=lags_only,
    )


def window_error(name, lag, found, digits=120):
    """l1 over the published window, in so many digits."""
    with mpmath.workdps(digits):
        rates = [mpmath.mpf(b) for b in found.head_sum.rates]
        a = [mpmath.mpf(int(x.p)) / int(x.q) for x in found.head_sum.coefficients]
        first, end = (0, 1024) if name == "lin" else (1, 1025)
        total = mpmath.mpf(0)
        for s in range(first, end):
            m = mpmath.mpf(s) if name == "lin" else mpmath.log(s)
            total += abs((s == lag) - mpmath.fdot(a, [mpmath.exp(-b * m) for b in rates]))
        return float(total)


def tail_error(found, start=1024.5, slowest=0.01, digits=80):
    """int |sum a t^-b| dt beyond the window: closed form between points so close that the sign
    changes at a few of them only.
    """
    with mpmath.workdps(digits):
        pairs = [
            (mpmath.mpf(int(x.p)) / int(x.q), mpmath.mpf(b) - 1)
            for x, b in zip(found.head_sum.coefficients, found.head_sum.rates, strict=True)
        ]
        logs = [mpmath.log(start) + 30 / slowest * (mpmath.mpf(i) / 1200) ** 3 for i in range(1201)]
        beyond = [mpmath.fsum(a / c * mpmath.exp(-c * u) for a, c in pairs) for u in logs] + [
            mpmath.mpf(0)
        ]
        return float(mpmath.fsum(abs(x - y) for x, y in itertools.pairwise(beyond)))


@pytest.mark.parametrize(
    ("name", "lag", "heads", "published", "digit"),
    [
        ("lin", 1, 32, 0.215, 5e-4),
        pytest.param("lin", 4, 64, 0.00062, 5e-6, marks=pytest.mark.slow),
        ("log", 1, 8, 0.0528, 5e-5),
        ("log", 1, 4, 0.606, 5e-4),
        ("log", 2, 16, 0.00822, 5e-6),
    ],
)
def test_published_optimum_over_the_window(name, lag, heads, published, digit):
    assert window_error(name, lag, paper_fit(name, lag, heads)) == pytest.approx(
        published, abs=digit
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lag", "heads", "published", "digit"),
    [("lin", 8, 64, 0.224, 5e-4), ("log", 4, 32, 7.98e-5, 5e-8), ("lin", 32, 128, 0.0117, 5e-5)],
)
def test_published_optimum_over_the_window_larger(name, lag, heads, published, digit):
    assert window_error(name, lag, paper_fit(name, lag, heads), 250) == pytest.approx(
        published, abs=digit
    )


def test_published_optimum_over_all_lags():
    found = paper_fit("log", 1, 32, lags_only=False)
    assert window_error("log", 1, found) + tail_error(found) == pytest.approx(0.0804, abs=1e-4)


@pytest.mark.parametrize(("name", "lag", "heads"), [("lin", 1, 16), ("lin", 8, 32), ("log", 2, 4)])
def test_below_the_threshold_zero_is_best(name, lag, heads):
    assert paper_fit(name, lag, heads).head_sum.coefficient_sum == 0


@pytest.mark.parametrize(
    ("name", "lag", "heads", "budget", "published", "digit"),
    [
        ("log", 1, 8, 1e3, 0.944, 5e-4),
        ("log", 1, 16, 1e5, 0.293, 5e-4),
        ("lin", 1, 64, 1e5, 0.568, 5e-4),
    ],
)
def test_published_optimum_within_a_budget(name, lag, heads, budget, published, digit):
    found = paper_fit(name, lag, heads, budget=budget)
    assert sum(abs(a) for a in found.head_sum.coefficients) <= int(budget)  # exactly: rationals
    assert window_error(name, lag, found, 40) == pytest.approx(published, abs=digit)


@pytest.mark.parametrize("which", [Norm.L1, Norm.SUP])
def test_uneven_rates_against_highs(which):
    problem, rates = Problem(Power(0.5), family("lin"), which, 60), np.array([0.05, 0.2, 1.5])
    found = best_coefficients(problem, rates)
    A = np.exp(-np.outer(problem.lags, rates))
    S = len(A)
    bound = -np.eye(S) if which is Norm.L1 else -np.ones((S, 1))
    cost = np.concatenate([np.zeros(3), np.ones(bound.shape[1])])
    G, h = (
        np.vstack([np.hstack([A, bound]), np.hstack([-A, bound])]),
        np.concatenate([problem.target, -problem.target]),
    )
    reference = linprog(cost, A_ub=G, b_ub=h, bounds=(None, None)).fun
    error = norm(
        residuals(problem.kernel, "lin", found.head_sum.rates, found.head_sum.coefficients, 1, 60),
        str(which),
    )
    assert float(error) == pytest.approx(reference, rel=1e-7)


def test_arnoldi_is_orthonormal_and_spans_the_powers():
    first, ratio = np.exp(-0.01 * np.arange(200)), np.exp(-0.05 * np.arange(200))
    Q = arnoldi(first, ratio, 12)
    assert Q.T @ Q == pytest.approx(np.eye(12), abs=1e-13)
    for k in range(12):
        power = first * ratio**k
        assert Q[:, : k + 1] @ (Q[:, : k + 1].T @ power) == pytest.approx(power, abs=1e-11)


@pytest.mark.parametrize("rates", [[], [[0.1, 0.2]], [math.nan], [math.inf], [-0.1, 0.2]])
def test_bad_rates_are_refused(rates):
    with pytest.raises(InputError, match="rates"):
        best_coefficients(Problem(Lag(1), family("lin")), np.array(rates))


@pytest.mark.parametrize(("name", "slow"), [("lin", 0.0), ("log", 1.0)])
def test_heads_that_cannot_be_summed_are_refused_where_all_lags_count(name, slow):
    problem, rates = Problem(Lag(2), family(name)), np.array([slow, 3.0])
    with pytest.raises(InputError, match="lags beyond the window count"):
        best_coefficients(problem, rates)
    assert best_coefficients(problem, rates, lags_only=True).head_sum.heads == 2


def test_a_kernel_that_is_zero_needs_no_weight():
    # lag 0 is invisible to log
    found = best_coefficients(Problem(Lag(0), family("log")), paper_rates("log", 4))
    assert found.head_sum.coefficient_sum == 0
