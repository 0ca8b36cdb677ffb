import dataclasses
import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import Lag, Power
from headcount.theory.fit_text import four_numbers
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.heads import Lin, Log
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem
from headcount.theory.rounding import (
    Dtype,
    affordable_budget,
    compensated,
    digits_lost,
    fit_for_precision,
    measured_in,
    penalised_fit,
    penalised_fits,
    rounded_errors,
    rounded_kernel,
    softmax_weights,
)


def lag_one(budget):
    """(C/2)(x^s - 0^s), x = 2/C: the closed form for lag 1 under budget C."""
    problem = Problem(Lag(1), Lin(), budget=budget)
    heads = HeadSum.of(
        Lin(), np.array([math.log(budget / 2), math.inf]), np.array([budget / 2, -budget / 2])
    )
    return problem, heads, measure(problem, heads)


@pytest.mark.parametrize(
    ("budget", "exact", "float32", "bfloat16"),
    [(10.0, 0.2500, 0.2500, 0.256), (1e3, 0.00200, 0.00200, 0.045)],
)
def test_published_rows(budget, exact, float32, bfloat16):
    problem, heads, errors = lag_one(budget)
    assert errors.l1 == pytest.approx(exact, rel=3e-3)
    assert rounded_errors(problem, heads, Dtype.FLOAT32, errors).error.l1 == pytest.approx(
        float32, rel=3e-3
    )
    assert rounded_errors(problem, heads, Dtype.BFLOAT16, errors).error.l1 == pytest.approx(
        bfloat16, rel=0.02
    )


def test_softmax_weights_carry_the_normaliser():
    problem = Problem(Lag(2), Lin())
    heads = HeadSum.of(Lin(), np.array([0.01, 1.0]), np.array([2.0, -3.0]))
    expected = np.array([2.0, -3.0]) / -np.expm1(-np.array([0.01, 1.0]))
    assert softmax_weights(problem, heads) == pytest.approx(expected, rel=1e-4)


def test_float32_is_close_to_exact_for_tame_heads():
    problem = Problem(Power(0.5), Lin(), window=200)
    heads = HeadSum.of(Lin(), np.array([0.01, 0.1, 1.0]), np.array([0.2, 0.3, 0.5]))
    drawn = rounded_kernel(problem, heads, Dtype.FLOAT32)
    exact = np.exp(-np.outer(problem.lags, [0.01, 0.1, 1.0])) @ np.array([0.2, 0.3, 0.5])
    assert np.abs(drawn - exact).max() < 1e-6
    coarse = rounded_kernel(problem, heads, Dtype.BFLOAT16)
    assert 1e-5 < np.abs(coarse - exact).max() < 1e-2


def test_log_heads_see_their_own_lags():
    problem = Problem(Lag(2), Log())
    heads = HeadSum.of(Log(), np.array([2.0, math.inf]), np.array([1.0, -0.5]))
    drawn = rounded_kernel(problem, heads, Dtype.FLOAT32)
    assert drawn[:3] == pytest.approx([0.5, 0.25, 1 / 9], rel=1e-5)


def test_overflow_is_reported_not_hidden():
    problem = Problem(Lag(1), Lin())
    heads = HeadSum.of(Lin(), np.array([1.0, 2.0]), np.array([1e39, -1e39]))
    rounded = rounded_errors(problem, heads, Dtype.FLOAT32, measure(problem, heads))
    assert not rounded.finite
    assert math.isinf(rounded.error.l1)


def test_digits_lost_is_the_condition_number():
    problem, heads, errors = lag_one(1e3)
    weight = np.abs(softmax_weights(problem, heads)).sum()
    assert digits_lost(problem, heads, errors) == pytest.approx(math.log10(weight), rel=1e-9)
    tame = HeadSum.of(Lin(), np.array([1.0]), np.array([1e-3]))
    assert digits_lost(problem, tame, measure(problem, tame)) == 0.0
    sup = dataclasses.replace(problem, norm=Norm.SUP)
    assert digits_lost(sup, heads, errors) == pytest.approx(3.0, rel=1e-9)


def test_rounding_costs_about_u_times_the_weights():
    for budget in (1e2, 1e3, 1e4, 1e5):
        problem, heads, errors = lag_one(budget)
        added = rounded_errors(problem, heads, Dtype.BFLOAT16, errors).error.l1
        weight = np.abs(softmax_weights(problem, heads)).sum()
        assert added <= errors.l1 + 3 * Dtype.BFLOAT16.unit * weight


def test_a_format_without_the_digits_does_well_by_chance_only():
    fit = fit_kernel("lag:2", heads=3, certify=False)
    assert fit.digits_lost > Dtype.BFLOAT16.digits + 10
    assert fit.rounded["bfloat16"].error.l1 < 0.01 < 100 < fit.rounded["float32"].error.l1
    assert (fit.by_chance("bfloat16"), fit.by_chance("float32")) == (True, False)
    held = fit.rounded["bfloat16"]
    assert not held.by_chance(Norm.L1, 1.0, Dtype.BFLOAT16.digits + 0.5)  # as one would expect
    assert not dataclasses.replace(held, finite=False).by_chance(Norm.L1, 1.0, 20.0)
    said = {value: why for name, value, why in four_numbers(fit) if name == "representable"}
    assert ["by chance" in why for why in said.values()] == [False, True]


def test_affordable_budget():
    assert affordable_budget(Dtype.BFLOAT16, 1.0, 0.02) == pytest.approx(10.24)
    assert affordable_budget(Dtype.FLOAT32, 2.0, 0.1) == pytest.approx(0.2 * 2**24)
    with pytest.raises(InputError, match="positive"):
        affordable_budget(Dtype.FLOAT32, 1.0, 0.0)


def test_the_best_heads_for_a_format_are_not_the_best_heads():
    """Lag 1 with two heads: what wins is decided by measuring in the format, not by the exact
    error.
    """
    problem = Problem(Lag(1), Lin())

    def fit(limited):
        return Fit(lag_one(min(max(limited.budget, 4.0), 1e9))[1], "closed form")

    best = fit_for_precision(problem, Dtype.BFLOAT16, fit, 1.0)
    error = measured_in(problem, best.head_sum, Dtype.BFLOAT16).l1
    for budget in (10.0, 51.2, 512.0, 1e3):
        other = lag_one(budget)
        assert error <= rounded_errors(problem, other[1], Dtype.BFLOAT16, other[2]).error.l1
    assert (
        fit_for_precision(
            dataclasses.replace(problem, budget=10.0), Dtype.BFLOAT16, fit, 1.0
        ).budget
        <= 10.0
    )


@pytest.mark.parametrize(
    ("lag", "dtype", "known"),
    [
        pytest.param(2, Dtype.BFLOAT16, 0.0031, marks=pytest.mark.slow),
        pytest.param(4, Dtype.FLOAT32, 0.0136, marks=pytest.mark.slow),
        (4, Dtype.BFLOAT16, 0.442),
        (8, Dtype.FLOAT32, 0.7931),
        pytest.param(8, Dtype.BFLOAT16, 0.8102, marks=pytest.mark.slow),
    ],
)
def test_penalised_fits_are_as_good_as_any_known(lag, dtype, known):
    """Squared errors of 4 lin heads beside a residual, found by other searches."""
    problem = Problem(Lag(lag), Lin(), Norm.L2, 32, residual=True)
    found = penalised_fit(problem, 4, dtype)
    assert measured_in(problem, found.head_sum, dtype).l2 ** 2 <= known


def test_a_penalised_fit_keeps_to_the_budget():
    problem = Problem(Lag(4), Lin(), Norm.L2, 32, budget=5e5, residual=True)
    found = penalised_fit(problem, 4, Dtype.FLOAT32)
    assert 0 < found.head_sum.coefficient_sum <= 5e5
    assert (
        penalised_fit(dataclasses.replace(problem, budget=1e-3), 4, Dtype.FLOAT32).head_sum.heads
        == 0
    )
    with pytest.raises(InputError, match="l2"):
        penalised_fits(dataclasses.replace(problem, norm=Norm.L1), 4, Dtype.FLOAT32)


def test_weights_rounded_one_at_a_time_make_up_for_each_other():
    problem = Problem(Lag(2), Lin(), Norm.L2, 32, residual=True)
    rates = np.array([1.2, 1.6, 2.5, 3.5])
    curves = np.exp(-np.outer(problem.lags, rates))
    nearest = HeadSum.of(Lin(), rates, np.linalg.lstsq(curves, problem.target, rcond=None)[0])
    made = HeadSum.of(Lin(), rates, compensated(problem, rates, Dtype.BFLOAT16, 0.0))
    off = [
        rounded_errors(problem, heads, Dtype.BFLOAT16, measure(problem, heads)).error.l2
        for heads in (nearest, made)
    ]
    assert off[1] < off[0] / 2
    held = softmax_weights(problem, made)
    assert held == pytest.approx(held.astype(Dtype.BFLOAT16.scalar).astype(float), rel=1e-12)


def test_penalised_fits_compete_for_a_format_in_l2():
    problem = Problem(Lag(2), Lin(), Norm.L2, 32, residual=True)
    poor = HeadSum.of(Lin(), np.array([0.5, 1.0, 2.0]), np.array([0.0, 0.1, 0.1]))
    best = fit_for_precision(problem, Dtype.BFLOAT16, lambda limited: Fit(poor, "by hand"), 1.0)
    assert best.method == "penalised least squares"
    assert measured_in(problem, best.head_sum, Dtype.BFLOAT16).l2 < 0.5


def test_where_every_fit_is_worse_than_nothing_in_the_format_no_head_is_used():
    """Whatever the search returns, an error above the kernel itself is never the answer."""
    problem = Problem(Lag(2), Lin())
    useless = HeadSum.of(problem.family, np.array([0.5, 0.6]), np.array([1e12, -1e12]))
    found = fit_for_precision(problem, Dtype.FLOAT32, lambda limited: Fit(useless, "useless"), 1.0)
    assert found.head_sum.heads == 0


def test_a_format_gets_smaller_weights_than_exact_arithmetic_needs():
    """Heads of a few lags cancel for nothing: a refit has far smaller weights, also where those of
    the exact fit lie within the budget that the format affords.
    """
    made = fit_kernel(
        "power:1.1345", bias="log1p", heads=8, window=12, dtype="float32", certify=False
    )
    assert made.rounded["float32"].error.l1 < 1e-4  # 2e-5 to 3e-5, by processor; 2e-3 without
