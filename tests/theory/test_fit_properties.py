"""For random kernels, biases, heads and budgets: bound <= error, the error is right, and more
never hurts.
"""

import dataclasses
import math

import mpmath
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.memory.kernels import ArrayKernel, Exponential, Lag, Oscillating, Power
from headcount.theory.bounds import lower_bound
from headcount.theory.fit import fit_heads
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem

from .reference import norm, residuals

SWEEP = settings(
    max_examples=4, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
FEW, MANY = (settings(SWEEP, max_examples=count) for count in (2, 24))
WINDOW = 64

windowed = st.one_of(
    st.builds(Exponential, st.floats(0.02, 3.0)),
    st.builds(Power, st.floats(0.3, 3.0)),
    st.builds(Oscillating, st.floats(0.05, 0.5), st.floats(0.1, 1.5)),
    st.builds(
        ArrayKernel,
        st.lists(st.floats(-2, 2).filter(lambda x: abs(x) > 1e-3), min_size=2, max_size=6).map(
            tuple
        ),
    ),
    st.builds(Lag, st.integers(1, 4)),
)
biases = st.sampled_from(["lin", "log", "log1p"])
budgets = st.sampled_from([5.0, 100.0, 1e4])
norms = st.sampled_from(list(Norm))


@st.composite
def problems(draw):
    return Problem(draw(windowed), family(draw(biases)), draw(norms), WINDOW, draw(budgets))


def reference_error(problem, head_sum, length):
    """60 digits over `length` lags; beyond them by the triangle inequality, which bounds what is
    missing.
    """
    first, bias = problem.first_lag, problem.family.name
    value = norm(
        residuals(problem.kernel, bias, head_sum.rates, head_sum.coefficients, first, length),
        str(problem.norm),
    )
    if not problem.tail_counts:
        return float(value), 0.0
    with mpmath.workdps(30):
        rest = mpmath.mpf(0)
        for b, a in zip(head_sum.rates, head_sum.coefficients, strict=True):
            if not math.isinf(b):
                curve = (
                    mpmath.exp(-mpmath.mpf(b) * length) / (1 - mpmath.exp(-mpmath.mpf(b)))
                    if bias == "lin"
                    else mpmath.zeta(b, length)
                )
                rest += abs(mpmath.mpf(int(a.p)) / int(a.q)) * curve
    return float(value), float(rest)


@SWEEP
@given(problems(), st.integers(1, 4))
def test_bound_below_error_and_error_right(problem, heads):
    found = fit_heads(problem, heads)
    errors = measure(problem, found.head_sum)
    assert found.head_sum.heads <= heads
    assert found.head_sum.coefficient_sum <= problem.budget * (1 + 1e-6)
    bound = lower_bound(problem, heads)
    assert bound.value <= errors[problem.norm]
    expected, missing = reference_error(
        problem, found.head_sum, WINDOW if not problem.tail_counts else 600
    )
    floor = 1e-25 * errors.kernel[problem.norm]
    assert expected * (1 - 1e-6) <= errors[problem.norm] + floor
    assert errors[problem.norm] <= expected * (1 + 1e-6) + missing + floor


def more_heads_are_never_worse(problem, heads):
    few, more = (
        measure(problem, fit_heads(problem, h).head_sum)[problem.norm] for h in (heads, heads + 1)
    )
    assert more <= few * (1 + 1e-6) + 1e-12


@FEW
@given(problems(), st.integers(1, 2))
def test_more_heads_are_never_worse(problem, heads):
    more_heads_are_never_worse(problem, heads)


@pytest.mark.slow
@MANY
@given(problems(), st.integers(1, 3))
def test_more_heads_are_never_worse_on_many_problems(problem, heads):
    more_heads_are_never_worse(problem, heads)


def more_budget_is_never_worse(problem, heads):
    wide = dataclasses.replace(problem, budget=problem.budget * 10)
    tight_error, wide_error = (
        measure(p, fit_heads(p, heads).head_sum)[problem.norm] for p in (problem, wide)
    )
    assert wide_error <= tight_error * (1 + 1e-6) + 1e-12


@FEW
@given(problems(), st.integers(1, 2))
def test_more_budget_is_never_worse(problem, heads):
    more_budget_is_never_worse(problem, heads)


@pytest.mark.slow
@MANY
@given(problems(), st.integers(1, 3))
def test_more_budget_is_never_worse_on_many_problems(problem, heads):
    more_budget_is_never_worse(problem, heads)


def test_the_reference_sees_a_wrong_error():
    """The sweep can fail: a coefficient off by 1e-4 moves the reference error by more than its
    tolerance.
    """
    from headcount.theory.head_sum import HeadSum

    problem = Problem(Lag(1), family("lin"), Norm.L1, WINDOW, 10.0)
    found = fit_heads(problem, 2).head_sum
    shifted = HeadSum(found.family, found.rates, tuple(a + a / 10_000 for a in found.coefficients))
    assert reference_error(problem, shifted, 600)[0] != pytest.approx(
        measure(problem, found).l1, rel=1e-6
    )
