from fractions import Fraction

import pytest
from flint import arb, fmpq

from headcount.theory.balls import round_down


def test_exact_numbers_stay_exact():
    assert round_down(arb(1)) == 1.0
    assert round_down(Fraction(3, 4)) == 0.75
    assert round_down(fmpq(1, 2)) == 0.5


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(2, 3), 1 - Fraction(1, 10**40), Fraction(10) ** 300 + 1]
)
def test_fractions_round_down(x):
    value = round_down(x)
    assert Fraction(value) <= x
    assert Fraction(value) > x * (1 - Fraction(1, 2**52))


def test_balls_round_to_their_lower_end():
    ball = arb(1) / 3 + arb(0, 1e-6)
    assert Fraction(round_down(ball)) <= Fraction(1, 3) - Fraction(1, 10**6)


def test_never_negative_and_never_from_an_unbounded_ball():
    assert round_down(arb(-2)) == 0.0
    assert round_down(Fraction(-1, 2)) == 0.0
    assert round_down(arb("inf")) == 0.0
