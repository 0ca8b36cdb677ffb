"""From above: the certified optimum over any number of heads, then fewer heads."""

import itertools
import math

import numpy as np
import pytest

from headcount.memory.kernels import Exponential, Lag, Oscillating, Power
from headcount.theory.fit.from_above import (
    exchange,
    from_above,
    missed,
    optimal_rates,
    with_fewer,
    without_idle,
)
from headcount.theory.fit.lp import norm_of_target
from headcount.theory.fit.sample import sample, thin
from headcount.theory.fit.slp import Point, at
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


@pytest.mark.parametrize(("lag", "budget", "floor"), [(1, 10.0, 0.2273), (2, 1e3, 0.0358)])
def test_it_reaches_the_certified_optimum_over_any_number_of_heads(lag, budget, floor):
    data = thin(sample(Problem(Lag(lag), family("lin"), budget=budget)))
    found = from_above(data, 40)
    assert found.complete
    assert floor * (1 - 1e-3) <= found.point.error <= floor * 1.002
    assert from_above(data, 80).point.error == found.point.error


@pytest.mark.parametrize("norm", list(Norm))
def test_fewer_heads_are_worse_and_within_the_budget(norm):
    data = thin(sample(Problem(Oscillating(0.1, 0.5), family("lin"), norm, 120, 50.0)))
    points = [from_above(data, heads).point for heads in (5, 7, 30)]
    errors = [p.error for p in points]
    assert all(later <= earlier for earlier, later in itertools.pairwise(errors))
    assert all(math.fsum(np.abs(p.coefficients)) <= 50.0 for p in points)
    assert [len(p.rates) <= h for p, h in zip(points, (5, 7, 30), strict=True)] == [True] * 3
    assert from_above(data, 3) is None  # the optimum has more: the path adds them one at a time


def test_no_rate_of_a_fine_grid_would_gain():
    """The optimum's own rates beside 60 others: no better."""
    data = thin(sample(Problem(Exponential(0.2), family("log"), window=100, budget=20.0)))
    found = from_above(data, 60).point
    more = at(data, np.concatenate([found.rates, data.dictionary(60)]))
    assert found.error <= more.error * (1 + 1e-6)


def test_the_head_that_is_missed_least_goes():
    data = sample(Problem(Power(1.5), family("log"), window=100))
    point = at(data, np.array([1.5, 4.0, 7.0]))
    assert np.argmax(missed(data, point)) == 0
    assert 1.5 in with_fewer(data, point, 2).tolist()
    assert len(with_fewer(data, point, 1)) == 2


def test_idle_heads_are_let_go():
    data = sample(Problem(Power(1.5), family("log"), window=100))
    rates = np.array([1.2, 3.0])
    idle = Point(rates, np.array([0.5, 0.0]), 1.0, np.zeros(len(data.target)))
    assert without_idle(data, idle).rates.tolist() == [1.2]
    busy = Point(rates, np.array([0.5, 0.4]), 1.0, np.zeros(len(data.target)))
    assert without_idle(data, busy) is busy


def test_rates_are_within_bounds():
    data = thin(sample(Problem(Lag(2), family("lin"), budget=30.0)))
    rates, least = optimal_rates(data)
    assert 0 < least < norm_of_target(data)
    assert len(rates) > 0
    assert np.all((data.low <= rates) & (rates <= data.high))


def test_an_exchange_mends_a_head_in_the_wrong_place_and_never_harms():
    data = thin(sample(Problem(Oscillating(0.1, 0.5), family("lin"), Norm.L1, 120, 50.0)))
    good = from_above(data, 6).point
    assert exchange(data, good).error <= good.error
    spoilt = at(data, np.append(np.sort(good.rates)[:-1], good.rates.max() * 1.001))
    spoilt = at(data, np.where(np.arange(6) == 0, 30.0, np.sort(spoilt.rates)))
    assert exchange(data, spoilt).error < spoilt.error
