"""One head more: between two neighbours, beyond the outermost, or all heads spread anew."""

import itertools

import numpy as np

from headcount.theory.fit.sample import Sample
from headcount.theory.fit.slp import Point, at
from headcount.theory.fit.varpro import spread

STRETCHES = (0.85, 1.0, 1.08, 1.2, 1.5, 2.0)  # of the coordinate, when the heads are spread anew


def with_one_more(data: Sample, rates: np.ndarray, count: int = 2) -> list[Point]:
    """The best points with one head added: between two neighbours or beyond the outermost, or
    all heads spread anew.
    """
    low, high = data.coordinate(data.dictionary(2))
    u = np.sort(data.coordinate(rates))
    places = [(x + y) / 2 for x, y in itertools.pairwise([low, *u, high])]
    spots = [np.append(u, v) for v in [*places, low, high]]
    starts = [data.rates_at(np.sort(s)) for s in spots] + spread(data, rates, STRETCHES)
    points = [at(data, start, 1e-5) for start in starts]
    return sorted(points, key=lambda p: p.error)[:count]
