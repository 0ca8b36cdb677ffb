"""Verify a proof by branches (`branch` has the theorem), in balls, with nothing but its evidence.

Every choice of signs and rates must end in a leaf; a leaf names a vector y, and on the rates that
its slots may take, sign * g(b) <= (<y, rho> - value ||y||_*) / C with g(b) = sum_s y_s phi(s; b).
g is bounded by Bernstein coefficients of Taylor polynomials, for all vectors at once, on intervals
that begin and end where some slot does.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flint import arb, arb_mat, arb_poly

from headcount.core.claims import Norm
from headcount.theory.bounds.check_continuum import bernstein
from headcount.theory.heads import AbstractDecay

DEGREE = 20
MOST_PIECES = 4000
TINY = 1e-7  # Taylor remainders, relative to the smallest level
GRID = 2.0**30  # cuts are whole multiples of 1 / GRID
FAR = 2.0**12  # a finite rate that is as good as inf on every lag but the first

Slot = tuple[float, float, int]  # lowest and highest rate, sign
Wanted = dict[int, list[Slot]]  # vector → slots on which it must stay below its level


def branched(
    rho: Sequence[arb], family: AbstractDecay, budget: float, norm: Norm, lowest: float,
    value: arb, c: Mapping[str, Any],
) -> bool:  # fmt: skip
    """Is every sum of c["heads"] heads with sum|a| <= budget off by `value` or more?"""
    H, edges = int(c["heads"]), [int(s) for s in c["blocks"]]
    vectors = [[arb(float(v)) for v in y] for y in c["vectors"]]
    if H < 1 or len(c["trees"]) != H + 1 or not all(a < b for a, b in itertools.pairwise(edges)):
        return False
    if any(len(y) != len(edges) - 1 or not all(v.is_finite() for v in y) for y in vectors):
        return False
    wanted: Wanted = {}
    lowest = math.floor(lowest * GRID) / GRID  # covers a little more
    for plus, tree in enumerate(c["trees"]):
        slots = [(lowest, math.inf, 1 if h < plus else -1) for h in range(H)]
        _collect(tree, slots, len(vectors), wanted)
    mass = [sum((rho[s] for s in range(a, b)), arb(0)) for a, b in itertools.pairwise(edges)]
    levels = {}
    for i in wanted:
        inner = sum((v * m for v, m in zip(vectors[i], mass, strict=True)), arb(0))
        levels[i] = ((inner - value * _size(vectors[i], edges, norm)) / arb(budget)).lower()
        if not levels[i] > 0:
            return False
    return _stays_below(family, edges, vectors, wanted, levels)


def _size(y: Sequence[arb], edges: Sequence[int], norm: Norm) -> arb:
    """The dual norm of the vector that is y_B on every lag of block B."""
    widths = [b - a for a, b in itertools.pairwise(edges)]
    if norm is Norm.L1:
        return max((abs(v) for v in y), key=float)
    if norm is Norm.SUP:
        return sum((n * abs(v) for n, v in zip(widths, y, strict=True)), arb(0))
    return sum((n * v * v for n, v in zip(widths, y, strict=True)), arb(0)).sqrt()


def _collect(tree: Any, slots: Sequence[Slot], count: int, wanted: Wanted) -> None:
    """What the leaves of a tree ask of their vectors. Slots of one sign are in the order of their
    rates, so that a cut of one of them moves others along."""
    if any(low > high for low, high, _ in slots):
        return  # no such choice
    if isinstance(tree, int):
        if not 0 <= tree < count:
            raise ValueError("a leaf without a vector")
        wanted.setdefault(tree, []).extend(slots)
        return
    at, cut, left, right = tree
    cut = float(cut)
    if not (0 <= at < len(slots) and 0 < cut < FAR and cut * GRID == int(cut * GRID)):
        raise ValueError("a cut of no slot")
    sign = slots[at][2]
    below, beyond = list(slots), list(slots)
    for j, (low, high, s) in enumerate(slots):
        if s == sign and j <= at:
            below[j] = (low, min(high, cut), s)
        if s == sign and j >= at:
            beyond[j] = (max(low, cut), high, s)
    _collect(left, below, count, wanted)
    _collect(right, beyond, count, wanted)


def _stays_below(
    family: AbstractDecay, edges: Sequence[int], vectors: Sequence[Sequence[arb]], wanted: Wanted,
    levels: Mapping[int, arb],
) -> bool:  # fmt: skip
    """sign * g <= level on every slot of every vector?"""
    used = sorted(wanted)
    slots_of = {i: set(wanted[i]) for i in used}
    ends = {x for slots in slots_of.values() for low, high, _ in slots for x in (low, high)}
    points = sorted(x for x in ends if x < math.inf)
    frame = _Frame(family, edges)
    largest = max(float(abs(v)) for i in used for v in vectors[i])
    small = TINY * min(float(x) for x in levels.values()) / largest
    for i in used:  # a slot of one rate is no part of an interval
        for low, _, sign in {slot for slot in slots_of[i] if slot[0] == slot[1]}:
            if not sign * frame.value(low, vectors[i]) <= levels[i]:
                return False
    for begin, end in itertools.pairwise([*points, math.inf]):
        # no slot begins or ends inside: it holds all of the interval, or at most an end of it
        signs = {
            i: {s for low, high, s in slots_of[i] if low <= begin and end <= high} for i in used
        }
        asked = [i for i in used if signs[i]]
        if not asked and end < math.inf:
            continue
        table = arb_mat([[vectors[i][b] for i in asked] for b in range(len(edges) - 1)])
        left = begin
        while left < end:
            if end == math.inf and all(frame.ends_below(left, vectors, wanted, levels)):
                return True
            if left >= FAR:
                return False
            half = frame.half_width(left, end, small)
            polys, rest = frame.taylor(left, half) * table, frame.remainder(left, half)
            for n, i in enumerate(asked):
                room = levels[i] - rest * arb(largest)
                poly = [polys[k, n] for k in range(DEGREE)]
                if not all(frame.below([s * v for v in poly], room) for s in signs[i]):
                    return False
            left += 2 * half
    return False


class _Frame:
    """The curves on the lags of all blocks."""

    def __init__(self, family: AbstractDecay, edges: Sequence[int]):
        self.family, self.edges = family, edges
        self.lags = range(edges[0], edges[-1])
        self.distance = [family.exact_distance(s) for s in self.lags]
        self.floats = [float(x) for x in self.distance]
        self.hull_of = bernstein(DEGREE - 1)

    def curve(self, rate: float) -> list[arb]:
        return self.family.curve(rate, self.edges[-1])[self.edges[0] :]

    def value(self, rate: float, y: Sequence[arb]) -> arb:
        """g at one rate."""
        now, starts = self.curve(rate), [e - self.edges[0] for e in self.edges]
        blocks = itertools.pairwise(starts)
        return sum((v * sum(now[a:b], arb(0)) for v, (a, b) in zip(y, blocks, strict=True)), arb(0))

    def half_width(self, left: float, end: float, small: float) -> float:
        """Half of an interval that ends at `end` or before, with a remainder below `small`. All
        ends are whole multiples of 2^-31, so that they meet exactly."""
        terms = [
            DEGREE * math.log(x) - left * x for x in self.floats if x > 0
        ]  # log of l^D e^{-left l}
        top = max(terms, default=0.0)
        total = top + math.log(sum(math.exp(t - top) for t in terms)) if terms else -math.inf
        most = (math.log(small) + math.lgamma(DEGREE + 1) - total) / DEGREE
        half = 2.0 ** max(-30, min(8, math.floor(most / math.log(2))))
        return min(half, (end - left) / 2)

    def remainder(self, left: float, half: float) -> arb:
        """Of Taylor's series at left + half, for vectors of largest entry 1."""
        total = sum(
            (x**DEGREE * v for x, v in zip(self.distance, self.curve(left), strict=True)), arb(0)
        )
        return total * arb(half) ** DEGREE / math.factorial(DEGREE)

    def taylor(self, left: float, half: float) -> arb_mat:
        """Coefficients in tau of sum over a block of phi(s; left + half + half tau).  [D, B]"""
        steps = [-x * half for x in self.distance]
        rows, terms = [], self.curve(left + half)
        starts = [e - self.edges[0] for e in self.edges]
        for k in range(DEGREE):
            down = 1 / arb(math.factorial(k))
            rows.append([down * sum(terms[a:b], arb(0)) for a, b in itertools.pairwise(starts)])
            terms = [t * x for t, x in zip(terms, steps, strict=True)]
        return arb_mat(rows)

    def ends_below(
        self, left: float, vectors: Sequence[Sequence[arb]], wanted: Wanted,
        levels: Mapping[int, arb],
    ) -> Iterator[bool]:  # fmt: skip
        """For each vector and sign that is asked up to inf: below its level from `left` on?"""
        starts = [e - self.edges[0] for e in self.edges]
        blocks = list(itertools.pairwise(starts))
        last, now = self.curve(math.inf), self.curve(left)
        value = [sum(last[a:b], arb(0)) for a, b in blocks]
        moving = [abs(sum(now[a:b], arb(0)) - v) for (a, b), v in zip(blocks, value, strict=True)]
        for i, slots in wanted.items():
            rest = sum((abs(v) * m for v, m in zip(vectors[i], moving, strict=True)), arb(0))
            limit = sum((v * m for v, m in zip(vectors[i], value, strict=True)), arb(0))
            for sign in {s for _, high, s in slots if high == math.inf}:
                yield bool(sign * limit + rest <= levels[i])

    def below(self, poly: list[arb], level: arb) -> bool:
        """poly <= level on [-1, 1]? By the hull of Bernstein coefficients, bisected."""
        work, whole = [(0.0, 1.0)], arb_poly(poly)
        for _ in range(MOST_PIECES):
            if not work:
                return True
            centre, half = work.pop()
            piece = whole(arb_poly([centre, half])).coeffs()
            piece += [arb(0)] * (DEGREE - len(piece))
            hull = self.hull_of * arb_mat([[x] for x in piece])
            if all(hull[k, 0] <= level for k in range(DEGREE)):
                continue
            if not piece[0] <= level or half < 2.0**-20:
                return False
            work += [(centre - half / 2, half / 2), (centre + half / 2, half / 2)]
        return False
