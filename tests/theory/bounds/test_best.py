"""Never a lower bound above an error that exists: head sums within the budget and the number of
heads, measured with mpmath.
"""

import functools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.core.claims import Lags
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
from headcount.theory.problem import Norm, Problem

KERNELS: tuple[AbstractKernel, ...] = (
    Lag(1),
    Lag(3),
    Exponential(0.3),
    Power(0.5),
    Power(2.0),
    Oscillating(0.1, 0.7),
    MexicanHat(10.0, 3.0),
    Window(5),
    ArrayKernel((0.5, -1.0, 0, 0, 2.0)),
)
WINDOW = 48


class Digits:
    """mpmath as the namespace of kernel formulas."""

    convert, exp, cos, power = mpmath.mpf, mpmath.exp, mpmath.cos, mpmath.power


@functools.cache
def bounded(k: int, name: str, norm: Norm, budget: float, heads: int | None):
    problem = Problem(KERNELS[k], family(name), norm=norm, window=WINDOW, budget=budget)
    bound = lower_bound(problem, heads)
    assert check(bound)
    return problem, bound


def error(problem: Problem, rates: np.ndarray, coefficients: np.ndarray) -> float:
    """The error over the window's lags in 40 digits; a singular lag is not counted (the most
    favourable reading).
    """
    shift = {"lin": None, "log": 0, "log1p": 1}[problem.family.name]
    first = max(problem.family.first_lag, int(problem.kernel.singular_at_zero))
    with mpmath.workdps(40):
        left = []
        for s in range(first, WINDOW):
            curves = [
                (
                    mpmath.exp(-mpmath.mpf(float(b)) * s)
                    if shift is None
                    else mpmath.power(s + shift, -mpmath.mpf(float(b)))
                )
                for b in rates
            ]
            left.append(
                abs(
                    problem.kernel.at(s, Digits)
                    - mpmath.fsum(
                        mpmath.mpf(float(a)) * c for a, c in zip(coefficients, curves, strict=True)
                    )
                )
            )
        return float(
            {
                Norm.L1: mpmath.fsum(left),
                Norm.L2: mpmath.sqrt(mpmath.fsum(x * x for x in left)),
                Norm.SUP: max(left),
            }[problem.norm]
        )


questions = given(
    st.integers(0, len(KERNELS) - 1),
    st.sampled_from(["lin", "log", "log1p"]),
    st.sampled_from(list(Norm)),
    st.sampled_from([(2.0, None), (50.0, 3), (math.inf, 2)]),
    st.integers(0, 10**6),
    st.booleans(),
)


def no_existing_error_is_below_the_bound(k, name, norm, size, seed, fitted):
    budget, heads = size
    problem, bound = bounded(k, name, norm, budget, heads)
    rng = np.random.default_rng(seed)
    count = heads or rng.integers(1, 9)
    rates = problem.lowest_rate + rng.exponential(1, count) * 10 ** rng.uniform(-2, 1)
    lags = problem.lags[int(problem.kernel.singular_at_zero and name != "log") :]
    if fitted:  # a least-squares fit comes close to what is possible
        coefficients = np.linalg.lstsq(
            family(name).columns(rates, lags),
            problem.kernel.values(WINDOW)[lags.astype(int)],
            rcond=1e-12,
        )[0]
    else:
        coefficients = rng.normal(size=len(rates))
    coefficients *= (
        min(1.0, 0.999 * budget / np.abs(coefficients).sum()) if math.isfinite(budget) else 1.0
    )
    assert error(problem, rates, coefficients) >= bound.value


@settings(max_examples=25, deadline=None)
@questions
def test_no_existing_error_is_below_the_bound(k, name, norm, size, seed, fitted):
    no_existing_error_is_below_the_bound(k, name, norm, size, seed, fitted)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@questions
def test_no_existing_error_is_below_the_bound_of_many_questions(k, name, norm, size, seed, fitted):
    no_existing_error_is_below_the_bound(k, name, norm, size, seed, fitted)


def test_budget_and_heads_are_combined():
    few, many = Problem(Lag(3), family("lin"), window=64, budget=1e3), 3
    assert lower_bound(few, many).method == "theorem-a"
    assert lower_bound(few, many).value == 1.0
    assert lower_bound(few, 4).method == "dual"
    assert lower_bound(few, None).method == "dual"
    tight = Problem(Power(0.5), family("lin"), window=64, budget=100.0)
    assert lower_bound(tight, 2).method == "squeeze"
    other = Problem(Power(0.5), family("log1p"), window=64, budget=100.0)
    assert lower_bound(other, 2).method in ("zero-counting", "branch")


def test_says_what_it_holds_for():
    by_budget = lower_bound(Problem(Lag(2), family("lin"), window=64, budget=10.0)).scope
    assert (by_budget.weight, by_budget.heads, by_budget.lags) == (10.0, None, Lags(0, 64))
    by_heads = lower_bound(Problem(Lag(2), family("lin"), window=64, budget=10.0), 1).scope
    assert (by_heads.weight, by_heads.heads, by_heads.lags) == (math.inf, 1, Lags(0, 4))


def test_nothing_known_is_zero():
    assert lower_bound(Problem(Lag(2), family("lin"))).value == 0
    assert lower_bound(Problem(Lag(2), family("lin")), 30).value == 0


def test_no_heads_is_refused():
    with pytest.raises(InputError):
        lower_bound(Problem(Lag(2), family("lin")), 0)
