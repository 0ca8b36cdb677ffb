"""Sequential programs: local optimality by brute force, never worse, within budget and bounds."""

import math

import numpy as np
import pytest

from headcount.memory.kernels import Lag, Power
from headcount.theory.fit.path import chebyshev_rates
from headcount.theory.fit.sample import sample
from headcount.theory.fit.slp import at, refine, room
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("name", ["lin", "log1p"])
def test_one_rate_is_the_best_nearby(name, norm):
    data = sample(Problem(Power(1.5), family(name), norm, 100))
    point = refine(data, at(data, np.array([0.8])))
    around = point.rates[0] * np.linspace(0.9, 1.1, 81)
    assert point.error <= min(at(data, np.array([b])).error for b in around) * (1 + 1e-5)


def test_two_rates_are_the_best_nearby():
    data = sample(Problem(Power(0.5), family("lin"), window=100))
    point = refine(data, at(data, np.array([0.02, 0.5])), gain=1e-9)
    rng = np.random.default_rng(0)
    nearby = [
        point.rates * np.exp(rng.normal(scale=scale, size=2))
        for scale in (1e-3, 1e-2, 1e-1)
        for _ in range(25)
    ]
    assert point.error <= min(at(data, rates).error for rates in nearby) * (1 + 1e-5)


@pytest.mark.parametrize("budget", [100.0, 1e3])
def test_budget_and_bounds_hold_exactly(budget):
    data = sample(Problem(Lag(2), family("lin"), window=100, budget=budget))
    start = at(data, chebyshev_rates(data, 3, 0.3))  # elsewhere no coefficients help at all
    point = refine(data, start)
    assert point.error < start.error
    assert math.fsum(np.abs(point.coefficients)) <= budget
    assert (point.rates >= data.low).all()
    assert (point.rates <= data.high).all()


def test_the_known_optimum_of_two_heads():
    """Lag 1, C = 10: 5 (0.2^s - 0^s) with error 1/4 is the best of two heads."""
    data = sample(Problem(Lag(1), family("lin"), budget=10.0))
    point = refine(data, at(data, np.array([1.0, 8.0])))
    assert point.error == pytest.approx(0.25, rel=1e-5)
    assert np.exp(-np.sort(point.rates)[0]) == pytest.approx(0.2, rel=1e-3)


def test_never_worse_than_the_start():
    rng = np.random.default_rng(2)
    data = sample(Problem(Lag(3), family("log"), budget=1e3))
    for _ in range(4):
        start = at(data, rng.uniform(1.1, 9.0, size=4))
        assert refine(data, start, steps=3).error <= start.error


def test_a_point_carries_its_own_error():
    data = sample(Problem(Power(0.5), family("lin"), window=100))
    point = at(data, np.array([0.1, 1.0]))
    assert point.error == pytest.approx(
        np.abs(data.target - data.columns(point.rates) @ point.coefficients).sum(), rel=1e-12
    )
    assert refine(data, at(data, np.zeros(0))).error == pytest.approx(np.abs(data.target).sum())


def test_room():
    assert room(np.array([0.0, -0.3, -5.0])) == pytest.approx([0.3, 0.3, 1.0])
    assert room(np.array([-2.0])) == pytest.approx([1.0])
