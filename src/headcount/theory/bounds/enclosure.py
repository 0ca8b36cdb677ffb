"""max over ALL rates of |sum_s y_s phi(s; b)|, proved in balls by Taylor models of high order.

Decays are phi(s; b) = e^{-b l_s} with l_s = s, log s or log(1+s). On [b0 - h, b0 + h] the
function g(b) = sum y_s e^{-b l_s} is

    g(b0 + h tau) = sum_{k<m} c_k tau^k + R,   c_k = h^k/k! sum_s y_s (-l_s)^k phi(s; b0),
    |R| <= h^m/m! sum_s |y_s| l_s^m phi(s; b0 - h)   (Lagrange; phi falls with b).

With m = 32 the ray [lowest, inf) needs about thirty intervals (they may grow with b, because phi
decays), and the last one, [B, inf], is bounded term by term. On each interval a polynomial of
degree 31 is left; its maximum is found by bisection: after a shift to the midpoint of a piece,
|q_0| + |q_1| + ... bounds it there.
"""

import dataclasses
import math

import numpy as np
from flint import arb, arb_mat, arb_poly

from headcount.theory.balls import precision
from headcount.theory.heads import AbstractDecay

ORDER = 32
BITS = 160
SLACK = 1e-8  # relative; bisection stops when the bound is this close to a value that is attained
# relative to the maximum: Taylor remainders, and all lags but the first beyond the last interval
NEGLIGIBLE = 1e-10


@dataclasses.dataclass(frozen=True)
class Enclosure:
    """|g(b)| <= `upper` for all b >= lowest; |g| >= `attained` at some b; work in `pieces`."""

    upper: float
    attained: float
    pieces: int


def maximum(
    family: AbstractDecay, lags: np.ndarray, y: np.ndarray, lowest_rate: float
) -> Enclosure:
    """Enclose max_{b >= lowest_rate} |sum_s y_s phi(s; b)|, b = inf included."""
    scale = float(np.abs(y).max(initial=0.0))
    if scale == 0:
        return Enclosure(0.0, 0.0, 0)
    # Interval ends are sums of powers of two from 2^-30 to 2^12, so that they meet exactly;
    # rounding the start down covers a little more.
    lowest_rate = math.floor(lowest_rate * 2.0**30) / 2.0**30
    used = np.flatnonzero(y)
    lags, y = lags[used].astype(int), y[used]
    with precision(BITS):
        intervals, last = _intervals(
            family.distance(lags), y, lowest_rate, _guess(family, lags, y, lowest_rate)
        )
        polys, rests = _models(family, lags, y, intervals)
        tail, limit = _last(family, lags, y, last)
        attained = max(
            [
                _low(abs(p(arb(x)))) - _high(r)
                for p, r in zip(polys, rests, strict=True)
                for x in np.linspace(-1, 1, 33)
            ]
            + [_low(limit)]
        )
        upper = max(attained, 0.0) * (1 + SLACK)
        highest, pieces = _high(tail), 1
        for poly, rest in zip(polys, rests, strict=True):
            high, attained, count = _bisect(poly, rest, max(attained, 0.0))
            highest, pieces = max(highest, high), pieces + count
    return Enclosure(max(highest, upper), attained, pieces)


def _guess(family: AbstractDecay, lags: np.ndarray, y: np.ndarray, lowest: float) -> float:
    """A rough size of the maximum, to decide what is negligible."""
    rates = np.append(lowest + np.geomspace(1e-4, 60.0, 200), np.inf)
    return max(
        float(np.abs(y @ family.columns(rates, lags.astype(float))).max()),
        1e-15 * float(np.abs(y).max()),
    )


def _intervals(
    logs: np.ndarray, y: np.ndarray, lowest: float, guess: float
) -> tuple[list[tuple[float, float]], float]:
    """(centre, half-width) pairs that cover [lowest, last]; sized so that the Taylor remainder
    is negligible. All dyadic.
    """
    size = np.abs(y)
    target = math.log(NEGLIGIBLE * guess)
    first = logs <= 0
    fall = float(logs[~first].min()) if (~first).any() else 1.0
    last = lowest + math.ceil((math.log(size.sum()) - target) / fall)
    with np.errstate(divide="ignore"):
        # [S] -inf where l = 0
        log_terms = np.log(size) + ORDER * np.log(logs) - math.lgamma(ORDER + 1)
    found, left = [], lowest
    while left < last:
        half = 2.0**8
        # remainder h^m/m! sum |y| l^m e^{-left l}: depends on the left end alone
        base = float(np.logaddexp.reduce(log_terms - left * logs)) if len(logs) else -math.inf
        while ORDER * math.log(half) + base > target and half > 2.0**-30:
            half /= 2
        half = min(half, 2.0 ** math.ceil(math.log2(last - left)))
        found.append((left + half, half))
        left = left + 2 * half
    return found, left


def _models(family, lags, y, intervals) -> tuple[list[arb_poly], list[arb]]:
    """Taylor polynomial in tau and remainder bound of every interval."""
    length = int(lags.max()) + 1
    logs = [family.exact_distance(int(s)) for s in lags]
    rows = [[arb(v)] for v in y]
    for row, l in zip(rows, logs, strict=True):
        for k in range(1, ORDER):
            row.append(row[-1] * -l / k)
    top = [abs(row[-1]) * l / ORDER for row, l in zip(rows, logs, strict=True)]
    centres = arb_mat([_pick(family.curve(b, length), lags) for b, _ in intervals])
    lefts = arb_mat([_pick(family.curve(b - h, length), lags) for b, h in intervals])
    table = centres * arb_mat(rows)  # [I, ORDER]
    rest = lefts * arb_mat([[v] for v in top])  # [I, 1]
    polys = [
        arb_poly([table[i, k] * arb(h) ** k for k in range(ORDER)])
        for i, (_, h) in enumerate(intervals)
    ]
    return polys, [abs(rest[i, 0]) * arb(h) ** ORDER for i, (_, h) in enumerate(intervals)]


def _pick(curve: list[arb], lags: np.ndarray) -> list[arb]:
    return [curve[s] for s in lags]


def _last(family: AbstractDecay, lags: np.ndarray, y: np.ndarray, start: float) -> tuple[arb, arb]:
    """(bound on [start, inf], |value at inf|)."""
    length = int(lags.max()) + 1
    limit = family.curve(math.inf, length)
    value = abs(sum((arb(v) * limit[s] for s, v in zip(lags, y, strict=True)), arb(0)))
    curve = family.curve(start, length)
    rest = sum((abs(arb(v)) * (curve[s] - limit[s]) for s, v in zip(lags, y, strict=True)), arb(0))
    return value + rest, value


def _bisect(poly: arb_poly, rest: arb, attained: float) -> tuple[float, float, int]:
    """(upper bound of |poly| + rest on [-1, 1], best value seen, pieces)."""
    stack, highest, count = [(0.0, 1.0)], 0.0, 0
    while stack:
        centre, half = stack.pop()
        shifted = poly(arb_poly([centre, half])).coeffs()
        count += 1
        attained = max(attained, _low(abs(shifted[0])) - _high(rest)) if shifted else attained
        high = _high(sum((abs(c) for c in shifted), arb(0)) + rest)
        # bisection leaves the remainder: a piece is done when little else exceeds what is attained
        if high <= attained * (1 + SLACK) + 2 * _high(rest):
            highest = max(highest, high)
            continue
        stack += [(centre - half / 2, half / 2), (centre + half / 2, half / 2)]
    return highest, attained, count


def _high(x: arb) -> float:
    return math.nextafter(float(x.upper()), math.inf)


def _low(x: arb) -> float:
    return math.nextafter(float(x.lower()), -math.inf)
