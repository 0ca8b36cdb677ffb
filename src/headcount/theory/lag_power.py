"""The power of the test that finds a lag, and the samples that it takes.

The answers are regressed on one lag's token and a constant; the lag is found when the two-sided
t-test of its slope rejects. With a normal remainder and the share r2 of the variance explained,

    P(found) = E P(|T| > c),  T noncentral t of n - 2 degrees, ncp = sqrt(W r2/(1 - r2)),

W = sum (x_i - mean x)^2 / v over the n tokens: chi^2 of n - 1 degrees where tokens are normal,
n - (2K - n)^2/n with K of Binomial(n, 1/2) where they are signs (n equal signs, W = 0, show
nothing). The smaller of the two powers counts; signs are easier beyond `FEW` samples.

The normal approximation (z_{1-level/2} + z_power)^2 (1 - r2)/r2 is wrong for strong lags, where n
is small: it asks for 1 sample where r2 = 0.99.

Worked example: the share 0.5 among 32 lags at 0.05/32, power 0.9.

    >>> samples_for_lag(0.5, 0.05 / 32, 0.9)
    29
    >>> round(lag_power(29, 0.5, 0.05 / 32), 2)
    0.91
"""

import numpy as np
from scipy import special, stats

from headcount.core.errors import require

FEWEST, FEW, NODES = 4, 64, 80
MOST = 2**60


def lag_power(samples: int, share: float, level: float) -> float:
    """The chance that the test at `level` finds a lag that alone explains `share`."""
    ratio = share / (1 - share)
    at, weights = np.polynomial.legendre.leggauss(NODES)
    at, weights = (at + 1) / 2, weights / 2  # on (0, 1): expectations by quantiles
    free = samples - 2
    cut = stats.t.isf(level / 2, free) * np.sqrt(stats.chi2.ppf(at, free) / free)  # [V]

    def found(spread: np.ndarray, chance: np.ndarray) -> float:
        shift = np.sqrt(ratio * spread)[:, None]
        return float(chance @ (special.ndtr(shift - cut) + special.ndtr(-shift - cut)) @ weights)

    power = found(stats.chi2.ppf(at, samples - 1), weights)
    if samples > FEW:
        return power
    heads = np.arange(samples + 1)
    signs = samples - (2 * heads - samples) ** 2 / samples
    return min(power, found(signs, stats.binom.pmf(heads, samples, 0.5)))


def samples_for_lag(share: float, level: float, power: float) -> int:
    """The fewest samples, at least `FEWEST`, with that power: doubling, then bisection."""
    high = FEWEST
    while lag_power(high, share, level) < power:
        high *= 2
        require(high <= MOST, f"share {share}", "one that some number of samples shows", "use more")
    low = max(FEWEST, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if lag_power(middle, share, level) >= power else (middle + 1, high)
        )
    return high
