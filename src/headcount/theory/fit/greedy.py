"""Which rates to start from: a dense dictionary's optimum, one head more, one head less.

Dictionary. With a budget C the best sum over *any* number of heads is a linear program over all
rates. On a dense grid of rates its coefficients sit on a few (pairs of grid neighbours, where the
true rate lies between): clustered, they are the start for `slp`.

One head more. At a solution the rows' multipliers y price every rate: |sum_s y_s phi(s; b)| is what
a head at b would gain, so that new heads enter at its maxima (column generation). One head less:
try each.
"""

import itertools

import numpy as np

from headcount.theory.fit.lp import norm_of_target
from headcount.theory.fit.sample import Sample
from headcount.theory.fit.slp import Point, at
from headcount.theory.fit.varpro import spread
from headcount.theory.interior import fit_program, solve
from headcount.theory.problem import Norm

DICTIONARY = 160
STRETCHES = (0.85, 1.0, 1.08, 1.2, 1.5, 2.0)  # of the coordinate, when the heads are spread anew


def dictionary_rates(data: Sample, budget: float) -> np.ndarray:
    """Rates of the budgeted l1 optimum over a dense dictionary, neighbours merged."""
    grid = data.dictionary(DICTIONARY)
    scale = max(norm_of_target(data), 1e-300)
    own = (np.eye(len(grid)), np.zeros(len(grid)), budget / scale)
    lp = fit_program(Norm.L1, data.target / scale, data.columns(grid), budget=own)
    a = solve(lp, 1e-8).x
    return clusters(grid, a)


def clusters(grid: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Neighbouring rates of one sign as one rate, the weighted mean of their logarithms."""
    used = np.flatnonzero(np.abs(a) > 1e-6 * np.abs(a).max(initial=0.0))
    groups: list[list[int]] = []
    for k in used.tolist():
        if groups and k - groups[-1][-1] == 1 and np.sign(a[k]) == np.sign(a[groups[-1][-1]]):
            groups[-1].append(k)
        else:
            groups.append([k])
    return np.array([np.exp(np.average(np.log(grid[g]), weights=np.abs(a[g]))) for g in groups])


def with_one_more(data: Sample, rates: np.ndarray, count: int = 2) -> list[Point]:
    """The best points with one head added: between two neighbours or beyond the outermost, or
    all heads spread anew.
    """
    low, high = data.coordinate(data.dictionary(2))
    u = np.sort(data.coordinate(rates))
    places = [(x + y) / 2 for x, y in itertools.pairwise([low, *u, high])]
    spots = [np.append(u, v) for v in [*places, low, high]]
    starts = [data.rates_at(np.sort(s)) for s in spots] + spread(data, rates, STRETCHES)
    points = [at(data, start, 1e-7) for start in starts]
    return sorted(points, key=lambda p: p.error)[:count]


def with_fewer(data: Sample, rates: np.ndarray, count: int) -> Point:
    """`count` heads removed at once: those that are missed least one by one, no two of them
    neighbours.
    """
    u = np.sort(data.coordinate(rates))
    errors = [at(data, data.rates_at(np.delete(u, i)), 1e-5).error for i in range(len(u))]
    gone: list[int] = []
    for i in np.argsort(errors):
        if len(gone) < count and all(abs(i - j) > 1 for j in gone):
            gone.append(int(i))
    return at(data, data.rates_at(np.delete(u, gone)))


def with_one_less(data: Sample, rates: np.ndarray, pairs: int = 4) -> Point:
    """The best point with any one head removed, or with two of the closest joined."""
    u = np.sort(data.coordinate(rates))
    fewer = [np.delete(u, i) for i in range(len(u))]
    fewer += [
        np.concatenate([u[:i], [(u[i] + u[i + 1]) / 2], u[i + 2 :]])
        for i in np.argsort(np.diff(u))[:pairs]
    ]
    return min((at(data, data.rates_at(f), 1e-6) for f in fewer), key=lambda p: p.error)
