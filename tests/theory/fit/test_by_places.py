"""Power laws by many lin heads: better than float64 programs see, and never worse."""

import math

import numpy as np
import pytest

from headcount.memory.kernels import AbstractKernel, Exponential, Power
from headcount.theory.bounds import check, lower_bound
from headcount.theory.fit import fit_heads
from headcount.theory.fit.by_places import by_places
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem


def problem(kernel: AbstractKernel, bias="lin", norm=Norm.L1, **more) -> Problem:
    return Problem(kernel, family(bias), norm, **{"window": 1000, **more})


def test_sixteen_heads_are_the_best_ones():
    asked = problem(Power(0.3), budget=1e3)
    found = measure(asked, fit_heads(asked, 16).head_sum).l1
    assert found < 2.16e-8  # programs alone: 8.7e-8; the squeeze proves 2.152e-8


@pytest.mark.parametrize("power", [0.3, 0.5])
def test_from_rough_rates_near_to_what_is_proved(power):
    asked = problem(Power(power))
    rates = np.geomspace(0.002, 1.5, 4)
    columns = asked.decay.columns(rates, asked.lags)
    weights = np.abs(np.linalg.lstsq(columns, asked.target, rcond=None)[0]) + 1e-3
    start = HeadSum.of(asked.family, rates, weights)
    errors = [measure(asked, better).l1 for better in by_places(asked, start)]
    assert errors == sorted(errors, reverse=True)
    bound = lower_bound(asked, 4)
    assert check(bound)
    assert bound.value <= errors[-1] < 1.1 * bound.value


@pytest.mark.parametrize(
    "asked",
    [
        problem(Power(0.3), norm=Norm.SUP),
        problem(Power(0.3), "log1p"),
        problem(Exponential(0.1)),
        problem(Power(2.0), window=None),  # a tail
        problem(Power(2.0), window=5),
    ],
)
def test_nothing_where_it_does_not_apply(asked):
    start = HeadSum.of(asked.family, np.array([0.1, 1.0]), np.array([0.5, 0.5]))
    assert not list(by_places(asked, start))


@pytest.mark.parametrize(
    ("rates", "weights"),
    [([0.1, 1.0], [0.5, -0.5]), ([0.0, 1.0], [0.5, 0.5]), ([0.1, math.inf], [0.5, 0.5])],
)
def test_nothing_from_sums_of_another_kind(rates, weights):
    asked = problem(Power(0.5))
    start = HeadSum.of(asked.family, np.array(rates), np.array(weights))
    assert not list(by_places(asked, start))
