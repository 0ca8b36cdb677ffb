"""Rates: fitted slopes recover known ones, and the tables hold what they say."""

import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.refs import Ref
from headcount.experiments.further.rates import (
    Law,
    RateTable,
    adaptive,
    essential,
    fitted_slope,
    fixed_lag,
    readout_width,
)
from headcount.lab.study import Profile
from headcount.memory.target import Family

X = np.arange(1, 13)


@pytest.mark.parametrize(("law", "slope"), [(Law.POWER, -1.7), (Law.EXPONENTIAL, -0.8)])
def test_a_known_slope_is_recovered_and_its_law_recognised(law, slope):
    y = 3 * X**slope if law is Law.POWER else 3 * np.exp(slope * X)
    found = fitted_slope(X, y)
    assert found.law is law
    assert found.value == pytest.approx(slope)
    assert found.low <= found.value <= found.high
    assert found.at(5.0) == pytest.approx(y[4])


def test_intervals_cover_the_true_slope_nine_times_in_ten():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        found = fitted_slope(X, X**-0.5 * np.exp(0.1 * rng.standard_normal(len(X))), Law.POWER)
        hits += found.low <= -0.5 <= found.high
    assert 870 <= hits <= 930


def test_rounding_and_the_plateau_are_left_out():
    y = [1.0, 1.0, 1e-1, 1e-2, 1e-3, 1e-15]
    found = fitted_slope(X[:6], y, Law.EXPONENTIAL, trivial=0.99)
    assert (found.points, found.x) == (3, (3.0, 4.0, 5.0))
    assert fitted_slope([1, 2, 3], [1.0, 1.0, 0.1], trivial=0.99) is None


def test_a_fixed_lag_against_heads():
    fixed = fixed_lag(1, "lin", (1, 2))
    assert fixed.family is Family.FIXED
    assert fixed.measured[0] == pytest.approx(1.0)  # H <= T: Theorem A
    assert all(low <= m for low, m in zip(fixed.lower, fixed.measured, strict=True))
    assert all(p > m for p, m in zip(fixed.promised, fixed.measured, strict=True))
    assert fixed.agrees is None  # under a budget there is nothing to compare


def test_a_smooth_kernel_against_heads():
    smooth = essential("power:1.5", "lin", (2, 3, 4, 5))
    assert smooth.slope.law is Law.EXPONENTIAL
    assert -1.4 < smooth.slope.value < -0.7  # docs/numerics.md#rates: 1.33 from 5 heads on
    assert smooth.declared is None
    assert "exponential decay" in smooth.notes[-1]


@pytest.mark.slow  # `construct` tests the same heads
def test_adaptive_lags_against_heads():
    moved = adaptive(1, "lin", (1, 2, 3))
    assert moved.measured[0] == pytest.approx(1.0)
    assert moved.measured[2] < 0.1
    assert moved.declared < 0
    assert moved.agrees is None


def test_neurons_fall_like_one_over_the_square_root():
    table = readout_width((16, 64, 256, 1024))
    assert table.slope.value == pytest.approx(-0.5, abs=0.1)
    assert table.agrees
    assert all(p > m for p, m in zip(table.promised, table.measured, strict=True))


def test_a_table_that_contradicts_its_bound_is_refused():
    table = RateTable(
        "t",
        Family.FIXED,
        "lin",
        "heads",
        "error",
        (1.0,),
        (0.1,),
        (None,),
        (None,),
        None,
        None,
        Ref("headcount", "x"),
    )
    assert table.agrees is None
    with pytest.raises(InputError, match="certified bound above"):
        RateTable(
            "t",
            Family.FIXED,
            "lin",
            "heads",
            "error",
            (1.0,),
            (0.1,),
            (None,),
            (0.2,),
            None,
            None,
            Ref("headcount", "x"),
        )
    with pytest.raises(InputError, match="equally long"):
        RateTable(
            "t",
            Family.FIXED,
            "lin",
            "heads",
            "error",
            (1.0,),
            (0.1, 0.2),
            (None,),
            (None,),
            None,
            None,
            Ref("headcount", "x"),
        )


@pytest.mark.slow
def test_all_tables_of_the_laptop_profile():
    from headcount.experiments.further.rates import rates

    tables = rates(Profile.LAPTOP)
    assert {table.family for table in tables} == set(Family)
    assert all(math.isfinite(m) for table in tables for m in table.measured)
    assert all(table.agrees is not False for table in tables)
