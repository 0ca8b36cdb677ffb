"""How many rows it would take."""

import numpy as np

from headcount.diagnose import upper_tails

POWER = 0.9
LEVEL = 0.04
FOUND_SHARE = 0.7  # of the rows, in which structure is looked for


def rows_for_partial_r2(r2: float, candidates: int) -> int:
    """Rows for a term of this partial R^2 to be found among so many candidates (three families)."""
    quantile = upper_tails.normal_quantile
    z = quantile(LEVEL / (6 * candidates)) + quantile(1 - POWER)
    return int(np.ceil(z**2 * (1 - r2) / r2 / FOUND_SHARE))


def rows_for_nats(nats: float, df: int, candidates: int, level: float = 0.025) -> int:
    """Rows for a conditional mutual information of so many nats, by a G-test of `df`."""
    from scipy import optimize

    limit = upper_tails.chi2_quantile(level / candidates, df)
    need = optimize.brentq(lambda c: upper_tails.chi2_shifted(limit, df, c) - POWER, 1e-3, 1e6)
    return int(np.ceil(need / (2 * nats)))


def rows_for_gain(rows: int, gain: float, error: float) -> int | None:
    """Rows at which a held-out gain would be two standard errors; None where there is none."""
    return int(np.ceil(rows * (2 * error / gain) ** 2)) if gain > 0 else None
