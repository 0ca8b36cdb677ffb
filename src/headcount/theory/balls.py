"""Ball arithmetic as a namespace that kernel formulas accept: exp, cos, power on `flint.arb`.

A ball is a midpoint with a radius that is guaranteed to hold the true value, so a number printed
from here is a proof and not an estimate. Floats enter exactly (they are dyadic rationals).
"""

import contextlib
import math
from collections.abc import Iterator
from fractions import Fraction

import flint
from flint import arb, fmpq

from headcount.memory.kernels import AbstractKernel


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with `bits` of precision inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


class Balls:
    """The namespace handed to `AbstractKernel.at`."""

    convert = arb

    @staticmethod
    def exp(x: arb) -> arb:
        return x.exp()

    @staticmethod
    def cos(x: arb) -> arb:
        return x.cos()

    @staticmethod
    def power(x: arb, y: float) -> arb:
        return x ** arb(y)


def kernel_values(kernel: AbstractKernel, length: int) -> list[arb]:
    """rho(0..length-1) as balls at the current precision."""
    return [kernel.at(s, Balls) for s in range(length)]


def round_down(x: arb | fmpq | Fraction) -> float:
    """The largest convenient double that is certainly <= x, and not below 0 (for norms)."""
    if isinstance(x, fmpq):
        x = Fraction(int(x.p), int(x.q))
    if isinstance(x, Fraction):
        if x <= 0:
            return 0.0
        value = float(x) if x < Fraction(2) ** 1023 else 2.0**1023
        return value if Fraction(value) <= x else math.nextafter(value, 0.0)
    if not x.is_finite():
        return 0.0
    value = float(x.lower())
    if not arb(value) <= x:  # the conversion rounds to nearest, which may lie above
        value = math.nextafter(value, -math.inf)
    return max(0.0, value)
