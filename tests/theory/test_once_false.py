"""Statements that the first version certified and that are false, with other numbers: each is
contradicted here by heads that are written down, and no bound says it any more.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.core.claims import Lags, Norm
from headcount.memory.kernels import Exponential, Lag, Power
from headcount.theory.bounds import check, lower_bound
from headcount.theory.heads import family
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.problem import Problem


def best_linear(columns: np.ndarray, rho: np.ndarray, budget: float, norm: str) -> float:
    """min ||rho - columns a|| with sum|a| <= budget, by a plain linear program (l1 or sup)."""
    S, H = columns.shape
    spread = np.eye(S) if norm == "l1" else np.ones((S, 1))
    extra = spread.shape[1]
    phi = np.concatenate([columns, -columns], axis=1)  # a = u - v
    rows = np.block([[phi, -spread], [-phi, -spread]])
    limit, at_most = np.r_[rho, -rho], np.r_[np.ones(2 * H), np.zeros(extra)]
    if math.isfinite(budget):
        rows, limit = np.vstack([rows, at_most]), np.r_[limit, budget]
    return linprog(np.r_[np.zeros(2 * H), np.ones(extra)], A_ub=rows, b_ub=limit).fun


@pytest.mark.parametrize(("rate", "window", "budget"), [(0.01, 200, 2e4), (0.03, 90, 500.0)])
def test_slow_log_heads_are_legal_on_a_window(rate, window, budget):
    """Once 'at least 0.1198' for log heads on 200 lags; rates below 1 give a tenth of it."""
    lags = np.arange(1.0, window)
    columns = lags[:, None] ** -np.geomspace(0.01, 20, 120)
    exists = best_linear(columns, np.exp(-rate * lags), budget, "l1")
    claim = lower_bound(Problem(Exponential(rate), family("log"), window=window, budget=budget))
    assert claim.scope.lowest_rate == 0
    assert 0 < claim.value <= exists * (1 + 1e-6)
    fast = lower_bound(
        Problem(Exponential(rate), family("log"), window=window, budget=budget, rates_from=1.0)
    )
    assert fast.value > 2 * exists  # what was said of all rates holds for those from 1 on
    assert fast.answers(Problem(Exponential(rate), family("log"), window=window).scope()).gaps


@pytest.mark.parametrize("exponent", [0.3, 0.45])
def test_a_slow_power_law_is_one_log_head(exponent):
    """Once 'at least 101, any number of heads'."""
    made = fit_kernel(Power(exponent), bias="log", heads=3, budget=60)
    assert made.errors.absolute.l1 == 0
    assert made.lower_bound.value == 0


@pytest.mark.parametrize(
    ("lag", "budget"), [pytest.param(3, 100.0, marks=pytest.mark.slow), (2, 12.0)]
)
def test_sup_norm_admits_slow_heads_on_all_lags(lag, budget):
    """Once 0.3414 for lag 3; rates from 0.1 on give 0.3157, tail included: each curve falls."""
    lags = np.arange(1.0, 3000.0)
    columns = lags[:, None] ** -np.geomspace(0.05, 30, 150)
    exists = best_linear(columns, (lags == lag).astype(float), budget, "sup")
    claim = lower_bound(Problem(Lag(lag), family("log"), Norm.SUP, budget=budget))
    assert claim.scope.lowest_rate == 0
    assert 0.9 * exists < claim.value <= exists * (1 + 1e-3)


@pytest.mark.parametrize("lag", [3, 4, pytest.param(6, marks=pytest.mark.slow)])
def test_a_window_that_ends_with_the_lag(lag):
    """Once 'at least 1' with as many heads as the lag; nodes near 1 leave one over a binomial."""
    nodes = 1 - 0.05 * np.arange(lag)
    exists = 1 / np.abs(np.poly(nodes)).max()
    made = fit_kernel(Lag(lag), heads=lag, window=lag + 1)
    assert made.lower_bound.value <= exists
    assert made.errors.absolute.l1 <= exists * 1.01
    exact = fit_kernel(Lag(lag), heads=lag + 1, window=lag + 1)
    assert exact.errors.absolute.l1 < 1e-12
    assert exact.coefficient_sum == pytest.approx(2.0 ** (2 * lag - 1))
    assert exact.lower_bound.value == 0


@pytest.mark.parametrize("name", ["lin", "log", "log1p"])
def test_bounds_on_growing_windows_are_about_their_own_lags(name):
    """The claim of one window is about that window or a longer one, never a shorter."""
    for stop, other in itertools.product((6, 9, 14), repeat=2):
        claim = lower_bound(Problem(Lag(4), family(name), window=stop, budget=30.0), 3)
        assert check(claim)
        question = Problem(Lag(4), family(name), window=other, budget=30.0).scope(3)
        answered = claim.answers(question).value is not None
        assert answered == (claim.scope.lags.stop <= other)
        assert claim.scope.lags == Lags(question.lags.first, claim.scope.lags.stop)


def test_other_norms_admit_other_rates():
    """l2 on all lags admits s^-0.6, whose squares can be summed; l1 does not."""
    assert Problem(Lag(3), family("log1p"), Norm.L2).lowest_rate == 0.5
    made = fit_kernel("lag:3", bias="log", norm="l2", budget=50, heads=4)
    assert made.lower_bound.scope.lowest_rate == 0.5
    assert made.lower_bound.value <= made.errors.absolute.l2
