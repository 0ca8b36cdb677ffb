"""What head curves add up to beyond the lags that are handled one by one, as balls.

The residual beyond lag L is a sum r(s) = sum_h c_h u_h(s) of decaying curves, u_h(L) = 1. Three
facts make its norms exact instead of bounded:

* l1. Order the curves from slow to fast, u_1 >= u_2 >= … on [L, inf). Abel summation gives

      r(s) = sum_h C_h (u_h(s) - u_{h+1}(s)),   C_h = c_1 + … + c_h.

  If all C_h have one sign, so has r, and sum |r| = |sum_h c_h sum_s u_h(s)|, a sum of closed forms.
  Otherwise the zeros of r beyond L are found, all of them (`crossings`), and between two zeros the
  same holds.
* l2. e^{-as} e^{-bs} = e^{-(a+b)s} and s^-a s^-b = s^-(a+b): the squared norm is a double sum of
  closed forms.
* sup. By the same Abel sum |r(s)| <= max_h |C_h|; it is also at most the l1 and the l2 norm.

Where curves of several families meet (a power law and exponentials), or the bound of the sup is
above all that the lags before L reach, the lags from L on are summed cell by cell (`cells`), as far
as the same facts take over. Where that fails too the triangle inequality still gives an upper
bound, and the ball is as wide as that is loose.
"""

import dataclasses
import itertools
import math

from flint import arb

from headcount.core.claims import Norm
from headcount.memory.kernels import AbstractKernel, Exponential, Power
from headcount.theory.cells import Sums, cell_sums
from headcount.theory.crossings import Term, crossings, slow_to_fast
from headcount.theory.heads import AbstractDecay, Lin, Log

NEGLIGIBLE = 2.5e-9  # of the l1 error before the tail


@dataclasses.dataclass(frozen=True)
class TailBalls:
    """Norms of the residual over lags >= start; the l2 norm squared."""

    l1: arb
    l2_squared: arb
    sup: arb

    def __getitem__(self, norm: Norm) -> arb:
        """The upper end of a norm (l2: of its square)."""
        return {Norm.L1: self.l1, Norm.L2: self.l2_squared, Norm.SUP: self.sup}[norm].upper()


def closed_form(kernel: AbstractKernel) -> tuple[AbstractDecay, float] | None:
    """The head curve that the kernel is, if it is one (s^-b from lag 1 on, as `log` starts)."""
    if isinstance(kernel, Exponential):
        return Lin(), kernel.rate
    if isinstance(kernel, Power):
        return Log(), kernel.exponent
    return None


def between(low: arb, high: arb) -> arb:
    """The ball that holds everything from low to high."""
    return low.union(high)


def tail_balls(terms: list[Term], rest: float, start: int, before: Sums | None = None) -> TailBalls:
    """Norms over s >= start of sum of `terms` plus something of l1 norm at most `rest` (so of l2
    and sup at most `rest`).

    `before` are the sums over the lags before `start`: a tail that is next to nothing beside them
    is bounded and not computed.
    """
    terms = [
        t for t in terms if not (math.isinf(t.rate) and start >= 2) and not t.coefficient.is_zero()
    ]
    loose = arb(rest)
    crude = _crude(terms, start) + loose
    # below 1 so that its square is smaller still
    if before is not None and crude <= NEGLIGIBLE * before.l1 and crude <= 1:
        return TailBalls(
            between(arb(0), crude), between(arb(0), crude * crude), between(arb(0), crude)
        )
    found, far = Sums(arb(0), arb(0), arb(0)), start
    if before is not None and _needs_cells(terms, start, before):
        found, far = cell_sums(terms, start, before) or (found, far)
    total = found + _by_closed_forms(terms, far)
    l1, l2_squared, sup = total.l1, total.squared, total.sup
    if rest:
        l1 = _give_or_take(l1, loose)
        l2_squared = _give_or_take(
            l2_squared, 2 * l2_squared.nonnegative_part().sqrt() * loose + loose * loose
        )
        sup = sup + between(arb(0), loose)
    return TailBalls(l1, l2_squared, sup)


def _needs_cells(terms: list[Term], start: int, before: Sums) -> bool:
    several = len({t.family for t in terms}) > 1
    return several or not _ceiling(terms, start) <= before.sup


def _by_closed_forms(terms: list[Term], start: int) -> Sums:
    """The facts of the module docstring, from `start` on."""
    l1, squared, sup = _l1(terms, start), _squared(terms, start), _ceiling(terms, start)
    if l1.is_finite():
        most = l1.upper() * sup
        squared = between(arb(0), most) if most < squared.upper() else squared
    for other in (l1, squared.nonnegative_part().sqrt()):
        sup = other.upper() if other.is_finite() and other.upper() < sup else sup
    return Sums(l1, squared, between(arb(0), sup))


def _give_or_take(value: arb, slack: arb) -> arb:
    return between((value - slack).nonnegative_part(), value + slack)


def _ceiling(terms: list[Term], start: int) -> arb:
    """A bound of |r(s)| for s >= start: the largest partial sum where there is an order, the sum
    of sizes where there is none.
    """
    ordered = slow_to_fast(terms, start)
    edges = [t.at(start) for t in ordered or terms]
    return (
        sum((abs(c) for c in edges), arb(0))
        if ordered is None
        else _largest(list(itertools.accumulate(edges)))
    ).upper()


def _l1(terms: list[Term], start: int) -> arb:
    """sum_{s >= start} |r(s)|: between zeros of r the absolute value goes outside the sum."""
    crude = _crude(terms, start)
    if not crude.is_finite():
        return arb("inf")
    ordered = slow_to_fast(terms, start)
    found = None
    if ordered is not None:
        partial = list(itertools.accumulate(t.at(start) for t in ordered))
        found = crossings(ordered, partial, start)
    if found is not None:
        cumulative = [sum((t.tail(n) for t in terms), arb(0)) for n in (start, *found)] + [arb(0)]
        return sum((abs(a - b) for a, b in itertools.pairwise(cumulative)), arb(0))
    families = {t.family for t in terms}
    if len(families) < 2:
        return between(arb(0), crude)
    # Curves of two families (kernel and heads): exact for the heavier, give or take the lighter.
    groups = sorted(
        ([t for t in terms if t.family == family] for family in families),
        key=lambda g: arb(0) < _crude(g, start) - crude / 2,
    )
    return _give_or_take(_l1(groups[-1], start), _crude(groups[0], start))


def _crude(terms: list[Term], start: int) -> arb:
    """The triangle inequality: sum_h |c_h| sum_s phi_h(s)."""
    return sum((abs(t.tail(start)) for t in terms), arb(0))


def _largest(values: list[arb]) -> arb:
    top = arb(0)
    for value in values:
        top = top.max(abs(value))
    return top


def _squared(terms: list[Term], start: int) -> arb:
    """sum_{s >= start} (sum of terms)^2: exact inside a family, Cauchy-Schwarz across families."""
    groups: dict[AbstractDecay, list[Term]] = {}
    for term in terms:
        groups.setdefault(term.family, []).append(term)
    total = arb(0)
    for group in groups.values():
        own = arb(0)
        for i, first in enumerate(group):
            for second in group[:i]:
                own += 2 * _product_tail(first, second, start)
            own += _product_tail(first, first, start)
        own = own.nonnegative_part() if own.is_finite() else arb("inf")
        cross = 2 * (total * own).sqrt() if total > 0 else arb(0)
        total = (
            between((total + own - cross).nonnegative_part(), total + own + cross)
            if cross > 0
            else total + own
        )
    return total


def _product_tail(first: Term, second: Term, start: int) -> arb:
    """a b sum_{s >= start} phi(s; p) phi(s; q) = a b sum phi(s; p + q); the rates are added as
    balls, not as floats.
    """
    if math.isinf(first.rate) or math.isinf(second.rate):
        return first.coefficient * second.coefficient * first.family.tail(math.inf, start)
    return (
        first.coefficient
        * second.coefficient
        * first.family.tail(arb(first.rate) + arb(second.rate), start)
    )
