"""Best coefficients for given rates: against HiGHS and scipy where these can be trusted, and by
duality where they cannot.
"""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.memory.kernels import Lag, Power
from headcount.theory.fit.lp import coefficients, orthonormal, solved, within
from headcount.theory.fit.sample import sample
from headcount.theory.heads import family
from headcount.theory.measure import norm_of
from headcount.theory.problem import Norm, Problem

RATES = np.array([0.05, 0.4, 1.5])


def brute_force(data, rates):
    """The program on raw columns with a = p - q, fine for three well-separated heads."""
    A, S, H = data.columns(rates), len(data.target), len(rates)
    sup = data.norm is Norm.SUP
    bound = -np.ones((S, 1)) if sup else -np.eye(S)
    G = np.vstack([np.hstack([A, -A, bound]), np.hstack([-A, A, bound])])
    h = np.concatenate([data.target, -data.target])
    extra = bound.shape[1]
    if math.isfinite(data.budget):
        G, h = (
            np.vstack([G, np.concatenate([np.ones(2 * H), np.zeros(extra)])]),
            np.append(h, data.budget),
        )
    return linprog(
        np.concatenate([np.zeros(2 * H), np.ones(extra)]), A_ub=G, b_ub=h, bounds=(0, None)
    ).fun


@pytest.mark.parametrize("norm", [Norm.L1, Norm.SUP])
@pytest.mark.parametrize("budget", [math.inf, 0.6, 1.2])
@pytest.mark.parametrize("name", ["lin", "log", "log1p"])
def test_value_is_that_of_highs(name, budget, norm):
    data = sample(Problem(Power(0.5), family(name), norm, 80, budget))
    a = coefficients(data, RATES)
    assert data.error(RATES, a) == pytest.approx(brute_force(data, RATES), rel=1e-6)
    assert math.fsum(np.abs(a)) <= budget


def test_l2_without_budget_is_least_squares():
    data = sample(Problem(Power(0.5), family("lin"), Norm.L2, 80))
    assert coefficients(data, RATES) == pytest.approx(
        np.linalg.lstsq(data.columns(RATES), data.target, rcond=None)[0], rel=1e-8
    )


def test_l2_with_a_budget_is_on_its_border_and_stationary():
    data = sample(Problem(Power(0.5), family("lin"), Norm.L2, 80, 0.6))
    a = coefficients(data, RATES)
    gradient = data.columns(RATES).T @ (data.target - data.columns(RATES) @ a)
    assert np.abs(a).sum() == pytest.approx(0.6, rel=1e-7)
    used = np.abs(a) > 1e-6
    assert gradient[used] * np.sign(a[used]) == pytest.approx(gradient[used].max(), rel=1e-4)
    assert (np.abs(gradient) <= np.abs(gradient[used]).max() * (1 + 1e-4)).all()


@pytest.mark.parametrize("budget", [10.0, 1e3, 1e6])
def test_multipliers_bound_every_other_choice_of_coefficients(budget):
    """Weak duality: for any |y| <= 1 the error is at least y.rho - C max_h |y.phi_h|."""
    data = sample(Problem(Lag(3), family("lin"), window=200, budget=budget))
    rates = np.linspace(0.3, 6, 12)
    a, y = solved(data, rates)
    y = np.clip(y, -1, 1)
    floor = y @ data.target - budget * np.abs(y @ data.columns(rates)).max()
    error = data.error(rates, a)
    assert floor <= error <= floor + 1e-6
    assert math.fsum(np.abs(a)) <= budget


def test_small_optima_are_solved_to_their_own_size():
    """A kernel that the rates fit exactly: the error left is rounding, not the solver's
    tolerance.
    """
    data = sample(Problem(Power(0.5), family("log"), window=100))
    assert data.error(np.array([0.5, 2.0]), coefficients(data, np.array([0.5, 2.0]))) < 1e-11


def test_no_rates_no_coefficients():
    data = sample(Problem(Power(0.5), family("lin"), window=50))
    a, y = solved(data, np.zeros(0))
    assert len(a) == 0
    assert y @ data.target == pytest.approx(norm_of(data.target, Norm.L1))


def test_within_scales_back_only_what_is_outside():
    a = np.array([0.1, -0.2, 0.7])
    assert within(a, 1.0) is a or math.fsum(np.abs(a)) > 1.0
    rng = np.random.default_rng(1)
    for _ in range(50):
        b = rng.normal(size=9)
        assert math.fsum(np.abs(within(b, 1.0))) <= 1.0


def test_orthonormal():
    B = np.vander(np.linspace(0, 1, 60), 6)
    Q = B @ np.linalg.inv(orthonormal(B))
    assert Q.T @ Q == pytest.approx(np.eye(6), abs=1e-8)
    dependent = np.ones((5, 2))
    assert np.isfinite(np.linalg.inv(orthonormal(dependent, 0.1))).all()


def test_more_columns_than_lags_still_give_a_square_factor():
    R = orthonormal(np.ones((2, 5)), floor=1e-3)
    assert R.shape == (5, 5)
    assert np.abs(np.diag(R)).min() >= 1e-3
