"""Closed forms: exact where they say so, within the budget, refused where zero is provably best."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import Exponential, Lag, Power
from headcount.theory.closed_forms import (
    best_bump,
    bump_bound,
    chebyshev_bump,
    closed_forms,
    dyadic,
    interpolation,
    lag_by_lin,
    lag_by_log,
    later_lag_by_lin,
    quadrature_rates,
)
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin, Log, Log1p, family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem

from .reference import norm, residuals


def l1(kernel, head_sum, length, first=0):
    return float(
        norm(
            residuals(
                kernel, head_sum.family.name, head_sum.rates, head_sum.coefficients, first, length
            ),
            "l1",
        )
    )


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Exponential(0.3), "lin"),
        (Power(1.5), "log"),
        (Lag(0), "lin"),
        (Lag(1), "log"),
        (Lag(0), "log1p"),
    ],
)
def test_its_own_curve_takes_one_head(kernel, name):
    problem = Problem(kernel, family(name))
    last = closed_forms(problem, 3, 0.0)[-1]
    assert last.optimal
    assert last.head_sum.heads == 1
    assert l1(kernel, last.head_sum, 50, problem.first_lag) < 1e-15


def test_a_rate_below_the_lowest_is_not_used():
    problem = Problem(Power(0.5), family("log"), window=100)
    assert closed_forms(problem, 1, 0.0)[-1].method == "one exact head"
    assert closed_forms(problem, 1, 1.0)[-1].method == "no head"


def test_a_budget_below_one_shrinks_the_exact_head():
    last = closed_forms(Problem(Exponential(0.3), Lin(), budget=0.25), 1, 0.0)[-1]
    assert not last.optimal
    assert last.head_sum.coefficient_sum == 0.25


@pytest.mark.parametrize(
    ("lag", "heads", "eta"), [(1, 2, 0.2), (3, 4, 0.05), (3, 6, 0.3), (12, 13, 0.01)]
)
def test_lin_heads_interpolate_a_lag(lag, heads, eta):
    found = lag_by_lin(Lin(), lag, heads, eta)
    assert (
        max(abs(r) for r in residuals(Lag(lag), "lin", found.rates, found.coefficients, 0, heads))
        < 1e-25
    )
    if heads == lag + 1:  # the smallest sum|a| of any nodes in [0, eta]
        assert found.coefficient_sum == pytest.approx(2 ** (2 * lag - 1) / eta**lag, rel=1e-9)


def test_lag_one_with_two_heads_and_budget_ten_is_the_known_optimum():
    forms = closed_forms(Problem(Lag(1), Lin(), budget=10.0), 2, 0.0)
    best = min(l1(Lag(1), f.head_sum, 400) for f in forms)
    assert best == pytest.approx(0.25, rel=1e-6)  # 5 (0.2^s - 0^s)


@pytest.mark.parametrize(("seen", "heads", "e"), [(2, 2, 2), (3, 5, 3), (6, 8, 4)])
def test_log_heads_interpolate_a_lag_exactly(seen, heads, e):
    found = lag_by_log(Log(), seen, heads, e)
    for t in range(1, heads + 1):
        assert sum(
            a / t ** int(b) for a, b in zip(found.coefficients, found.rates, strict=True)
        ) == (t == seen)
    shifted = lag_by_log(Log1p(), seen, heads, e)
    assert (
        max(
            abs(r)
            for r in residuals(
                Lag(seen - 1), "log1p", shifted.rates, shifted.coefficients, 0, heads
            )
        )
        < 1e-40
    )


@pytest.mark.parametrize(
    ("lag", "heads", "eta"), [(1, 1, 0.2), (3, 3, 0.05), (3, 6, 0.3), (12, 12, 0.01)]
)
def test_with_lag_zero_free_lin_heads_interpolate_from_lag_one(lag, heads, eta):
    found = later_lag_by_lin(Lin(), lag, heads, eta)
    assert found.heads == heads
    assert (
        max(
            abs(r)
            for r in residuals(Lag(lag), "lin", found.rates, found.coefficients, 1, heads + 1)
        )
        < 1e-25
    )


def test_with_lag_zero_free_log1p_heads_interpolate_from_lag_one():
    found = lag_by_log(Log1p(), 4, 5, 3, first=2)
    assert (
        max(abs(r) for r in residuals(Lag(3), "log1p", found.rates, found.coefficients, 1, 6))
        < 1e-40
    )


@pytest.mark.parametrize("name", ["lin", "log1p"])
@pytest.mark.parametrize("budget", [math.inf, 1e4])
def test_with_lag_zero_free_a_lag_takes_a_head_less(name, budget):
    problem = Problem(Lag(3), family(name), residual=True, budget=budget)
    forms = closed_forms(problem, 3, 0.0)
    assert forms[-1].head_sum.heads == 3 or math.isfinite(budget)
    assert all(f.head_sum.within(budget) for f in forms)
    assert not forms[0].optimal
    assert len(closed_forms(problem, 2, 0.0)) == 1
    if name == "lin":
        assert closed_forms(problem, 2, 0.0)[0].optimal  # Theorem A
        assert l1(Lag(3), forms[-1].head_sum, 200, 1) < (1e-6 if math.isinf(budget) else 1)


def test_theorem_a_makes_zero_optimal():
    assert [c.method for c in closed_forms(Problem(Lag(4), Lin()), 4, 0.0)] == ["no head"]
    assert closed_forms(Problem(Lag(4), Lin()), 4, 0.0)[0].optimal
    assert not closed_forms(Problem(Lag(4), Lin()), 5, 0.0)[0].optimal
    # the theorem is about l1
    assert not closed_forms(Problem(Lag(4), Lin(), Norm.L2), 4, 0.0)[0].optimal


@pytest.mark.parametrize("name", ["lin", "log", "log1p"])
def test_zero_is_optimal_exactly_where_theorem_a_proves_it(name):
    from headcount.theory.bounds.theorem_a import heads_claim

    seen = set()
    for lag, heads, window in itertools.product(range(1, 6), range(1, 7), (None, 6, 8, 10)):
        for residual in (False, True):
            problem = Problem(Lag(lag), family(name), window=window, residual=residual)
            claim = heads_claim(problem, heads)
            proved = claim is not None and claim.value >= 1
            assert closed_forms(problem, heads, problem.lowest_rate)[0].optimal == proved
            seen.add(proved)
    assert seen == {False, True}


def test_every_form_is_within_its_budget():
    for name in ("lin", "log", "log1p"):
        for budget in (3.0, 1e3, 1e6):
            for form in closed_forms(Problem(Lag(2), family(name), budget=budget), 6, 0.0):
                assert form.head_sum.within(budget)


def test_within_budget_decides_exactly():
    third = HeadSum.of(Lin(), np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.1, 0.1]))
    assert not third.within(0.3)  # three times the double 0.1 is above the double 0.3
    assert third.within(math.nextafter(0.3, 1))
    assert third.within(math.inf)


def test_quadrature_rates_integrate_the_power_law():
    """t^-p = 1/Gamma(p) int exp(-t e^u + p u) du by the trapezoid rule at these rates."""
    rates = quadrature_rates(Problem(Power(0.5), Lin(), window=100), 60)
    step = math.log(rates[1] / rates[0])
    # the rule's own nodes, ends added
    wide = np.exp(np.arange(math.log(rates[0]) - 20, math.log(rates[-1]) + 4, step))
    for t in (1.0, 10.0, 90.0):
        assert step * (np.exp(-t * wide) * wide**0.5).sum() / float(
            mpmath.gamma(0.5)
        ) == pytest.approx(t**-0.5, rel=1e-4)
    assert len(quadrature_rates(Problem(Power(0.5), Log(), window=100), 8)) == 0
    assert len(quadrature_rates(Problem(Exponential(0.5), Lin()), 8)) == 0


@pytest.mark.parametrize(
    ("family", "lag", "heads"),
    [(Lin(), 0, 5), (Lin(), 1, 9), (Lin(), 3, 27), (Log(), 1, 9), (Log(), 3, 25), (Log1p(), 1, 11)],
)
def test_the_bump_keeps_its_bound(family, lag, heads):
    step, decay = best_bump(family, lag, heads)
    bump = chebyshev_bump(family, lag, heads, step, decay)
    assert bump.heads == heads
    assert measure(Problem(Lag(lag), family), bump).l1 <= bump_bound(
        family, lag, heads, step, decay
    )


def test_an_even_number_of_heads_leaves_one_out():
    assert chebyshev_bump(Lin(), 1, 8, 0.5, 0.5).heads == 7


@pytest.mark.parametrize("lag", [1, 5, 10, 20])
def test_interpolation_row(lag):
    """Heads T + 4 with y = 1/2."""
    heads = interpolation(lag, lag + 4, math.log(2))
    error = measure(Problem(Lag(lag), Lin()), heads).l1
    assert error <= 0.0107


@pytest.mark.parametrize("lag", [1, 5, 20])
def test_one_head_more_than_the_lag_reaches_one_tenth(lag):
    assert measure(Problem(Lag(lag), Lin()), interpolation(lag, lag + 1, -math.log(0.08))).l1 <= 0.1


def test_interpolation_weights_of_the_notes():
    assert interpolation(5, 9, math.log(2)).coefficient_sum == pytest.approx(5e10, rel=0.05)
    assert interpolation(10, 14, math.log(2)).coefficient_sum == pytest.approx(2e27, rel=0.05)


def test_rates_are_exact_multiples():
    step = dyadic(math.log(2))
    rates = np.array(interpolation(6, 10, step).rates)
    assert (rates == step * np.arange(1, 11)).all()
    assert all((rate / step) == round(rate / step) for rate in rates)


def test_too_few_heads_are_refused():
    with pytest.raises(InputError, match="at least 6"):
        interpolation(5, 5, 1.0)
