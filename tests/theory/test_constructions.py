import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import Lag
from headcount.theory.constructions import (
    best_bump,
    bump_bound,
    bump_heads,
    chebyshev_bump,
    dyadic,
    interpolation,
    interpolation_bound,
)
from headcount.theory.errors import measure
from headcount.theory.families import Lin, Log, Log1p
from headcount.theory.problem import Problem


@pytest.mark.parametrize(
    ("lag", "heads"), [(1, 9), (5, 45), (10, 97), (20, 207), (50, 577), (100, 1247), (952, 14915)]
)
def test_chebyshev_bump_heads_for_error_one_tenth(lag, heads):
    assert bump_heads(Lin(), lag, 0.1, math.log(2) / lag, 1 / lag) == heads


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
    """Heads T + 4 with y = 1/2: certified <= .021, actual .011."""
    heads = interpolation(lag, lag + 4, math.log(2))
    error = measure(Problem(Lag(lag), Lin()), heads).l1
    assert error <= interpolation_bound(lag, 3, 0.5) * (1 + 1e-5) <= 0.021
    assert error <= 0.0107


@pytest.mark.parametrize("lag", [1, 5, 20])
def test_one_head_more_than_the_lag_reaches_one_tenth(lag):
    assert measure(Problem(Lag(lag), Lin()), interpolation(lag, lag + 1, -math.log(0.08))).l1 <= 0.1


def test_interpolation_bounds_of_the_notes():
    assert interpolation_bound(10**3, 2, 0.5) == pytest.approx(0.29, abs=0.01)
    assert interpolation_bound(10**3, 3, 0.5) == pytest.approx(0.021, abs=0.001)
    assert interpolation_bound(10**3, 4, 0.5) == pytest.approx(7e-4, rel=0.1)


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
