"""One head at a time under a budget: never worse, within budget, at the certified floor where it
is known.
"""

import itertools
import math

import numpy as np
import pytest

from headcount.memory.kernels import Lag, Oscillating
from headcount.theory.fit.path import chebyshev_rates, levels, nothing
from headcount.theory.fit.sample import sample, thin
from headcount.theory.heads import family
from headcount.theory.problem import Problem


@pytest.mark.parametrize(
    ("kernel", "name", "budget"),
    [(Lag(2), "lin", 100.0), (Oscillating(0.1, 0.5), "lin", 50.0), (Lag(2), "log1p", 1e3)],
)
def test_levels_improve_within_the_budget(kernel, name, budget):
    data = thin(sample(Problem(kernel, family(name), window=120, budget=budget)))
    points = list(levels(data, 4))
    errors = [nothing(data).error, *(p.error for p in points)]
    assert len(points) == 4
    assert all(later <= earlier for earlier, later in itertools.pairwise(errors))
    assert errors[-1] < 0.95 * errors[0]
    for h, point in enumerate(points, 1):
        assert len(point.rates) <= h
        assert math.fsum(np.abs(point.coefficients)) <= budget


def test_two_heads_beat_a_grid_of_pairs():
    data = thin(sample(Problem(Lag(1), family("lin"), budget=10.0)))
    *_, last = levels(data, 2)
    assert last.error == pytest.approx(0.25, rel=1e-5)  # the closed form 5 (0.2^s - 0^s)


def test_chebyshev_rates_are_chebyshev_points():
    data = sample(Problem(Lag(3), family("lin")))
    x = np.exp(-chebyshev_rates(data, 4, 0.5))
    assert np.sort(x) == pytest.approx([0.0, 0.125, 0.375, 0.5], abs=1e-12)
    assert np.exp(-chebyshev_rates(data, 1, 0.5)) == pytest.approx([0.5])
