"""From a learning curve to the samples that an error needs.

Between two measured sizes the risk is taken as a power of n (a line in log n and log risk). Beyond
the largest one it is drawn on from there with the slope of the line through the last three, and the
answer is marked so. The interval comes from drawing seeds again, with replacement, for all sizes at
once. What the curve does not tell is no number: `Outcome` says why.

Worked example: a risk of 10/n at 100 and 1000 samples; 0.05 needs 200.

    >>> found = samples_needed([100, 1000], [[0.1, 0.1], [0.01, 0.01]], 0.05, 0.0)
    >>> round(found.n), found.extrapolated
    (200, False)
"""

import dataclasses
import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

DRAWS = 400
LEVELS = (0.05, 0.95)  # ends of the interval
LEAST_SLOPE = -1e-3  # flatter than this the curve does not fall
FARTHEST = 1e15  # samples: nothing is drawn on beyond


class Outcome(enum.StrEnum):
    """What a curve tells of the samples that an error needs; the first three have a number."""

    MEASURED = "measured"  # the curve crosses the error between two sizes
    AT_MOST = "at most"  # the smallest size is enough: an upper bound
    DRAWN_ON = "drawn on"  # beyond the largest size, by the slope of the last ones
    FRESH_ABOVE = "fresh above"  # the curve ends above the error, and fresh data leave no less
    FRESH_WORSE = "fresh worse"  # so too, but the curve ends below fresh data: they are no limit
    ONE_SIZE = "one size"  # above the error, and one size has no slope
    NO_SLOPE = "no slope"  # above the error, and the last sizes do not fall


@dataclasses.dataclass(frozen=True)
class SamplesNeeded:
    """`n` None: no number is known, and `outcome` says why. `low` None: no lower end is known.
    `high` None: there is none, for seeds drawn again may not reach the error at all.
    """

    error: float
    n: float | None
    low: float | None = None
    high: float | None = None
    outcome: Outcome = Outcome.MEASURED
    dominant: str = ""  # the largest term at the size measured nearest to n, or at the largest one

    @property
    def extrapolated(self) -> bool:
        return self.outcome is Outcome.DRAWN_ON

    @property
    def at_most(self) -> bool:
        return self.outcome is Outcome.AT_MOST

    @property
    def wide(self) -> bool:
        """Would more seeds help: is the interval wider than a factor of 2?"""
        if self.high is None:
            return self.n is not None
        return self.low is not None and self.high > 2 * self.low

    def to_json(self) -> dict[str, Any]:
        return {
            **dataclasses.asdict(self),
            "n": None if self.n is None else math.ceil(self.n),
            "outcome": str(self.outcome),
            "extrapolated": self.extrapolated,
            "at_most": self.at_most,
        }


def samples_needed(
    sizes: Sequence[int], risks: ArrayLike, error: float, fresh: float, seed: int = 0
) -> SamplesNeeded:
    """Risks [sizes, seeds] at increasing sizes; `fresh` is the mean risk without limit of data.

    A curve that ends below the error is believed, whatever fresh data leave: training on them can
    stand still for longer.
    """
    rows = np.asarray(risks, np.float64)
    n, outcome = _answer(sizes, rows.mean(axis=1), error, fresh)
    if n is None:
        return SamplesNeeded(error, None, outcome=outcome)
    seeds = rows.shape[1]
    picks = np.random.default_rng(seed).integers(0, seeds, (DRAWS, seeds))
    drawn = [_answer(sizes, rows[:, pick].mean(axis=1), error, fresh)[0] for pick in picks]
    low, high = (_quantile(drawn, level) for level in LEVELS)
    return SamplesNeeded(error, n, None if outcome is Outcome.AT_MOST else low, high, outcome)


def _answer(
    sizes: Sequence[int], means: np.ndarray, error: float, fresh: float
) -> tuple[float | None, Outcome]:
    """The crossing; beyond the sizes only where fresh data leave room for one."""
    if means[-1] > error and fresh >= error:
        return None, Outcome.FRESH_ABOVE if fresh <= means[-1] else Outcome.FRESH_WORSE
    return _crossing(sizes, means, error)


def _crossing(sizes: Sequence[int], means: ArrayLike, error: float) -> tuple[float | None, Outcome]:
    """Where the curve falls below the error for good.

    >>> _crossing([100, 1000], [0.5, 0.5], 0.1)
    (None, <Outcome.NO_SLOPE: 'no slope'>)
    """
    curve = np.asarray(means, np.float64)
    above = np.nonzero(curve > error)[0]
    if not len(above):
        return float(sizes[0]), Outcome.AT_MOST
    last = int(above[-1])
    logs = np.log(sizes), np.log(np.maximum(curve, 1e-300))
    if last + 1 < len(sizes):
        (n0, n1), (r0, r1) = (pair[last : last + 2] for pair in logs)
        reach = n0 + (n1 - n0) * (r0 - math.log(error)) / (r0 - r1)
        return float(np.exp(reach)), Outcome.MEASURED
    if len(sizes) < 2:
        return None, Outcome.ONE_SIZE
    slope = float(np.polyfit(logs[0][-3:], logs[1][-3:], 1)[0])
    if slope >= LEAST_SLOPE:
        return None, Outcome.NO_SLOPE
    further = (math.log(error) - float(logs[1][-1])) / slope  # > 0: the curve ends above the error
    if further > math.log(FARTHEST / sizes[-1]):
        return None, Outcome.NO_SLOPE
    return sizes[-1] * math.exp(further), Outcome.DRAWN_ON


def _quantile(drawn: Sequence[float | None], level: float) -> float | None:
    """Linear between two draws; None, which is no number of samples, lies above all numbers.

    >>> _quantile([3.0, None, 1.0], 0.25), _quantile([3.0, None, 1.0], 0.75)
    (2.0, None)
    """
    ranked = sorted(math.inf if n is None else n for n in drawn)
    place = level * (len(ranked) - 1)
    below, above = ranked[math.floor(place)], ranked[math.ceil(place)]
    if not math.isfinite(above):
        return None
    return below + (above - below) * (place - math.floor(place))
