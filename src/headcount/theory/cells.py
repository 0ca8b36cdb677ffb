"""Norms of a sum of decays beyond the lags that are handled one by one, cell by cell, as balls.

r(s) = sum_h c_h phi_h(s) may mix families (a kernel s^-1.5 less heads e^{-b s}). The lags from L on
are cut into cells, [L, 3L/2), [3L/2, 2L), [2L, 3L), …, and on each r is its Taylor polynomial P
about the cell's middle, give or take a remainder. A cell is halved until P shows that r keeps its
sign on it and stays below the largest value known, or until one lag is left. Then |r| and r^2 are
polynomials there, and their sums over lags come from integrals: for f on [n - 1/2, n + 1/2], by
Taylor,

    int f = f(n) + f''(n)/24 + f''''(.)/1920,    int f'' = f''(n) + f''''(.)/24,

so that sum f(n) = int f - int f''/24, give or take (1/1920 + 1/576) max|f''''| per lag, next to
nothing where f bends over a thousand lags. Far out the curves fall in one order, their partial sums
have one sign, and what is left is a closed form (`tails`): there the cells end.
"""

import dataclasses
import functools
import itertools

from flint import arb, arb_poly

from headcount.theory.crossings import Term, one_sign, slow_to_fast

ORDER = 32
MOST_DOUBLINGS = 160  # about as far as the blocks of a search reach (`fit.sample`)
MOST_CELLS = 1500
NEGLIGIBLE = 1e-10  # of the sums so far
CLOSE = 2e-9  # to the largest value known
PER_LAG = arb(1) / 1920 + arb(1) / 576


@dataclasses.dataclass(frozen=True)
class Sums:
    """l1, squared l2 and sup over some lags."""

    l1: arb
    squared: arb
    sup: arb

    def __add__(self, more: "Sums") -> "Sums":
        return Sums(self.l1 + more.l1, self.squared + more.squared, self.sup.max(more.sup))


def cell_sums(terms: list[Term], start: int, before: Sums) -> tuple[Sums, int] | None:
    """The sums over start <= s < far, and a lag `far` from which on closed forms tell them closely
    enough; None where that takes too many cells.

    `before` are the sums over the lags before `start`: what is negligible beside them may be wide.
    """
    far = start << MOST_DOUBLINGS
    if _of_one_sign(terms, far) is None and not _negligible(terms, far, before.l1):
        return None  # slow heads that cancel still do so there: they would take all cells
    total, known, count = Sums(arb(0), arb(0), arb(0)), before.sup.lower(), 0
    spare = before.l1.lower() * NEGLIGIBLE / 100
    for low in (start << k for k in range(MOST_DOUBLINGS + 1)):
        if _told_by_closed_forms(terms, low, before + total, known):
            return total, low
        stack = [(low + low // 2, 2 * low), (low, low + low // 2)]
        while stack:
            first, end = stack.pop()
            cell, count = Cell.of(terms, first, end), count + 1
            known = known.max(cell.seen())
            if cell.decided(known, spare):
                total += cell.sums()
            elif count < MOST_CELLS:
                middle = (first + end) // 2
                stack += [(middle, end), (first, middle)]
            else:
                return None
    return None


def _told_by_closed_forms(terms: list[Term], low: int, total: Sums, known: arb) -> bool:
    """Is what lies beyond next to nothing, or has r one sign there, no larger value than is known,
    and no square to speak of?
    """
    partial = _of_one_sign(terms, low)
    if partial is None:
        return _negligible(terms, low, total.l1)
    largest = max((abs(v).upper() for v in partial), default=arb(0))
    if largest > known * (1 + CLOSE):
        return False
    l1 = sum((t.tail(low) for t in terms), arb(0))
    return not l1.is_finite() or bool(abs(l1) * largest <= NEGLIGIBLE * total.squared)


def _negligible(terms: list[Term], low: int, l1: arb) -> bool:
    """By the triangle inequality; below 1, so that the square is smaller still."""
    most = sum((abs(t.tail(low)) for t in terms), arb(0))
    return bool(most <= NEGLIGIBLE * l1 and most <= 1)


def _of_one_sign(terms: list[Term], low: int) -> list[arb] | None:
    """The partial sums from slow to fast at `low`, where these show that r keeps its sign from
    there on (`tails`); else None.
    """
    ordered = slow_to_fast(terms, low)
    partial = list(itertools.accumulate(t.at(low) for t in ordered or []))
    return partial if ordered is not None and one_sign(partial) else None


@dataclasses.dataclass(frozen=True)
class Cell:
    """Lags first <= s < first + count, where r(s) is within `rest` of sum_k P_k t^k: t runs from -1
    to 1 on [first - 1/2, first + count - 1/2].
    """

    count: int
    P: arb_poly
    rest: arb

    @classmethod
    def of(cls, terms: list[Term], first: int, end: int) -> "Cell":
        if end - first == 1:
            return cls(1, arb_poly([sum((t.at(first) for t in terms), arb(0))]), arb(0))
        middle, half = arb(first + end - 1) / 2, arb(end - first) / 2
        P, rest = arb_poly([]), arb(0)
        for t in terms:
            series, left = t.family.series(t.rate, middle, half, ORDER)
            P, rest = P + t.coefficient * arb_poly(series), rest + abs(t.coefficient) * left
        return cls(end - first, P, rest.upper())

    def seen(self) -> arb:
        """A value that |r| reaches at a lag of the cell: the first, the last, or the one next to
        where its parabola turns.
        """
        c, last = self.P, self.count - 1
        turn = -c[1] / (2 * c[2]) if abs(c[2]) > abs(c[1]) / 2 else arb(0)
        near = min(last, max(0, int(float((turn + 1) * self.count / 2))))
        places = (arb(2 * lag + 1) / self.count - 1 for lag in {0, near, last})
        return functools.reduce(arb.max, (abs(c(t)) - self.rest for t in places)).lower()

    @functools.cached_property
    def most(self) -> arb:
        """Above |r| on the cell: its parabola's largest value and the sizes of all else."""
        c = self.P
        top = abs(c[0] + c[2]) + abs(c[1])  # the larger of the ends
        if not abs(c[1]) > 2 * abs(c[2]):  # it may turn in between
            top = top.max(abs(c[0] - c[1] * c[1] / (4 * c[2])))
        if not top.is_finite():  # no one knows where it turns
            top = abs(c[0]) + abs(c[1]) + abs(c[2])
        return sum((abs(x) for x in c.coeffs()[3:]), top + self.rest)

    @functools.cached_property
    def signed(self) -> bool:
        """Does r keep its sign, and P tell its value? A single lag leaves no question."""
        sizes = [abs(c) for c in self.P.coeffs()]
        return self.count == 1 or bool(
            sizes[0] > sum(sizes[1:], self.rest) and self.rest <= NEGLIGIBLE * sizes[0]
        )

    def decided(self, known: arb, spare: arb) -> bool:
        """Is r signed, or too small for that to matter, and exceeds no value that is known, up to
        next to nothing?
        """
        if self.count == 1:
            return True
        below = self.most <= known * (1 + CLOSE)
        return bool(below and (self.count * self.most <= spare or self.signed))

    def sums(self) -> Sums:
        """Of a cell that is decided."""
        sup = self.seen().union(self.most.upper())
        if not self.signed:
            l1 = arb(0).union((self.count * self.most).upper())
            return Sums(l1, l1 * self.most, sup)
        give = arb(0, self.count * self.rest)  # the remainder at every lag
        return Sums(
            abs(self._over_lags(self.P) + give),
            (self._over_lags(self.P * self.P) + 2 * self.most * give).nonnegative_part(),
            sup,
        )

    def _over_lags(self, f: arb_poly) -> arb:
        """The sum over the cell's lags of a polynomial in t (module docstring)."""
        c = f.coeffs()
        if self.count == 1:
            return sum(c, arb(0))
        half = arb(self.count) / 2
        integral = 2 * half * sum((c[k] / (k + 1) for k in range(0, len(c), 2)), arb(0))
        bends = 2 / half * sum((k * c[k] for k in range(2, len(c), 2)), arb(0))
        fourth = sum(
            (k * (k - 1) * (k - 2) * (k - 3) * abs(c[k]) for k in range(4, len(c))), arb(0)
        )
        return integral - bends / 24 + arb(0, (self.count * PER_LAG * fourth / half**4).upper())
