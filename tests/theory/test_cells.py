"""Cells against sums lag by lag in float64 and mpmath: signs that change, several families."""

import math

import numpy as np
import pytest
from flint import arb, arb_poly

from headcount.theory.balls import precision
from headcount.theory.cells import Cell, Sums, cell_sums
from headcount.theory.crossings import Term
from headcount.theory.heads import Lin, Log, Log1p
from headcount.theory.tails import tail_balls

START = 1024
BESIDE_ONE = Sums(arb(1), arb(1), arb(0))
MIXED = {
    "a power and exponentials": [
        Term(arb(1), Log(), 1.5),
        Term(arb("-0.004"), Lin(), 0.003),
        Term(arb("-2e-5"), Lin(), 0.0002),
    ],
    "powers of s and of s + 1 that nearly cancel": [
        Term(arb(1), Log(), 1.5),
        Term(arb(-1), Log1p(), 1.5),
        Term(arb("-1.4"), Log1p(), 2.5),
        Term(arb("-1e-3"), Log1p(), 2.0),
    ],
    "an exponential and powers": [
        Term(arb(1), Lin(), 0.002),
        Term(arb("-90"), Log(), 1.3),
        Term(arb("2e4"), Log(), 2.0),
    ],
}


def drawn(terms, low, high):
    """r(s) for low <= s < high in float64.  [S]"""
    lags = np.arange(low, high, dtype=np.float64)
    return sum(
        float(t.coefficient) * t.family.columns(np.array([t.rate]), lags)[:, 0] for t in terms
    )


@pytest.mark.parametrize("name", MIXED)
def test_cells_add_up_to_the_sums_lag_by_lag(name):
    terms, high = MIXED[name], START * 1024
    with precision(160):
        assert cell_sums(terms, START, BESIDE_ONE) is not None
        all_of_it, beyond = (tail_balls(terms, 0.0, s, BESIDE_ONE) for s in (START, high))
        values = drawn(terms, START, high)
        l1, squared = all_of_it.l1 - beyond.l1, all_of_it.l2_squared - beyond.l2_squared
        assert float(l1) == pytest.approx(math.fsum(np.abs(values)), rel=1e-8)
        assert float(squared) == pytest.approx(values @ values, rel=1e-8)
        assert all_of_it.sup.overlaps(arb(float(np.abs(values).max()), 1e-15))
        assert (values > 0).any()
        assert (values < 0).any()


@pytest.mark.parametrize("family", [Lin(), Log(), Log1p()])
@pytest.mark.parametrize("rate", [0.0, 0.004, 1.5, 9.0])
def test_series_holds_the_curve(family, rate):
    middle, half = arb(1500), arb(400)
    with precision(120):
        values, rest = family.series(rate, middle, half, 12)
        P = arb_poly(values)
        for lag in (1100, 1333, 1500, 1899):
            inside = P((arb(lag) - middle) / half) + arb(0, rest)
            assert inside.overlaps(family.value(rate, lag))


def test_a_cell_of_one_lag_is_its_value():
    terms = MIXED["a power and exponentials"]
    with precision(160):
        cell = Cell.of(terms, 2000, 2001)
        value = sum((t.at(2000) for t in terms), arb(0))
        assert cell.decided(arb(0), arb(0))
        assert cell.sums().l1.overlaps(abs(value))
        assert cell.sums().squared.overlaps(value * value)


def test_slow_heads_that_cancel_for_ever_are_given_up_at_once():
    # they cross at e^(1e6), beyond any cell
    terms = [Term(arb(1), Log1p(), 1.000001), Term(arb(-2), Log1p(), 1.000002)]
    with precision(160):
        assert cell_sums([*terms, Term(arb(1), Log(), 3.0)], START, BESIDE_ONE) is None


def test_a_tail_of_two_families_is_exact():
    terms = MIXED["a power and exponentials"]
    with precision(160):
        tail = tail_balls(terms, 0.0, START, BESIDE_ONE)
        assert tail.l1.rad() < 1e-8 * float(tail.l1)
        # far out the power is left alone
        high = 1 << 18
        values = drawn(terms, START, high)
        rest = float(sum((t.tail(high) for t in terms), arb(0)))
        expected = math.fsum(np.abs(values)) + rest
        assert float(tail.l1) == pytest.approx(expected, rel=1e-9)


def test_the_largest_value_of_a_tail_is_found_between_the_cells_ends():
    # r rises from lag 1024 on, and turns near 4 log 2 / 0.001
    terms = [Term(arb(1), Lin(), 0.001), Term(arb(-4), Lin(), 0.002)]
    with precision(160):
        tail = tail_balls(terms, 0.0, START, BESIDE_ONE)
        values = np.abs(drawn(terms, START, 20_000))
        assert float(tail.sup) == pytest.approx(values.max(), rel=1e-8)
