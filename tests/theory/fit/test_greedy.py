"""Starts: one head more."""

import numpy as np

from headcount.memory.kernels import Power
from headcount.theory.fit.greedy import with_one_more
from headcount.theory.fit.sample import sample, thin
from headcount.theory.fit.slp import at, refine
from headcount.theory.heads import family
from headcount.theory.problem import Problem


def test_one_head_more_is_better():
    data = thin(sample(Problem(Power(0.5), family("lin"), window=300)))
    here = refine(data, at(data, np.array([0.01, 0.1, 0.8])))
    more = with_one_more(data, here.rates)
    assert [len(p.rates) for p in more] == [4, 4]
    assert more[0].error < here.error
    assert more[0].error <= more[1].error
