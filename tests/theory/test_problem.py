"""Which lags count; and with lag 0 free no certified bound exceeds the error of weights that
exist.
"""

import dataclasses
import functools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.core.errors import InputError
from headcount.memory.kernels import (
    AbstractKernel,
    ArrayKernel,
    Exponential,
    Lag,
    MexicanHat,
    Oscillating,
    Power,
    Window,
)
from headcount.theory.bounds import check, lower_bound
from headcount.theory.heads import family
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.problem import Norm, Problem

from .reference import Digits, curve, norm, residuals

FREE = ["lin", "log1p"]  # log heads do not see lag 0 in any case
KERNELS: tuple[AbstractKernel, ...] = (
    Lag(2),
    Lag(4),
    Exponential(0.3),
    Power(0.5),
    Oscillating(0.1, 0.7),
    MexicanHat(10.0, 3.0),
    Window(5),
    ArrayKernel((0.5, -1.0, 0, 0, 2.0)),
    ArrayKernel((3.0, 0, 0, 1.0)),
)
WINDOW = 48


@pytest.mark.parametrize(
    ("name", "without", "given"), [("lin", 0, 1), ("log1p", 0, 1), ("log", 1, 1)]
)
def test_first_lag(name, without, given):
    assert Problem(Lag(3), family(name)).first_lag == without
    problem = Problem(Lag(3), family(name), residual=True)
    assert problem.first_lag == given
    assert len(problem.lags) == len(problem.target) == problem.length - given
    assert Problem(Power(0.5), family(name)).first_lag == 1


def interpolating(kernel: AbstractKernel, name: str, rates, first: int) -> list:
    """Coefficients with which as many heads meet the kernel on lags first, first + 1, …, in 60
    digits.
    """
    with mpmath.workdps(60):
        lags = range(first, first + len(rates))
        matrix = mpmath.matrix([[curve(name, float(b), s) for b in rates] for s in lags])
        return list(mpmath.lu_solve(matrix, mpmath.matrix([kernel.at(s, Digits) for s in lags])))


def test_four_lin_heads_reach_lag_four_when_lag_zero_is_free():
    """The weights that refute the bound which counts lag 0: e^{-p} = 0.01 (1, 2, 3, 4)."""
    rates = -np.log(0.01 * np.arange(1, 5))
    a = interpolating(Lag(4), "lin", rates, 1)
    loss = float(norm(residuals(Lag(4), "lin", rates, a, 1, 200), "l2")) ** 2
    assert loss == pytest.approx(0.0100, abs=1e-4)
    assert float(sum(abs(x) for x in a)) == pytest.approx(6.3e7, rel=0.01)
    counted = Problem(Lag(4), family("lin"), Norm.L2, 32)
    free = dataclasses.replace(counted, residual=True)
    assert lower_bound(counted, 4).value ** 2 > 0.27
    assert lower_bound(free, 4).value ** 2 <= loss
    assert lower_bound(counted, 4).answers(free.scope(4)).value is None
    assert lower_bound(free, 3).value > 0.5  # three heads do not reach it all the same
    assert (
        fit_kernel(Lag(4), heads=4, norm="l2", window=32, certify=False, residual=True).error.l2
        < 1e-8
    )


@functools.cache
def bounded(k: int, name: str, norm: Norm, budget: float, heads: int | None):
    problem = Problem(KERNELS[k], family(name), norm, WINDOW, budget, residual=True)
    bound = lower_bound(problem, heads)
    assert check(bound)
    return problem, bound


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, len(KERNELS) - 1),
    st.sampled_from(FREE),
    st.sampled_from(list(Norm)),
    st.sampled_from([(50.0, None), (math.inf, 1), (math.inf, 2), (math.inf, 3), (math.inf, 4)]),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_no_existing_error_is_below_the_bound(k, name, which, size, seed, meeting):
    """Heads that meet the kernel on the first lags from 1 on, or least squares there: any
    weights refute a bound that is too high.
    """
    budget, heads = size
    problem, bound = bounded(k, name, which, budget, heads)
    rng = np.random.default_rng(seed)
    count = heads or int(rng.integers(1, 6))
    spread = np.sort(rng.uniform(0.05, 1.0, count).cumsum()) * 10 ** rng.uniform(-1, 1.2)
    rates = problem.lowest_rate + spread
    if meeting:
        a = interpolating(problem.kernel, name, rates, 1)
    else:
        a = [
            mpmath.mpf(float(x))
            for x in np.linalg.lstsq(
                family(name).columns(rates, problem.lags), problem.target, rcond=1e-12
            )[0]
        ]
    weight = float(sum(abs(x) for x in a))
    a = (
        [x * min(1.0, 0.999 * budget / weight) for x in a]
        if weight > 0 and math.isfinite(budget)
        else a
    )
    length = 400 if problem.tail_counts else WINDOW
    assert (
        float(norm(residuals(problem.kernel, name, rates, a, 1, length), str(which))) >= bound.value
    )


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Lag(3), "lin"),
        (Window(4), "log1p"),
        *(
            pytest.param(kernel, name, marks=pytest.mark.slow)
            for kernel, name in (
                (Lag(3), "log1p"),
                (Window(4), "lin"),
                (Exponential(0.3), "lin"),
                (Exponential(0.3), "log1p"),
            )
        ),
    ],
)
def test_a_free_lag_never_costs(kernel, name):
    """Leaving lag 0 out lowers the norm: the old bound without lag 0 holds with it, not the
    other way round.
    """
    counted = Problem(kernel, family(name), Norm.L1, WINDOW, 40.0)
    free = dataclasses.replace(counted, residual=True)
    for heads in (1, 2, None):
        assert (
            lower_bound(free, heads).value <= lower_bound(counted, heads).value * (1 + 1e-6) + 1e-9
        )


@pytest.mark.parametrize(
    ("kernel", "name", "heads", "norm", "window", "error", "bound"),
    [
        ("lag:4", "lin", 4, "l2", 32, 0.7656602732578914, 0.5266403878479265),
        pytest.param(
            "lag:4", "log1p", 4, "l2", 32, 0.8336832638154124, 0.5, marks=pytest.mark.slow
        ),
        ("exp:1.0", "log1p", 2, "l2", 64, 0.020248224989672946, 0.0),
        ("power:0.5", "lin", 4, "l2", 1000, 0.041151536348293494, 0.014070370961789092),
        ("lag:4", "lin", 4, "l1", None, 1.0, 1.0),
    ],
)
def test_counted_lags_are_as_before(kernel, name, heads, norm, window, error, bound):
    """Figures from before lag 0 could be free."""
    found = fit_kernel(kernel, bias=name, heads=heads, norm=norm, window=window)
    assert found.error[norm] == pytest.approx(error, rel=1e-4)
    assert found.lower_bound.value == pytest.approx(bound, rel=1e-4)


def test_a_kernel_that_the_residual_gives_is_refused():
    with pytest.raises(InputError, match="which the residual gives"):
        fit_kernel(Lag(0), heads=1, residual=True)


@pytest.mark.parametrize(
    ("name", "residual", "needed"), [("lin", False, 4), ("lin", True, 3), ("log", False, 3)]
)
def test_heads_that_interpolate_a_finite_kernel_come_close_to_it(name, residual, needed):
    """Rates far apart and fast: what interpolation leaves beyond the support is small."""
    problem = Problem(Lag(3), family(name), residual=residual)
    assert problem.interpolated_by(needed)
    assert not problem.interpolated_by(needed - 1)
    lags = np.arange(problem.first_lag, 60.0)
    rates = 8.0 * 1.6 ** np.arange(needed)
    phi = problem.decay.columns(rates, lags)
    a = np.linalg.solve(phi[:needed], (lags[:needed] == 3).astype(float))
    assert np.abs((lags == 3) - phi @ a).sum() < 0.2
    assert not Problem(Power(1.0), family(name)).interpolated_by(100)
