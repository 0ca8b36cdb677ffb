"""Upper tails of the distributions that tests use, from `scipy.special`: `scipy.stats` has them
too, and takes half a second to load, half of what a diagnosis takes.

>>> round(float(normal(1.96)), 4), round(float(normal_quantile(0.025)), 2)
(0.025, 1.96)
"""

import numpy as np
from scipy import special

Numbers = np.ndarray | float


def normal(z: Numbers) -> Numbers:
    """P(Z > z)."""
    return special.ndtr(-z)


def log_normal(z: Numbers) -> np.ndarray:
    """log P(Z > z), without underflow."""
    return special.log_ndtr(-z)


def normal_quantile(p: Numbers) -> Numbers:
    """z with P(Z > z) = p."""
    return -special.ndtri(p)


def chi2(q: float, df: float) -> float:
    return float(special.chdtrc(df, q))


def chi2_quantile(p: float, df: float) -> float:
    return float(special.chdtri(df, p))


def chi2_shifted(q: float, df: float, shift: float) -> float:
    """Of the noncentral distribution."""
    return float(1 - special.chndtr(q, df, shift))


def f(ratio: float, extra: float, left: float) -> float:
    return float(special.fdtrc(extra, left, ratio))
