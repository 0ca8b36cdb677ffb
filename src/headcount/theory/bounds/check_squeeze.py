"""Re-verify a squeeze of rates (`squeeze` has the theorem), with code of its own.

Sums over lags are telescoped: (1 - x) sum_s y(s) x^s has terms only where y changes, and the
unknowns are the values y(T_i) themselves. The slow limit is solved in exact fractions. Sums of w
are added up lag by lag, and by Euler and Maclaurin far out.

What must hold, for H heads and the lags first..stop-1:

- from above: the first places are first, first+1, …; at the places T of each round w - g has the
  signs -, +, -, … for a sum g with positive coefficients; the signs of g's rates change at the
  places of the next round;
- from below: the first places belong to polynomials of degree 2H-1, the signs are +, -, +, …;
- the cells between the last rates do not overlap, and the last signs y cross at their ends;
- <w, y> is at least the value.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from flint import arb, arb_mat, fmpq, fmpq_mat

from headcount.theory.balls import precision

SINGLE = 2**14  # lags that are added up one by one
FARTHEST, MOST_HEADS = 2**60, 64


def squeezed(p: arb, first: int, stop: int, c: Mapping[str, Any]) -> arb | None:
    """A lower bound of the l1 error over the lags first..stop-1 of the power law s^-p, for
    c["heads"] lin heads; None where the evidence does not show one."""
    H = int(c["heads"])
    if not (1 <= H <= MOST_HEADS and 1 <= first and first + 2 * H < stop <= FARTHEST):
        return None
    above, below = [[_round(r, H, first, stop) for r in c[side]] for side in ("above", "below")]
    fastest = tuple(range(first, first + 2 * H))
    if not above or not below or above[0][0] != fastest or not _slowest(below[0][0], first, stop):
        return None
    if not (_chain(p, above, -1, first, stop) and _chain(p, below, 1, first, stop)):
        return None
    ends = [x for pair in zip(below[-1][1], above[-1][1], strict=True) for x in pair]
    if not all(x < y for x, y in itertools.pairwise(ends)):
        return None
    places = _places(c["places"], H, first, stop)
    y = _values(_crossing(ends), places, first, stop)
    if not all(abs(v) < 1 for v in y):
        return None
    blocks = [s * added_up(p, b + first, e + first) for s, b, e in _edges(places, first, stop)]
    return sum((v * arb(t) ** -p for v, t in zip(y, places, strict=True)), sum(blocks, arb(0)))


def added_up(p: arb, begin: int, end: int) -> arb:
    """s^-p over begin..end-1. Far out by Euler and Maclaurin: derivatives of s^-p keep their signs,
    so that what is left out is smaller than the first term of it."""
    far = max(begin, min(end, SINGLE))
    total = sum((arb(s) ** -p for s in range(begin, far)), arb(0))
    if far == end:
        return total
    a, b = arb(far), arb(end)
    total += (b / a).log() if p == 1 else (b ** (1 - p) - a ** (1 - p)) / (1 - p)
    total += (a**-p - b**-p) / 2
    change, order = [], p
    for k in (1, 3, 5):  # of the derivatives
        change.append(order * (a ** -(p + k) - b ** -(p + k)))
        order = order * (p + k) * (p + k + 1)
    return total + change[0] / 12 - change[1] / 720 + arb(0, abs(change[2]).upper() / 30240)


_Round = tuple[tuple[int, ...], list[arb], list[arb]]


def _round(r: Sequence[Any], H: int, first: int, stop: int) -> _Round:
    places, rates, coefficients = r
    balls = [[arb(str(v)) for v in numbers] for numbers in (rates, coefficients)]
    if any(len(b) != H or not all(v > 0 and v.is_finite() for v in b) for b in balls):
        raise ValueError("a sum of other than H positive heads")
    if not all(x < y for x, y in itertools.pairwise(balls[0])):
        raise ValueError("rates out of order")
    return _places(places, H, first, stop), balls[0], balls[1]


def _places(places: Sequence[Any], H: int, first: int, stop: int) -> tuple[int, ...]:
    found = tuple(int(t) for t in places)
    inside = len(found) == 2 * H and first <= found[0] and found[-1] < stop
    if not inside or not all(x < y for x, y in itertools.pairwise(found)):
        raise ValueError("places out of order")
    return found


def _chain(p: arb, rounds: list[_Round], side: int, first: int, stop: int) -> bool:
    """Does each round follow from the one before?"""
    for before, after in itertools.pairwise(rounds):
        y = _values(_touching(before[1]), after[0], first, stop)
        if not all(abs(v) < 1 for v in y):
            return False
    return all(_beyond(p, r, side) for r in rounds)


def _beyond(p: arb, r: _Round, side: int) -> bool:
    """Does w - g alternate at the places, + first from below, - first from above?"""
    sign = side
    for t in r[0]:
        drawn = sum((a * (-b * t).exp() for b, a in zip(r[1], r[2], strict=True)), arb(0))
        if not sign * (arb(t) ** -p - drawn) > 0:
            return False
        sign = -sign
    return True


def _edges(places: Sequence[int], first: int, stop: int) -> list[tuple[int, int, int]]:
    """(sign, begin, end) of the lags between the places, counted from `first`."""
    begins, ends = [first, *(t + 1 for t in places)], [*places, stop]
    return [
        (1 if i % 2 == 0 else -1, b - first, e - first)
        for i, (b, e) in enumerate(zip(begins, ends, strict=True))
    ]


class _Condition:
    """(1 - x) sum_s y(s) x^(s - first) vanishes at x, or its derivative does."""

    def __init__(self, rate: arb, slope: bool):
        self.x, self.slope = (-rate).exp(), slope

    def power(self, n: int) -> arb:
        if not self.slope:
            return self.x**n
        return n * self.x ** (n - 1) if n else arb(0)

    def block(self, begin: int, end: int) -> arb:
        return self.power(begin) - self.power(end)


def _touching(rates: Sequence[arb]) -> list[_Condition]:
    return [_Condition(b, slope) for b in rates for slope in (False, True)]


def _crossing(rates: Sequence[arb]) -> list[_Condition]:
    return [_Condition(b, slope=False) for b in rates]


def _values(
    conditions: Sequence[_Condition], places: Sequence[int], first: int, stop: int
) -> list[arb]:
    """y at the places; an ArithmeticError where balls do not show that there is one solution."""
    blocks = _edges(places, first, stop)
    rows = [[c.block(t - first, t + 1 - first) for t in places] for c in conditions]
    known = [[-sum((s * c.block(b, e) for s, b, e in blocks), arb(0))] for c in conditions]
    found = arb_mat(rows).solve(arb_mat(known))
    return [found[i, 0] for i in range(len(places))]


def _slowest(places: Sequence[int], first: int, stop: int) -> bool:
    """Are there signs that change strictly inside these lags, orthogonal to all polynomials of
    degree below their number? In exact fractions."""
    rows, known = [], []
    for k in range(len(places)):
        rows.append([math.comb(t, k) for t in places])
        sums = [
            s * (math.comb(e + first, k + 1) - math.comb(b + first, k + 1))
            for s, b, e in _edges(places, first, stop)
        ]
        known.append([fmpq(-sum(sums))])
    found = fmpq_mat(rows).solve(fmpq_mat(known))
    return all(-1 < found[i, 0] < 1 for i in range(len(places)))


def check_precision(heads: int) -> Any:
    """Digits in which the balls of so many heads stay small."""
    return precision(256 + 64 * heads)
