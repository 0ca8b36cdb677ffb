"""One head at a time under a budget: the best point with h heads, h = 1, 2, …, each at least as
good as the last.

Starts for h heads, ranked by their best coefficients and refined by `slp`: the last point with one
head more; all its heads spread anew; Chebyshev points of x = e^{-k b} on [0, eta], which are the
extremal nodes for one lag (Theorem A's construction) and lead away from zero, the best answer for
fewer heads than that; and, for one or two heads, a coarse grid of all rates or pairs. Where these
no longer help, the dictionary's optimum over any number of heads either shows that nothing is left
to gain, or is reduced head by head to a start. The search runs on the thin sample.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from headcount.theory.fit.greedy import dictionary_rates, with_fewer, with_one_less, with_one_more
from headcount.theory.fit.lp import norm_of_target
from headcount.theory.fit.sample import Sample
from headcount.theory.fit.slp import Point, at, refine
from headcount.theory.problem import Norm

ETAS = (0.0003, 0.003, 0.012, 0.04, 0.1, 0.25, 0.5, 0.8)
REFINED = 3
NOTHING_LEFT = 2e-10  # relative error at which the programs' own accuracy ends the search
STALLED = 1e-3  # a head more should gain this fraction at least
COARSE = 14


def nothing(data: Sample) -> Point:
    """No heads at all."""
    return at(data, np.zeros(0))


def levels(data: Sample, heads: int, reduce_from: int = 3) -> Iterator[Point]:
    """The best points found with 1, 2, …, heads heads; the dictionary is asked from
    `reduce_from` heads on, or on a stall.
    """
    best, whole, reduced = nothing(data), norm_of_target(data), None
    for h in range(1, heads + 1):
        if best.error <= NOTHING_LEFT * whole:
            yield best
            continue
        before = best.error
        for start in _distinct(sorted(_starts(data, best, h), key=lambda p: p.error))[:REFINED]:
            best = min(best, refine(data, start, gain=1e-5), key=lambda p: p.error)
        stalled = before * (1 - STALLED) < best.error < whole * (1 - 1e-9)
        if data.norm is Norm.L1 and (stalled or h >= reduce_from):
            reduced = reduced or _Reduced(data, h, heads)
            if best.error <= reduced.floor * (1 + 1e-6):
                yield from itertools.repeat(best, heads + 1 - h)
                return
            best = min(best, reduced.point(h), key=lambda p: p.error)
        yield best


class _Reduced:
    """The dictionary's optimum with its heads taken away one by one, down to `least`."""

    def __init__(self, data: Sample, least: int, most: int):
        self.data, self.points = data, {}
        now = refine(data, at(data, dictionary_rates(data, data.budget)), steps=6)
        self.floor = now.error
        while len(now.rates) > least:
            spare = len(now.rates) - most
            if spare > 4:  # far above what is asked for, several at once
                now = refine(
                    data, with_fewer(data, now.rates, min(4, spare - 3)), steps=3, gain=1e-4
                )
            else:
                now = refine(data, with_one_less(data, now.rates), steps=10, gain=1e-4)
            if len(now.rates) <= most:
                self.points[len(now.rates)] = now

    def point(self, heads: int) -> Point:
        found = [p for h, p in self.points.items() if h <= heads]
        return refine(self.data, found[0], gain=1e-5) if found else nothing(self.data)


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
