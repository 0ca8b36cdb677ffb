"""Power laws by many lin heads in l1: sums made better where the digits of programs end.

Below about 1e-8 of the kernel's norm float64 programs no longer see what they gain. The map of
`bounds.squeeze` does: from rates to the places where the best signs for them change, and from these
to the sum that is exact there. A sum with positive weights is never worse after it (`squeeze`,
step 3, and Newton's method runs in as many digits as it takes), so it is repeated until it gains
little.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from headcount.memory.kernels import Power
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin
from headcount.theory.problem import Norm, Problem

MOST_HEADS, MOST_LAGS = 20, 8192
ROUNDS = 12
NEWTON = 40
ENOUGH = 1e-3  # a round that gains less is the last


def by_places(problem: Problem, start: HeadSum) -> Iterator[HeadSum]:
    """Ever better sums with the same number of heads; none where this does not apply."""
    from flint import arb  # the bounds load fits in turn

    from headcount.theory.balls import precision
    from headcount.theory.bounds import canonical
    from headcount.theory.bounds.squeeze import bits

    rates = [float(b) for b in start.rates]
    weights = [float(a.p) / float(a.q) for a in start.coefficients]
    if not _applies(problem, rates, weights):
        return
    kernel, first, stop = problem.kernel, problem.first_lag, problem.length
    assert isinstance(kernel, Power)
    error, places = _error(problem, rates, weights), _changes(problem, rates, weights)
    try:
        with precision(bits(len(rates))):
            logs = tuple(arb(b).log() for b in rates)
            spots = tuple(arb(k) for k in places)
            known = canonical.Curves(spots, logs, tuple(map(arb, weights)))
            places = canonical.apart(places, first, stop)
            for _ in range(ROUNDS):
                signs = canonical.touching(known.rates, first)
                places = canonical.settled(signs, places, first, stop)
                spots = tuple(arb(k) for k in places)
                known = canonical.interpolated(arb(kernel.exponent), known, spots, NEWTON)
                rates = [float(b) for b in known.rates]
                weights = [float(a) for a in known.coefficients]
                before, error = error, _error(problem, rates, weights)
                if not error < before:
                    return
                yield HeadSum.of(problem.family, np.array(rates), np.array(weights))
                if error > (1 - ENOUGH) * before:
                    return
    except canonical.Lost:
        return


def _applies(problem: Problem, rates: list[float], weights: list[float]) -> bool:
    H, lags = len(rates), len(problem.lags)
    known = isinstance(problem.kernel, Power) and isinstance(problem.family, Lin)
    counted = problem.norm is Norm.L1 and problem.first_lag >= 1 and not problem.tail_counts
    few = 2 <= H <= MOST_HEADS and 2 * H + 1 < lags <= MOST_LAGS
    if not (known and counted and few and rates[0] > 0 and np.isfinite(rates[-1])):
        return False
    return min(weights) > 0 and all(a < b for a, b in itertools.pairwise(rates))


def _left(problem: Problem, rates: list[float], weights: list[float]) -> np.ndarray:
    return problem.target - problem.decay.columns(np.array(rates), problem.lags) @ weights


def _error(problem: Problem, rates: list[float], weights: list[float]) -> float:
    return float(np.abs(_left(problem, rates, weights)).sum())


def _changes(problem: Problem, rates: list[float], weights: list[float]) -> list[int]:
    """2H lags near which the residual changes its sign, or would."""
    signs = np.sign(_left(problem, rates, weights))
    seen = np.flatnonzero(signs[1:] != signs[:-1]).astype(np.float64) + problem.first_lag + 1
    if len(seen) < 2:
        seen = np.geomspace(problem.first_lag + 1, problem.length - 1, 2 * len(rates))
    spread = np.linspace(0, len(seen) - 1, 2 * len(rates))
    return np.interp(spread, np.arange(len(seen)), seen).round().astype(int).tolist()
