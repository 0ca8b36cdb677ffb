"""The two maps of `squeeze`, followed in many digits: rates → places of sign changes, and places →
rates.

*Canonical signs.* y is +1, -1, +1, … on the lags first..stop-1 and changes sign inside 2H of them,
`places`: of the lag T_i the share v_i still has the sign before, so that y(T_i) = ±(2 v_i - 1).
2H linear conditions sum_s y(s) psi(s) = 0 determine the shares; `settled` moves the places until
all shares lie in (0, 1).

*Interpolation.* `through` finds the sum of H positive heads that equals s^-p at 2H real places, by
Newton's method in log rates and log coefficients, along a path from a sum that is known.

Nothing here is trusted: `squeeze` proves what it uses, in balls.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, arb_mat

# lag k → for each condition psi: sum of psi over first..k-1, and psi(k)
Conditions = Callable[[int], list[tuple[arb, arb]]]
ROUNDS = 40  # moves of the places before a path step counts as too long
NEWTON = 10
SHORTEST = 2e-4  # a path that needs shorter steps is given up
EXACT, ROUGH = 1e-12, 1e-3  # Newton's last step, relative: at the end of a path, and on the way


class Lost(Exception):
    """A path was not found; there is no bound then."""


@dataclasses.dataclass(frozen=True)
class Curves:
    """A sum of heads by log rates and positive coefficients, and the places where it is exact."""

    places: tuple[arb, ...]
    log_rates: tuple[arb, ...]
    coefficients: tuple[arb, ...]

    @property
    def rates(self) -> list[arb]:
        return [x.exp() for x in self.log_rates]


def touching(rates: Sequence[arb], first: int) -> Conditions:
    """sum_s y(s) e^{-b s} shall vanish twice at each rate."""

    bases = [(-b).exp() for b in rates]
    rest = [1 / (1 - x) for x in bases]

    @functools.cache  # few places move from round to round
    def at(k: int) -> list[tuple[arb, arb]]:
        found = []
        for x, r in zip(bases, rest, strict=True):
            here = x ** (k - first)  # all divided by x^first
            whole = (1 - here) * r
            found += [(whole, here), ((first - k * here + x * whole) * r, k * here)]
        return found

    return at


def crossing(rates: Sequence[arb], first: int) -> Conditions:
    """sum_s y(s) e^{-b s} shall vanish at each rate."""

    bases = [(-b).exp() for b in rates]

    def at(k: int) -> list[tuple[arb, arb]]:
        return [((1 - x ** (k - first)) / (1 - x), x ** (k - first)) for x in bases]

    return at


def flat(count: int, first: int, stop: int) -> Conditions:
    """The limit of slow rates: y is orthogonal to polynomials of degree below `count`."""
    scale = [arb(math.comb(stop, j + 1)) for j in range(count)]

    def at(k: int) -> list[tuple[arb, arb]]:
        sums = [math.comb(k, j + 1) - math.comb(first, j + 1) for j in range(count)]
        return [(s / scale[j], math.comb(k, j) / scale[j]) for j, s in enumerate(sums)]

    return at


def shares(at: Conditions, places: Sequence[int], stop: int, sharp: bool = False) -> list[arb]:
    """v_i of all places. In balls; `sharp`: midpoints only, for searches."""
    columns, whole = [at(k) for k in places], at(stop)
    sign = [2 if i % 2 == 0 else -2 for i in range(len(places))]
    rows, right = [], []
    for f, (total, _) in enumerate(whole):
        rows.append([s * column[f][1] for s, column in zip(sign, columns, strict=True)])
        right.append([-total - sum(s * c[f][0] for s, c in zip(sign, columns, strict=True))])
    matrix, vector = arb_mat(rows), arb_mat(right)
    if sharp:
        matrix, vector = matrix.mid(), vector.mid()
    try:
        found = matrix.solve(vector)
    except ZeroDivisionError as error:
        raise Lost from error
    return [found[i, 0] for i in range(len(places))]


def settled(at: Conditions, places: Sequence[int], first: int, stop: int) -> list[int]:
    """The places whose shares lie between 0 and 1, from places nearby."""
    places, seen = list(places), set()
    for _ in range(ROUNDS):
        v = [float(x) for x in shares(at, places, stop, sharp=True)]
        if all(0 < x < 1 for x in v):
            return places
        if tuple(places) in seen or not all(map(math.isfinite, v)):
            break
        seen.add(tuple(places))
        edges = [first - 1, *places, stop]
        moved = []
        for i, (k, x) in enumerate(zip(places, v, strict=True)):
            room = max(1.0, 0.6 * min(k - edges[i], edges[i + 2] - k))
            moved.append(k if 0 < x < 1 else math.floor(k + min(max(x, -room), room + 0.999)))
        places = apart(moved, first, stop)
    raise Lost


def apart(places: Sequence[int], first: int, stop: int) -> list[int]:
    """The nearest places that are all different, on the lags."""
    places, n = list(places), len(places)
    for i in range(n):
        places[i] = max(places[i], first + i, places[i - 1] + 1 if i else first)
    for i in reversed(range(n)):
        places[i] = min(places[i], stop - n + i, places[i + 1] - 1 if i + 1 < n else stop)
    return places


def moved_signs(
    start: Sequence[arb], places: Sequence[int], goal: Sequence[arb], first: int, stop: int
) -> list[int]:
    """The places of `touching(goal)`, along a path of rates from those of `touching(start)`."""
    begin, end = [b.log() for b in start], [b.log() for b in goal]
    done, step, places = 0.0, 1.0, list(places)
    while done < 1:
        to = min(1.0, done + step)
        rates = [(x + to * (y - x)).exp().mid() for x, y in zip(begin, end, strict=True)]
        try:
            places, done, step = settled(touching(rates, first), places, first, stop), to, 2 * step
        except Lost:
            step /= 2
            if step < SHORTEST:
                raise
    return places


def gauss(exponent: arb, heads: int, start: arb) -> Curves:
    """The sum through start, start + 1, …, start + 2H - 1: Gauss quadrature of the measure whose
    moments are these values (Chebyshev's algorithm, then the Jacobi matrix)."""
    n = 2 * heads
    moments = [((start + i) ** -exponent).mid() for i in range(n)]
    diagonal, off = [moments[1] / moments[0]], [moments[0]]
    before, now = [arb(0)] * n, moments
    for k in range(1, heads):
        after = [arb(0)] * n
        for l in range(k, n - k):
            after[l] = (now[l + 1] - diagonal[-1] * now[l] - off[-1] * before[l]).mid()
        diagonal.append((after[k + 1] / after[k] - now[k] / now[k - 1]).mid())
        off.append((after[k] / now[k - 1]).mid())
        before, now = now, after
    beside = [math.sqrt(max(float(x), 0.0)) for x in off[1:]]
    jacobi = np.diag([float(x) for x in diagonal]) + np.diag(beside, 1) + np.diag(beside, -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    if not 0 < nodes[0] <= nodes[-1] < 1:
        raise Lost
    order = np.argsort(-nodes)
    rates = [-arb(float(nodes[i])).log() for i in order]
    sizes = [off[0] * float(vectors[0, i]) ** 2 for i in order]
    a = [w * (b * start).exp() for w, b in zip(sizes, rates, strict=True)]
    rough = Curves(
        tuple(start + i for i in range(n)), tuple(b.log().mid() for b in rates),
        tuple(x.mid() for x in a),
    )  # fmt: skip
    return interpolated(exponent, rough, rough.places, 6 * NEWTON, EXACT)


def through(exponent: arb, places: Sequence[arb], known: Curves) -> Curves:
    """The sum through s^-p at `places`, along a path from a sum that is known."""
    begin, end = [t.log() for t in known.places], [t.log() for t in places]
    done, step = 0.0, 1.0
    while done < 1:
        to = min(1.0, done + step)
        spots = [(x + to * (y - x)).exp().mid() for x, y in zip(begin, end, strict=True)]
        try:
            enough = EXACT if to == 1 else ROUGH
            known, done, step = interpolated(exponent, known, spots, NEWTON, enough), to, 1.5 * step
        except Lost:
            step /= 2
            if step < SHORTEST:
                raise
    return known


def interpolated(
    exponent: arb, start: Curves, places: Sequence[arb], most: int, enough: float = EXACT
) -> Curves:
    """The sum through s^-p at `places` by `most` of Newton's steps from one nearby."""
    logs, a = list(start.log_rates), list(start.coefficients)
    H, scale = len(logs), [t**exponent for t in places]
    for _ in range(most):
        rates = [x.exp() for x in logs]
        rows, left = [], []
        for t, s in zip(places, scale, strict=True):
            parts = [((-b * t).exp() * w * s).mid() for b, w in zip(rates, a, strict=True)]
            rows.append([*((-b * t * x).mid() for b, x in zip(rates, parts, strict=True)), *parts])
            left.append([(1 - sum(parts, arb(0))).mid()])
        try:
            change = arb_mat(rows).solve(arb_mat(left))
        except ZeroDivisionError as error:
            raise Lost from error
        moves = [change[i, 0].mid() for i in range(2 * H)]
        largest = max(abs(float(x)) for x in moves)
        if not math.isfinite(largest):
            break
        part = min(1.0, 0.5 / max(largest, 1e-300))
        logs = [(x + part * d).mid() for x, d in zip(logs, moves[:H], strict=True)]
        a = [(x * (part * d).exp()).mid() for x, d in zip(a, moves[H:], strict=True)]
        if largest < enough:
            if not all(float(y - x) > 0 for x, y in itertools.pairwise(logs)):
                break
            return Curves(tuple(places), tuple(logs), tuple(a))
    raise Lost
