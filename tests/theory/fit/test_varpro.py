"""Variable projection against brute force, scipy's least squares, and exact recovery."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.optimize import least_squares

from headcount.memory.kernels import Power
from headcount.theory.fit.sample import sample, thin
from headcount.theory.fit.varpro import chain, descend, rate_model, spread
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


def projected_error(data, rates):
    A = data.columns(rates)
    return float(np.linalg.norm(data.target - A @ np.linalg.lstsq(A, data.target, rcond=1e-14)[0]))


def full(exponent=0.5, name="lin", window=300):
    return sample(Problem(Power(exponent), family(name), Norm.L2, window))


def test_one_rate_is_the_best_of_a_fine_grid():
    data = full()
    (rates,) = list(chain(data, 1))
    grid = np.geomspace(1e-4, 5, 3000)
    assert projected_error(data, rates) <= min(
        projected_error(data, np.array([b])) for b in grid
    ) * (1 + 1e-6)


@pytest.mark.parametrize("exponent", [0.5, 1.5])
def test_no_worse_than_scipy_from_many_starts(exponent):
    data, rng = full(exponent), np.random.default_rng(0)
    *_, rates = chain(data, 3)

    def residual(log_rates):
        A = data.columns(np.exp(log_rates))
        return data.target - A @ np.linalg.lstsq(A, data.target, rcond=1e-12)[0]

    runs = [least_squares(residual, rng.uniform(-6, 1, 3), bounds=(-9, 3.5)) for _ in range(6)]
    assert projected_error(data, rates) <= min(np.sqrt(2 * r.cost) for r in runs) * (1 + 1e-5)


def test_each_head_helps():
    data = thin(full())
    errors = [projected_error(data, rates) for rates in chain(data, 6)]
    assert len(errors) == 6
    assert all(later < 0.6 * earlier for earlier, later in itertools.pairwise(errors))


def test_rates_of_an_exact_sum_are_found():
    true = np.array([0.05, 0.9])
    bare = full(window=61)  # lags 1..60 and nothing beyond
    data = dataclasses.replace(
        bare, target=np.exp(-np.outer(bare.lags, true)) @ np.array([1.0, 2.0])
    )
    assert list(chain(data, 4))[1] == pytest.approx(true, rel=1e-5)


def test_descend_never_climbs():
    data = full()
    start = np.array([0.3, 0.5])
    found, squared = descend(rate_model(data), data.coordinate(start))
    rates = data.rates_at(found)
    assert np.sqrt(squared) == pytest.approx(projected_error(data, rates), rel=1e-8)
    assert squared < projected_error(data, start) ** 2


def test_spread_adds_a_head_between_the_outermost():
    data, rates = full(), np.array([0.01, 0.1, 1.0])
    plain, _ = spread(data, rates)
    assert len(plain) == 4
    assert plain[[0, -1]] == pytest.approx(rates[[0, -1]])
    assert spread(data, rates[:1]) == []
