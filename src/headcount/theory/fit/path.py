"""One head at a time under a budget: the best point with h heads, h = 1, 2, …, each at least as
good as the last.

Starts for h heads, ranked by their best coefficients and refined by `slp`: the last point with one
head more; all its heads spread anew; Chebyshev points of x = e^{-k b} on [0, eta], which are the
extremal nodes for one lag (Theorem A's construction) and lead away from zero, the best answer for
fewer heads than that; and, for one or two heads, a coarse grid of all rates or pairs. It serves a
few heads; `from_above` serves many. The search runs on the thin sample.
"""

import functools
import itertools
from collections.abc import Iterator

import numpy as np

from headcount.theory.fit.greedy import with_one_more
from headcount.theory.fit.lp import norm_of_target
from headcount.theory.fit.sample import KEPT, Sample
from headcount.theory.fit.slp import Point, at, refine

ETAS = (0.0003, 0.003, 0.012, 0.04, 0.1, 0.25, 0.5, 0.8)
REFINED = 3
NOTHING_LEFT = 2e-10  # relative error at which the programs' own accuracy ends the search
COARSE, FEWER = 14, 8  # rates of the grid of pairs, for an answer and for a start
RACE, ROUGH, LOST = 5, 1e-3, 1.1  # steps of each start, gain at which it rests, what is given up
COPY, COPY_RATES = 1e-2, 0.1  # errors and rates of which a second refinement finds the same point
RANKING = 1e-4  # accuracy of the programs that only rank starts


def nothing(data: Sample) -> Point:
    """No heads at all."""
    return at(data, np.zeros(0))


def levels(data: Sample, heads: int) -> Iterator[Point]:
    """The best points found with 1, 2, …, heads heads. Those before the last are starts, no
    answers: they are refined less.
    """
    for h in range(1, heads + 1):
        yield _level(data, h, h == heads)


@functools.lru_cache(maxsize=KEPT * 16)
def _level(data: Sample, h: int, last: bool) -> Point:
    """The best point found with h heads. A search for the fewest heads asks for the same starts
    again and again.
    """
    best = nothing(data) if h == 1 else _level(data, h - 1, False)
    if best.error <= NOTHING_LEFT * norm_of_target(data):
        return best
    ranked = sorted(_starts(data, best, h, last), key=lambda p: p.error)
    starts = _distinct(data, ranked)[:REFINED]
    tried = [refine(data, start, steps=RACE, gain=ROUGH) for start in starts]
    least = min(p.error for p in tried)
    front = sorted((p for p in tried if p.error < LOST * least), key=lambda p: p.error)
    for point in _distinct(data, front)[: REFINED if last else 1]:
        more = refine(data, point, gain=1e-5 if last else ROUGH)
        best = min(best, more, key=lambda p: p.error)
    return best


def _starts(data: Sample, best: Point, h: int, last: bool) -> list[Point]:
    starts = [
        at(data, chebyshev_rates(data, h, eta), RANKING) for eta in (ETAS if last else ETAS[1::2])
    ]
    if h <= 2:
        grid = data.dictionary({1: 2 * COARSE, 2: COARSE if last else FEWER}[h])
        starts += [at(data, np.array(rates), RANKING) for rates in itertools.combinations(grid, h)]
    if len(best.rates):
        starts += with_one_more(data, best.rates)
    return starts


def chebyshev_rates(data: Sample, heads: int, eta: float) -> np.ndarray:
    """Rates with x = e^{-k b} at the Chebyshev points of [0, eta], the fastest at 0.  [H]"""
    if heads == 1:
        return data.bounded(np.array([-np.log(eta) / data.unit]))
    x = eta * (1 - np.cos(np.pi * np.arange(heads) / (heads - 1))) / 2
    return data.bounded(-np.log(np.maximum(x, 1e-300)) / data.unit)


def _distinct(data: Sample, points: list[Point]) -> list[Point]:
    """Without near copies: starts of nearly the same error, or of nearly the same rates and not
    quite the same error, are taken for the same.
    """
    kept: list[Point] = []
    for p in points:
        if all(
            p.error > other.error * (1 + 1e-6)
            and (p.error > other.error * (1 + COPY) or _apart(data, p, other) > COPY_RATES)
            for other in kept
        ):
            kept.append(p)
    return kept


def _apart(data: Sample, one: Point, other: Point) -> float:
    """The largest difference of the rates, in the coordinate; a point may have fewer of them."""
    if len(one.rates) != len(other.rates):
        return np.inf
    u, v = data.coordinate(one.rates), data.coordinate(other.rates)
    return float(np.abs(np.sort(u) - np.sort(v)).max(initial=0.0))
