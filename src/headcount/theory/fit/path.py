"""One head at a time under a budget: the best point with h heads, h = 1, 2, …, each at least as
good as the last.

Starts for h heads, ranked by their best coefficients and refined by `slp`: the last point with one
head more; all its heads spread anew; Chebyshev points of x = e^{-k b} on [0, eta], which are the
extremal nodes for one lag (Theorem A's construction) and lead away from zero, the best answer for
fewer heads than that; and, for one or two heads, a coarse grid of all rates or pairs. It serves a
few heads; `from_above` serves many. The search runs on the thin sample.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from headcount.theory.fit.greedy import with_one_more
from headcount.theory.fit.lp import norm_of_target
from headcount.theory.fit.sample import Sample
from headcount.theory.fit.slp import Point, at, refine

ETAS = (0.0003, 0.003, 0.012, 0.04, 0.1, 0.25, 0.5, 0.8)
REFINED = 3
NOTHING_LEFT = 2e-10  # relative error at which the programs' own accuracy ends the search
COARSE = 14


def nothing(data: Sample) -> Point:
    """No heads at all."""
    return at(data, np.zeros(0))


def levels(data: Sample, heads: int) -> Iterator[Point]:
    """The best points found with 1, 2, …, heads heads."""
    best, whole = nothing(data), norm_of_target(data)
    for h in range(1, heads + 1):
        if best.error <= NOTHING_LEFT * whole:
            yield best
            continue
        for start in _distinct(sorted(_starts(data, best, h), key=lambda p: p.error))[:REFINED]:
            best = min(best, refine(data, start, gain=1e-5), key=lambda p: p.error)
        yield best


def _starts(data: Sample, best: Point, h: int) -> list[Point]:
    starts = [at(data, chebyshev_rates(data, h, eta), 1e-6) for eta in ETAS]
    if h <= 2:
        grid = data.dictionary(COARSE if h == 2 else 2 * COARSE)
        starts += [at(data, np.array(rates), 1e-6) for rates in itertools.combinations(grid, h)]
    if len(best.rates):
        starts += with_one_more(data, best.rates)
    return starts


def chebyshev_rates(data: Sample, heads: int, eta: float) -> np.ndarray:
    """Rates with x = e^{-k b} at the Chebyshev points of [0, eta], the fastest at 0.  [H]"""
    if heads == 1:
        return data.bounded(np.array([-np.log(eta) / data.unit]))
    x = eta * (1 - np.cos(np.pi * np.arange(heads) / (heads - 1))) / 2
    return data.bounded(-np.log(np.maximum(x, 1e-300)) / data.unit)


def _distinct(points: list[Point]) -> list[Point]:
    """Without near copies: starts of nearly the same error are taken for the same."""
    kept: list[Point] = []
    for p in points:
        if not kept or p.error > kept[-1].error * (1 + 1e-6):
            kept.append(p)
    return kept
