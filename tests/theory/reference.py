"""The error of a sum of heads in 60-digit arithmetic by other means than the package's: mpmath,
lag by lag, tails by Hurwitz zeta.
"""

import mpmath
import numpy as np

from headcount.memory.kernels import AbstractKernel


class Digits:
    """mpmath as the namespace of `AbstractKernel.at`."""

    convert = staticmethod(mpmath.mpf)
    exp = staticmethod(mpmath.exp)
    cos = staticmethod(mpmath.cos)

    @staticmethod
    def power(x, y):
        return mpmath.power(x, mpmath.mpf(y))


def curve(family: str, rate: float, lag: int):
    if family == "lin":
        return (
            mpmath.mpf(1)
            if lag == 0
            else (mpmath.mpf(0) if np.isinf(rate) else mpmath.exp(-mpmath.mpf(rate) * lag))
        )
    u = lag if family == "log" else lag + 1
    if u == 0:
        return mpmath.mpf(0)
    return (
        mpmath.mpf(1)
        if u == 1
        else (mpmath.mpf(0) if np.isinf(rate) else mpmath.power(u, -mpmath.mpf(rate)))
    )


def residuals(
    kernel: AbstractKernel, family: str, rates, coefficients, first: int, length: int
) -> list:
    """kernel - sum of heads on lags first..length-1, 60 digits."""
    with mpmath.workdps(60):
        exact = [
            mpmath.mpf(int(a.p)) / int(a.q) if hasattr(a, "p") else mpmath.mpf(a)
            for a in coefficients
        ]
        heads = list(zip(exact, rates, strict=True))
        return [
            kernel.at(s, Digits) - mpmath.fsum(a * curve(family, b, s) for a, b in heads)
            for s in range(first, length)
        ]


def norm(values: list, which: str):
    with mpmath.workdps(60):
        sizes = [abs(v) for v in values]
        if which == "sup":
            return max(sizes)
        return (
            mpmath.fsum(sizes) if which == "l1" else mpmath.sqrt(mpmath.fsum(v * v for v in sizes))
        )
