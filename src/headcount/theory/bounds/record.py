"""A certified lower bound as data: the number, what it holds for, and the certificate that proves
it.

The value is rounded down to a double, so that `value <= error` may be tested as it stands.
`certificate` is plain data (numbers, strings, tuples) from which `bounds.check` re-derives the
claim with code of its own.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from headcount.core.refs import Ref
from headcount.theory.problem import Norm


@dataclasses.dataclass(frozen=True)
class LowerBound:
    """`||kernel - sum of heads|| >= value` for at most `heads` heads (None: any number) with sum|a|
    <= `budget` (None: any).

    `lowest_rate` says which rates are covered: all b >= lowest_rate. `certified` is True only where
    the proof is complete; `missing` says what is not proved otherwise.
    """

    value: float
    norm: Norm
    certified: bool
    method: str
    budget: float | None
    heads: int | None
    missing: str
    ref: Ref
    lowest_rate: float
    certificate: dict[str, Any] = dataclasses.field(repr=False, default_factory=dict)


def trivial(norm: Norm, lowest_rate: float) -> LowerBound:
    """Zero: a norm is never negative."""
    return LowerBound(
        0.0,
        norm,
        True,
        "none",
        None,
        None,
        "",
        Ref("headcount", "norms are not negative"),
        lowest_rate,
        {"kind": "trivial"},
    )


def round_down(x: arb | fmpq | Fraction) -> float:
    """The largest convenient double that is certainly <= x, never below 0 (a norm is not
    negative).
    """
    if isinstance(x, fmpq):
        x = Fraction(int(x.p), int(x.q))
    if isinstance(x, Fraction):
        if x <= 0:
            return 0.0
        value = float(x) if x < Fraction(2) ** 1023 else math.inf
        return value if Fraction(value) <= x else math.nextafter(value, 0.0)
    if not x.is_finite():
        return 0.0
    value = float(x.lower())
    if not arb(value) <= x:  # the conversion rounds to nearest, which may lie above
        value = math.nextafter(value, -math.inf)
    return max(0.0, value)
