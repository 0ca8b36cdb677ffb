"""A sum of heads with its coefficients, and a fit: such a sum with how it was found.

Errors are never stored with a sum: `measure.measure` recomputes them from its numbers in ball
arithmetic, whoever produced them.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from flint import fmpq

from headcount.core.errors import require
from headcount.theory.heads import AbstractFamily


@dataclasses.dataclass(frozen=True)
class HeadSum:
    """sum_h a_h phi_h(s). Coefficients are exact rationals: cancelling ones outgrow a double.

    A curve is a parameter of the family: a rate for decays (`inf`: the limit curve, 1 at the
    family's first lag and 0 after it), a record of `shaped_curves` for the others.
    """

    family: AbstractFamily
    curves: tuple[Any, ...]
    coefficients: tuple[fmpq, ...]

    def __post_init__(self):
        require(
            len(self.curves) == len(self.coefficients),
            f"{len(self.curves)} curves, {len(self.coefficients)} coefficients",
            "one of each per head",
            "pair them",
        )
        for curve in self.curves:
            self.family.check(curve)

    @classmethod
    def of(cls, family: AbstractFamily, rates: np.ndarray, coefficients: np.ndarray) -> "HeadSum":
        """Decays from float64 arrays (exactly: a double is a dyadic rational), sorted by rate."""
        order = np.argsort(rates, kind="stable")
        return cls(
            family,
            tuple(float(rates[i]) for i in order),
            tuple(rational(coefficients[i]) for i in order),
        )

    @property
    def rates(self) -> tuple[float, ...]:
        """The curves of a sum of decays."""
        return self.curves

    @property
    def heads(self) -> int:
        return len(self.curves)

    @property
    def weight(self) -> fmpq:
        """sum_h |a_h|, exactly."""
        return sum((abs(a) for a in self.coefficients), fmpq(0))

    @property
    def coefficient_sum(self) -> float:
        """sum_h |a_h|; `inf` beyond the largest double."""
        try:
            return float(self.weight)
        except OverflowError:
            return math.inf

    @property
    def weight_bits(self) -> int:
        """log2 of sum|a|, rounded up, at least 0 (the sum itself may exceed a double)."""
        weight = self.weight
        return max(int(weight.p).bit_length() - int(weight.q).bit_length() + 1, 0)

    def within(self, budget: float) -> bool:
        """sum|a| <= budget, decided exactly."""
        return math.isinf(budget) or self.weight <= rational(budget)


def rational(value: float) -> fmpq:
    """A double, exactly."""
    return fmpq(*float(value).as_integer_ratio())


@dataclasses.dataclass(frozen=True)
class Fit:
    """Heads that approximate a kernel, and how they were found."""

    head_sum: HeadSum
    method: str
    optimal: bool = False  # no sum with as many heads can be better
    interrupted: bool = False  # ^C ended the search early: a longer one may do better
    budget: float = math.inf  # on sum|a|, where it was chosen to suit a number format
