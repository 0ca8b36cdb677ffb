"""From a learning curve to the samples that an error needs.

Between two measured sizes the risk is taken as a power of n (a line in log n and log risk); beyond
the largest one the line through the last three is drawn on and the answer is marked so. The
interval comes from drawing seeds again, with replacement, for all sizes at once.

Worked example: a risk of 10/n at 100 and 1000 samples; 0.05 needs 200.

    >>> import numpy as np
    >>> found = samples_needed([100, 1000], np.array([[0.1, 0.1], [0.01, 0.01]]), 0.05, 0.0)
    >>> round(found.n), found.extrapolated
    (200, False)
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

DRAWS = 400


@dataclasses.dataclass(frozen=True)
class SamplesNeeded:
    """`n` None: no number of samples is enough, for the error lies below what fresh data leave."""

    error: float
    n: float | None
    low: float | None = None
    high: float | None = None
    extrapolated: bool = False
    dominant: str = ""  # the largest term of the risk there

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "n": None if self.n is None else math.ceil(self.n)}


def samples_needed(
    sizes: Sequence[int], risks: np.ndarray, error: float, fresh: float, seed: int = 0
) -> SamplesNeeded:
    """Risks [sizes, seeds] at increasing sizes; `fresh` is the mean risk without limit of data."""
    if fresh >= error:
        return SamplesNeeded(error, None)
    rng = np.random.default_rng(seed)
    n, extrapolated = _crossing(sizes, risks.mean(axis=1), error)
    picks = rng.integers(0, risks.shape[1], (DRAWS, risks.shape[1]))
    drawn = [_crossing(sizes, risks[:, pick].mean(axis=1), error)[0] for pick in picks]
    low, high = np.quantile(drawn, (0.05, 0.95))
    return SamplesNeeded(error, n, float(low), float(high), extrapolated)


def _crossing(sizes: Sequence[int], means: np.ndarray, error: float) -> tuple[float, bool]:
    """Where the curve falls below the error for good."""
    above = np.nonzero(means > error)[0]
    if not len(above):
        return float(sizes[0]), False
    last = int(above[-1])
    logs = np.log(sizes), np.log(np.maximum(means, 1e-300))
    if last + 1 < len(sizes):
        (n0, n1), (r0, r1) = (pair[last : last + 2] for pair in logs)
        return float(np.exp(n0 + (n1 - n0) * (r0 - math.log(error)) / (r0 - r1))), False
    slope, level = np.polyfit(logs[0][-3:], logs[1][-3:], 1)
    if slope >= -1e-3:
        return math.inf, True
    return float(np.exp((math.log(error) - level) / slope)), True
