"""Coefficients as they are returned: doubles where doubles do, decimal strings where cancellation
needs more digits.

Coefficients are exact rationals inside. Rounded to doubles they may lose everything (1e30 terms
that cancel to 1), so the rounded ones are measured again: if the error stays within 1e-6 of the
exact one they are returned as doubles, else as decimals with as many digits as keep it there.
Either way the error reported belongs to the numbers returned.
"""

import math
from fractions import Fraction

from flint import fmpq

from headcount.theory.head_sum import HeadSum, rational
from headcount.theory.measure import Errors, measure
from headcount.theory.problem import Problem

Number = float | str
KEEP = 1e-6
GUARD_DIGITS = 10


def as_returned(problem: Problem, head_sum: HeadSum) -> tuple[HeadSum, tuple[Number, ...], Errors]:
    """The heads as they will be returned, their coefficients as JSON holds them, and their
    measured error.
    """
    exact = measure(problem, head_sum)
    doubles = [_double(a) for a in head_sum.coefficients]
    if all(d is not None for d in doubles):
        exactly = tuple(rational(d) for d in doubles if d is not None)
        rounded = HeadSum(head_sum.family, head_sum.curves, exactly)
        errors = exact if rounded == head_sum else measure(problem, rounded)
        if _as_good(problem, errors, exact):
            return rounded, tuple(d for d in doubles if d is not None), errors
    digits, largest = _digits(problem, head_sum, exact), max(head_sum.coefficients, key=abs)
    while True:
        texts = tuple(
            to_decimal(a, max(17, digits - _behind(a, largest))) for a in head_sum.coefficients
        )
        rounded = HeadSum(head_sum.family, head_sum.curves, tuple(from_decimal(t) for t in texts))
        errors = measure(problem, rounded)
        if _as_good(problem, errors, exact):
            return rounded, texts, errors
        digits *= 2


def _as_good(problem: Problem, rounded: Errors, exact: Errors) -> bool:
    """Within 1e-6, in the norm of the problem; next to nothing is as good as nothing. Doubles
    must also stay within the budget.
    """
    ours, theirs, size = rounded[problem.norm], exact[problem.norm], exact.kernel[problem.norm]
    return ours <= theirs * (1 + KEEP) or ours <= 1e-25 * size


def _digits(problem: Problem, head_sum: HeadSum, exact: Errors) -> int:
    size = _bits(head_sum.weight) * math.log10(2)
    error = max(exact[problem.norm], 1e-25 * exact.kernel[problem.norm], 1e-300)
    return max(17, math.ceil(size - math.log10(error)) + GUARD_DIGITS)


def _behind(value: fmpq, largest: fmpq) -> int:
    """How many decimal places a coefficient starts behind the largest: digits it does not need."""
    return (
        max(0, math.floor((_bits(largest) - _bits(value) - 2) * math.log10(2))) if value != 0 else 0
    )


def _bits(value: fmpq) -> int:
    return int(abs(value.p)).bit_length() - int(value.q).bit_length()


def to_text(value: fmpq) -> Number:
    """A double, or a decimal string of 20 digits where it overflows one."""
    double = _double(value)
    return to_decimal(value, 20) if double is None else double


def _double(value: fmpq) -> float | None:
    try:
        return int(value.p) / int(value.q)
    except OverflowError:
        return None


def to_decimal(value: fmpq, digits: int) -> str:
    """d.ddd…e±x, rounded to nearest, so many significant digits."""
    if value == 0:
        return "0"
    exact = Fraction(int(value.p), int(value.q))
    exponent = math.floor(_bits(value) * math.log10(2))
    whole = round(abs(exact) * Fraction(10) ** (digits - 1 - exponent))
    exponent += len(str(whole)) - digits
    figures = str(whole)
    return f"{'-' if exact < 0 else ''}{figures[0]}.{figures[1:] or '0'}e{exponent:+d}"


def from_decimal(text: str) -> fmpq:
    """The exact value of a decimal string."""
    exact = Fraction(text)
    return fmpq(exact.numerator, exact.denominator)
