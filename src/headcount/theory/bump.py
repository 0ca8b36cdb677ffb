"""Largest derivatives of the bump Psi(x) = exp(-1/(1-x^2)), |x| < 1: the constants that the paper's
rates hide.

With integer polynomials P_k,

    Psi^(k) = P_k (1-x^2)^{-2k} Psi,   P_{k+1} = P_k' (1-x^2)^2 + 4kx (1-x^2) P_k - 2x P_k.

The extrema of Psi^(k) are among the roots of P_{k+1}; those are isolated exactly and |Psi^(k)| is
evaluated there in balls, so `bump_maximum(k)` is a theorem about sup|Psi^(k)| and not a sample of
it.
"""

import functools
from typing import Any

from flint import arb, fmpz_poly

from headcount.theory.balls import precision

ROOT_BITS = 400  # (1-x^2)^{-2k} near the ends of the interval eats about 20 bits for each k


@functools.cache
def numerator(k: int) -> fmpz_poly:
    """P_k."""
    if k == 0:
        return fmpz_poly([1])
    x = fmpz_poly([0, 1])
    w, p = 1 - x * x, numerator(k - 1)
    return p.derivative() * w * w + 4 * (k - 1) * x * w * p - 2 * x * p


@functools.cache
def bump_maximum(k: int) -> float:
    """sup |Psi^(k)|, rounded up."""
    with precision(ROOT_BITS):
        slope = numerator(k + 1)
        simple = slope // slope.gcd(slope.derivative())
        top = arb(0)
        roots: Any = simple.complex_roots()  # pairs (isolating ball, multiplicity)
        for root, _ in roots:
            x = root.real
            if root.imag.contains(0) and abs(x) < 1:
                w = 1 - x * x
                top = top.max(abs(numerator(k)(x)) * w ** (-2 * k) * (-1 / w).exp())
        return float(top.upper()) * (1 + 2**-50)
