"""Where a sum of decaying curves changes sign, with proof that it changes nowhere else.

r(x) = sum_h c_h e^{-b_h x}, x > 0 (x = l(s) - l(L): s - L for lin, log(s/L) for log curves). Far
out the slowest curve decides the sign. The rest is cut into cells until on each r keeps its sign,
or r' does, so that the signs at the cell's ends tell whether there is a zero; bisection then finds
the lag behind it. Both properties are shown by Taylor's formula with remainder in balls, at a
precision that holds the cancellation, hence with certainty.
"""

import dataclasses
import itertools
import math

from flint import arb

from headcount.theory.heads import AbstractDecay

FIRST_CELLS = 8
MOST_DEPTH = 14
MOST_CELLS = 400  # a sum that takes more has zeros too close, or too far out, to tell
ORDER = 32
MOST_HALVINGS = 160


@dataclasses.dataclass(frozen=True)
class Term:
    """One curve of the residual: coefficient times phi(s; rate)."""

    coefficient: arb
    family: AbstractDecay
    rate: float

    def at(self, lag: int) -> arb:
        """Its value at a lag."""
        return self.coefficient * self.family.value(self.rate, lag)

    def tail(self, start: int) -> arb:
        """Its sum over s >= start."""
        return self.coefficient * self.family.tail(self.rate, start)


def one_sign(values: list[arb]) -> bool:
    return all(v >= 0 for v in values) or all(v <= 0 for v in values)


def slow_to_fast(terms: list[Term], start: int) -> list[Term] | None:
    """Terms ordered so that each decays no faster than the next at every s >= start, or None
    where there is no such order.
    """
    if any(math.isinf(t.rate) for t in terms):
        return None
    ordered = sorted(terms, key=lambda t: t.family.steepness(t.rate, start))
    # b l'(s) is b or b/(s + k): once slower, and slower far out, is slower for good
    far_out = [t.family.eventual(t.rate) for t in ordered]
    return ordered if far_out == sorted(far_out) else None


def crossings(ordered: list[Term], partial: list[arb], start: int) -> list[int] | None:
    """Lags n > start such that r keeps its sign on [start, n1-1], [n1, n2-1], …, or None where that
    cannot be shown.

    `ordered` runs from slow to fast and `partial` holds the partial sums of the terms at `start`.
    """
    if one_sign(partial):
        return []
    families = {t.family for t in ordered}
    if len(families) > 1:
        return None
    sum_ = ExponentialSum([t.at(start) for t in ordered], [arb(t.rate) for t in ordered])
    reach = sum_.reach()
    cells = None if reach is None else _brackets(sum_, reach)
    if cells is None:
        return None
    family = families.pop()
    found = [_lag_after(sum_, low, high, start, family) for low, high in cells]
    return None if None in found else [n for n in found if n is not None]


@dataclasses.dataclass(frozen=True)
class ExponentialSum:
    """sum_h w_h e^{-b_h x} with rates in ascending order."""

    weights: list[arb]
    rates: list[arb]

    def terms(self, x: arb) -> list[arb]:
        return [w * (-b * x).exp() for w, b in zip(self.weights, self.rates, strict=True)]

    def __call__(self, x: arb) -> arb:
        return sum(self.terms(x), arb(0))

    def reach(self) -> arb | None:
        """An x beyond which the slowest curve decides the sign: there the partial sums are of
        one sign, and stay so.
        """
        x = 1 / self.rates[-1]
        for _ in range(80):
            if one_sign(list(itertools.accumulate(self.terms(x)))):
                return x
            x = 2 * x
        return None

    def decided(self, middle: arb, half: arb) -> bool:
        """Has r one sign, or r' one sign, on the whole cell? By Taylor's formula about the
        middle with its remainder.
        """
        terms = self.terms(middle)
        spans = [b * half for b in self.rates]
        sizes = [abs(t) * z.exp() for t, z in zip(terms, spans, strict=True)]
        rest = sum((s * z**ORDER for s, z in zip(sizes, spans, strict=True)), arb(0)) / arb.fac_ui(
            ORDER
        )
        steps = [sum(terms, arb(0))]
        for k in range(1, ORDER):
            terms = [-t * z / k for t, z in zip(terms, spans, strict=True)]
            steps.append(sum(terms, arb(0)))  # r^(k)(middle) half^k / k!
            if k == 1 and not rest <= abs(steps[0]) + abs(steps[1]):
                return False
        if abs(steps[0]) > sum((abs(m) for m in steps[1:]), rest):
            return True
        rest_of_slope = rest * ORDER  # sum s z^K/(K-1)!, which bounds the remainder of half * r'
        return bool(
            abs(steps[1]) > sum((k * abs(m) for k, m in enumerate(steps) if k >= 2), rest_of_slope)
        )


def _sign(ball: arb) -> int | None:
    """-1, 0, 1, or None where the ball does not know."""
    if ball > 0:
        return 1
    if ball < 0:
        return -1
    return 0 if ball.is_zero() else None


def _brackets(sum_: ExponentialSum, reach: arb) -> list[tuple[arb, arb]] | None:
    """Cells of (0, reach) where r changes sign, just once; None where a cell stays undecided."""
    width = reach / FIRST_CELLS
    stack = [((i * width).mid(), ((i + 1) * width).mid(), 0) for i in reversed(range(FIRST_CELLS))]
    found: list[tuple[arb, arb]] = []
    for _ in range(MOST_CELLS):
        if not stack:
            return found
        low, high, depth = stack.pop()
        middle = ((low + high) / 2).mid()
        if sum_.decided(middle, (high - low) / 2):
            ends = _sign(sum_(low)), _sign(sum_(high))
            if None in ends:
                return None
            if ends[0] != ends[1]:
                found.append((low, high))
        elif depth == MOST_DEPTH:
            return None
        else:
            stack += [(middle, high, depth + 1), (low, middle, depth + 1)]
    return None


def _lag_after(
    sum_: ExponentialSum, low: arb, high: arb, start: int, family: AbstractDecay
) -> int | None:
    """The first lag behind the zero in (low, high)."""
    left = _sign(sum_(low))
    for _ in range(MOST_HALVINGS):
        first, last = _lag(low, start, family), _lag(high, start, family)
        if first is not None and first == last:
            return first + 1
        middle = ((low + high) / 2).mid()
        sign = _sign(sum_(middle))
        if sign is None:
            return None
        if sign == 0 or sign != left:
            high = middle
        else:
            low = middle
    return None


def _lag(x: arb, start: int, family: AbstractDecay) -> int | None:
    """The last lag at or before position x."""
    whole = family.lag_at(start, x).floor().unique_fmpz()
    return None if whole is None else int(whole)
