"""Starts: the dictionary's optimum, one head more, one head less."""

import numpy as np
import pytest

from headcount.memory.kernels import Lag, Power
from headcount.theory.fit.greedy import clusters, dictionary_rates, with_one_less, with_one_more
from headcount.theory.fit.sample import sample, thin
from headcount.theory.fit.slp import at, refine
from headcount.theory.heads import family
from headcount.theory.problem import Problem


def test_neighbours_of_one_sign_are_one_rate():
    grid = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert clusters(grid, np.array([1.0, 1.0, 0.0, -3.0, 0.0])) == pytest.approx([2**0.5, 8.0])
    assert clusters(grid, np.array([1.0, -1.0, 0.0, 0.0, 2.0])) == pytest.approx([1.0, 2.0, 16.0])
    assert len(clusters(grid, np.zeros(5))) == 0


@pytest.mark.parametrize(("lag", "budget", "floor"), [(1, 10.0, 0.2273), (2, 1e3, 0.0358)])
def test_dictionary_reaches_the_certified_optimum_over_any_number_of_heads(lag, budget, floor):
    data = thin(sample(Problem(Lag(lag), family("lin"), budget=budget)))
    rates = dictionary_rates(data, budget)
    assert len(rates) <= 24
    assert floor * (1 - 1e-3) <= at(data, rates).error <= floor * 1.05


def test_one_head_more_is_better_and_one_less_is_worse():
    data = thin(sample(Problem(Power(0.5), family("lin"), window=300)))
    here = refine(data, at(data, np.array([0.01, 0.1, 0.8])))
    rates = here.rates
    more, less = with_one_more(data, rates), with_one_less(data, rates)
    assert [len(p.rates) for p in more] == [4, 4]
    assert more[0].error < here.error < less.error
    assert more[0].error <= more[1].error
    assert len(less.rates) == 2


def test_a_useless_head_is_the_one_removed():
    data = sample(Problem(Power(1.5), family("log"), window=100))
    less = with_one_less(data, np.array([1.5, 1.50001, 7.0]))
    assert less.error < 1e-3
    assert len(with_one_less(data, np.array([1.5])).rates) == 0
