import math
from fractions import Fraction

import pytest
from flint import fmpq

from headcount.memory.kernels import Lag
from headcount.theory.closed_forms import interpolation
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin
from headcount.theory.measure import measure
from headcount.theory.problem import Problem
from headcount.theory.returned_numbers import as_returned, from_decimal, to_decimal, to_text


@pytest.mark.parametrize(
    "value",
    [fmpq(1, 3), fmpq(-(10**30), 7), fmpq(99999, 100000), fmpq(2, 10**40), fmpq(1), fmpq(0)],
)
@pytest.mark.parametrize("digits", [1, 5, 40])
def test_decimals_are_rounded_to_nearest(value, digits):
    exact, back = Fraction(int(value.p), int(value.q)), Fraction(to_decimal(value, digits))
    unit = (
        Fraction(10) ** (math.floor(math.log10(abs(exact))) - digits + 1) if exact else Fraction(0)
    )
    assert abs(back - exact) <= unit  # half a unit, or one where the leading digit is close to 10
    assert from_decimal(to_decimal(value, digits)) == fmpq(back.numerator, back.denominator)


def test_tame_coefficients_stay_doubles():
    heads = HeadSum(Lin(), (0.5, 2.0), (fmpq(1, 3), fmpq(-2, 7)))
    rounded, numbers, errors = as_returned(Problem(Lag(1), Lin()), heads)
    assert numbers == (1 / 3, -2 / 7)
    assert errors == measure(Problem(Lag(1), Lin()), rounded)


def test_cancelling_coefficients_become_decimals_that_reproduce_the_error():
    problem, heads = Problem(Lag(10), Lin()), interpolation(10, 14, math.log(2))
    rounded, numbers, errors = as_returned(problem, heads)
    assert all(isinstance(n, str) for n in numbers)
    again = HeadSum(Lin(), rounded.rates, tuple(from_decimal(n) for n in numbers))
    assert measure(problem, again).l1 == errors.l1
    assert errors.l1 == pytest.approx(measure(problem, heads).l1, rel=1e-6)
    doubles = HeadSum(
        Lin(), rounded.rates, tuple(fmpq(*float(n).as_integer_ratio()) for n in numbers)
    )
    assert measure(problem, doubles).l1 > 1e9  # which is why they are not returned


def test_beyond_a_double():
    assert Fraction(str(to_text(fmpq(10) ** 400))) == 10**400
    assert to_text(fmpq(1, 4)) == 0.25
