"""Residuals of one size, in more digits than float64 has."""

import numpy as np
import pytest

from headcount.memory.kernels import Lag, Power
from headcount.theory.balls import kernel_values, precision
from headcount.theory.bounds import check
from headcount.theory.bounds.minimax import DIGITS, levelled
from headcount.theory.bounds.zeros import zeros_claim
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

# The largest error of published minimax sets for 1/x, on the whole lags 1..R (docs/proved.md):
# terms, R, error
PUBLISHED = [
    (6, 100, 4.8e-5),
    (8, 1000, 2.3e-5),
    pytest.param(10, 1000, 2.4e-6, marks=pytest.mark.slow),
]
LONGEST = pytest.param(16, 1000, 2.4e-9, marks=pytest.mark.slow)


def largest_error(claim, problem: Problem) -> float:
    """Of the head sum that the bound compares with, in balls."""
    with precision(200):
        drawn = kernel_values(problem.kernel, problem.length)
        for b, a in zip(claim.evidence["rates"], claim.evidence["coefficients"], strict=True):
            curve = problem.family.curve(b, problem.length)
            drawn = [r - a * c for r, c in zip(drawn, curve, strict=True)]
        return max(float(abs(r).upper()) for r in drawn[problem.first_lag :])


@pytest.mark.parametrize(("terms", "R", "published"), [*PUBLISHED, LONGEST])
def test_inverse_lags_are_optimal_within_a_percent(terms, R, published):
    problem = Problem(Power(1.0), family("lin"), Norm.SUP, window=R + 1)
    claim = zeros_claim(problem, terms)
    assert check(claim)
    reached = largest_error(claim, problem)
    assert claim.value <= reached <= 1.01 * claim.value
    assert reached < published


@pytest.mark.slow
@pytest.mark.parametrize("terms", range(6, 19))
def test_inverse_lags_by_every_number_of_terms(terms):
    problem = Problem(Power(1.0), family("lin"), Norm.SUP, window=1001)
    claim = zeros_claim(problem, terms)
    assert check(claim)
    assert largest_error(claim, problem) <= 1.01 * claim.value


def test_a_start_that_does_not_alternate_is_refused():
    with precision(DIGITS):
        rho = kernel_values(Lag(0), 12)
    found = levelled(family("lin"), rho, 0, np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    assert found is None or np.isfinite(found[0]).all()
