import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.theory.bounds.enclosure import maximum
from headcount.theory.heads import family

EXACT = {"lin": 0.0, "log": 1.0, "log1p": 1.0}


def test_known_maximum_of_a_polynomial():
    """T_6(2x-1) is at most 1 on [0,1], and reaches it."""
    y = np.polynomial.chebyshev.cheb2poly([0] * 6 + [1.0])
    shifted = np.polynomial.Polynomial(y)(np.polynomial.Polynomial([-1, 2])).coef
    found = maximum(family("lin"), np.arange(7.0), shifted, 0.0)
    assert found.attained <= 1.0 <= found.upper <= 1 + 1e-7


def test_interior_maximum():
    """x - x^2 peaks at 1/4 where no grid point is."""
    found = maximum(family("lin"), np.arange(3.0), np.array([0.0, 1.0, -1.0]), 0.0)
    assert found.attained <= 0.25 <= found.upper <= 0.25 * (1 + 1e-7)


def test_the_limit_rate_counts():
    """1 - x/2 is largest at x = 0, that is b = inf."""
    found = maximum(family("lin"), np.arange(2.0), np.array([1.0, -0.5]), 0.0)
    assert found.attained <= 1.0 <= found.upper <= 1 + 1e-7


def test_lowest_rate_narrows():
    lags, y = np.arange(1.0, 3.0), np.array([0.0, 1.0])
    assert maximum(family("log"), lags, y, 1.0).upper == pytest.approx(0.5)
    assert maximum(family("log"), lags, y, 0.0).upper == pytest.approx(1.0)


def test_zero_vector():
    assert maximum(family("lin"), np.arange(4.0), np.zeros(4), 0.0).upper == 0


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["lin", "log", "log1p"]), st.integers(2, 40), st.integers(0, 10**6))
def test_no_rate_exceeds_the_enclosure(name, length, seed):
    rng = np.random.default_rng(seed)
    heads = family(name)
    lags = np.arange(heads.first_lag, heads.first_lag + length, dtype=float)
    y = rng.uniform(-1, 1, length)
    found = maximum(heads, lags, y, EXACT[name])
    rates = np.append(
        EXACT[name] + rng.exponential(1, 400) * 10 ** rng.uniform(-3, 1, 400),
        [EXACT[name], math.inf],
    )
    seen = np.abs(y @ heads.columns(rates, lags)).max()
    assert seen <= found.upper + 1e-13
    assert found.attained <= found.upper <= found.attained * (1 + 1e-6)
