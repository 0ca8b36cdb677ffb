"""From a learning curve to the samples that an error needs.

**The answer.** Between two measured sizes the risk is taken as a power of n (a line in log n and
log risk). Where it falls by more than `CLIFF` between two sizes no line is believed: the answer is
their geometric middle, and the interval is the bracket. Beyond the largest size the risk *above
fresh data* is drawn on as a power of n, for that is what falls to 0. What the curve does not tell
is no number: `Outcome` says why.

**The interval.** Every size has a 90% t-interval of its mean risk, on a logarithmic scale (risks
are skewed): upper and lower ends make two curves, and the interval goes from where the lower one
falls below the error to where the upper one does. Between two sizes it holds the answers of three
shapes of the curve: a power of n, a power of n above fresh data, and c/(n - b), as least squares
have it. Beyond the largest size it holds every answer whose slope, last risk and fresh risk are
within their own intervals. How often it covers the true n: docs/finite_samples.md#checks.

Worked example: a risk of 10/n at 100 and 1000 samples; 0.05 needs 200.

    >>> found = samples_needed([100, 1000], [[0.1, 0.1], [0.01, 0.01]], 0.05, 0.0)
    >>> round(found.n), found.extrapolated
    (200, False)
"""

import dataclasses
import enum
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from headcount.core.errors import require

CONFIDENCE = 0.90
CLIFF = 30.0  # a fall between two sizes by more than this is no power of n
NARROW = 1.1  # a bracket of sizes with a smaller ratio is an answer
BESIDE = 1.5  # an answer this near to a measured size needs no other size
LEAST_SLOPE = -1e-3  # flatter than this the curve does not fall
FARTHEST = 1e15  # samples: nothing is drawn on beyond
LEAST_RISK = 1e-300  # what a risk of 0 counts as in logarithms


class Outcome(enum.StrEnum):
    """What a curve tells of the samples that an error needs; the first four have a number."""

    MEASURED = "measured"  # the curve crosses the error between two sizes
    BETWEEN = "between"  # so too, but falls so steeply there that only the two sizes are known
    AT_MOST = "at most"  # the smallest size is enough: an upper bound
    DRAWN_ON = "drawn on"  # beyond the largest size, by how the risk nears that of fresh data
    NOT_KEPT = "not kept"  # a size reaches the error (`reached`), and the largest one does not
    FRESH_ABOVE = "fresh above"  # the curve ends above the error, and fresh data leave no less
    FRESH_WORSE = "fresh worse"  # so too, but the curve ends below fresh data: they are no limit
    FRESH_NEAR = "fresh near"  # above the error, and seeds do not tell it from fresh data's risk
    IN_NOISE = "in noise"  # above the error, and seeds do not tell the last size from fresh data
    ONE_SIZE = "one size"  # above the error, and one size has no slope
    NO_SLOPE = "no slope"  # above the error, and the last sizes do not fall towards fresh data


@dataclasses.dataclass(frozen=True)
class SamplesNeeded:
    """`n` None: no number is known, and `outcome` says why. `low` None: no lower end is known.
    `high` None: no upper end is known, for other seeds may not reach the error at all.
    """

    error: float
    n: float | None
    low: float | None = None
    high: float | None = None
    outcome: Outcome = Outcome.MEASURED
    dominant: str = ""  # the largest term at the size measured nearest to n, or at the largest one
    reached: int | None = None  # the smallest size whose mean risk is at most the error

    @property
    def extrapolated(self) -> bool:
        return self.outcome is Outcome.DRAWN_ON

    @property
    def at_most(self) -> bool:
        return self.outcome is Outcome.AT_MOST

    @property
    def wide(self) -> bool:
        """Would more seeds help: is the interval wider than a factor of 2? They also help where
        nothing is told apart from fresh data yet.
        """
        if self.n is None:
            return self.outcome in (Outcome.FRESH_NEAR, Outcome.IN_NOISE)
        if self.high is None:
            return True
        return self.low is not None and self.high > 2 * self.low

    def to_json(self) -> dict[str, Any]:
        return {
            **dataclasses.asdict(self),
            "n": None if self.n is None else math.ceil(self.n),
            "outcome": str(self.outcome),
            "extrapolated": self.extrapolated,
            "at_most": self.at_most,
        }


@dataclasses.dataclass(frozen=True)
class Curve:
    """Mean risks at increasing sizes, and what the seeds leave open of them."""

    sizes: np.ndarray  # [K]
    risks: np.ndarray  # [K, seeds]
    fresh: np.ndarray  # [seeds], or [1] where its seeds are not known

    @property
    def means(self) -> np.ndarray:
        return self.risks.mean(axis=1)

    @property
    def low(self) -> np.ndarray:
        return self.means * np.exp(-spread(self.risks))

    @property
    def high(self) -> np.ndarray:
        return self.means * np.exp(np.minimum(spread(self.risks), 600))

    @property
    def steep(self) -> np.ndarray:
        """Is there a cliff between a size and the next?  [K - 1]"""
        means = np.maximum(self.means, LEAST_RISK)
        return means[:-1] > CLIFF * means[1:]


def samples_needed(
    sizes: Sequence[int], risks: ArrayLike, error: float, fresh: ArrayLike
) -> SamplesNeeded:
    """Risks [sizes, seeds] at increasing sizes; `fresh` is the risk without limit of data, of the
    same seeds or on average.

    A curve that ends below the error is believed, whatever fresh data leave: training on them can
    stand still for longer.
    """
    rows = np.asarray(risks, np.float64)
    missing = int((~np.isfinite(rows)).sum())
    require(not missing, f"{missing} risks that are not finite", "a number for every size and seed",
            "count a run that diverged as a large risk")  # fmt: skip
    curve = Curve(np.asarray(sizes, float), rows, np.atleast_1d(np.asarray(fresh, np.float64)))
    means = curve.means
    reached = next((int(n) for n, mean in zip(sizes, means, strict=True) if mean <= error), None)
    if means[-1] <= error:
        found = _crossed(curve, error)
    elif reached is not None:
        found = SamplesNeeded(error, None, outcome=Outcome.NOT_KEPT)
    else:
        found = _beyond(curve, error)
    return dataclasses.replace(found, reached=reached)


def more_sizes(found: SamplesNeeded, sizes: Sequence[int], risks: ArrayLike) -> list[int]:
    """A size that would make an answer surer: the middle of a cliff, or one near the answer where
    none was measured within a factor `BESIDE`.

    >>> found = samples_needed([30, 100], [[0.67] * 3, [1e-12] * 3], 0.05, 0.0)
    >>> more_sizes(found, [30, 100], [[0.67] * 3, [1e-12] * 3])
    [55]
    """
    n = found.n
    if n is None or found.at_most or n > 3 * max(sizes):
        return []
    aim = max(2, round(n))
    if found.outcome is Outcome.BETWEEN:
        last = _last_above(np.asarray(risks, np.float64).mean(axis=1), found.error)
        low, high = sizes[last], sizes[last + 1]
        return [aim] if high > NARROW * low and low < aim < high else []
    return [] if any(1 / BESIDE <= size / aim <= BESIDE for size in sizes) else [aim]


def spread(values: np.ndarray) -> np.ndarray:
    """How far the logarithm of a mean may be off, from [..., seeds]: the half-width of its
    t-interval. With one seed nothing is known.

    The standard deviation of logarithms s is used, and s^2/k + s^4/(2(k-1)) for the variance of
    log E risk (Cox's, for log-normal risks), for the mean and the deviation of skewed risks are
    small together.
    """
    seeds = values.shape[-1]
    if seeds < 2:
        return np.full(values.shape[:-1], math.inf)
    logs = np.log(np.maximum(values, LEAST_RISK))
    variance = logs.var(axis=-1, ddof=1)
    t = stats.t.ppf((1 + CONFIDENCE) / 2, seeds - 1)
    return np.asarray(t * np.sqrt(variance / seeds + variance**2 / (2 * (seeds - 1))))


def _last_above(means: np.ndarray, error: float) -> int:
    """The last size above the error; -1 where none is."""
    above = np.flatnonzero(means > error)
    return int(above[-1]) if len(above) else -1


def _crossed(curve: Curve, error: float) -> SamplesNeeded:
    """A curve that ends at or below the error: where it falls below for good."""
    last = _last_above(curve.means, error)
    highest = max(_ends(curve, curve.high, error), default=None)
    if last < 0:
        n = float(curve.sizes[0])
        return SamplesNeeded(error, n, None, highest and max(n, highest), Outcome.AT_MOST)
    n = _crossings(curve, curve.means, error)[0]
    lowest = min(_ends(curve, curve.low, error), default=n)
    sure = _last_above(curve.low, error) >= 0  # is some size surely too small?
    outcome = Outcome.BETWEEN if curve.steep[last] else Outcome.MEASURED
    return SamplesNeeded(error, n, min(n, lowest) if sure else None,
                         highest and max(n, highest), outcome)  # fmt: skip


def _ends(curve: Curve, band: np.ndarray, error: float) -> list[float]:
    """Where one end of the intervals falls below the error for good: the smallest size where all
    are, and nothing where the last is not.
    """
    last = _last_above(band, error)
    if last < 0:
        return [float(curve.sizes[0])]
    if last + 1 == len(curve.sizes):
        return []
    if curve.steep[last]:
        return [float(curve.sizes[last]), float(curve.sizes[last + 1])]
    return _crossings(curve, band, error)


def _crossings(curve: Curve, band: np.ndarray, error: float) -> list[float]:
    """The answers within the last bracket of a curve by several shapes, a power of n first."""
    last = _last_above(band, error)
    (n0, n1), (r0, r1) = curve.sizes[last : last + 2], np.maximum(band[last : last + 2], LEAST_RISK)
    if curve.steep[last]:
        return [math.sqrt(n0 * n1)]
    fresh = float(curve.fresh.mean())
    found = [_power(n0, n1, r0, r1, error)]
    if 0 < fresh < min(r1, error):
        found.append(_power(n0, n1, r0 - fresh, r1 - fresh, error - fresh))
    found.append(n0 + (n1 - n0) * (1 / error - 1 / r0) / (1 / r1 - 1 / r0))
    return [float(n) for n in found]


def _power(n0: float, n1: float, r0: float, r1: float, error: float) -> float:
    """Where a power of n through two points is the error."""
    share = math.log(r0 / error) / math.log(r0 / r1)
    return n0 * (n1 / n0) ** share


def _beyond(curve: Curve, error: float) -> SamplesNeeded:
    """A curve above the error everywhere: drawn on, where fresh data leave room for it."""
    fresh, means = float(curve.fresh.mean()), curve.means
    width = _half_width(curve.fresh) if len(curve.fresh) > 1 else 0.0

    def unknown(outcome: Outcome) -> SamplesNeeded:
        return SamplesNeeded(error, None, outcome=outcome)

    if fresh >= error and fresh > means[-1]:
        return unknown(Outcome.FRESH_WORSE)
    if fresh + width >= error:  # below it, or above it, by less than seeds tell
        return unknown(Outcome.FRESH_ABOVE if fresh - width >= error else Outcome.FRESH_NEAR)
    if len(means) < 2:
        return unknown(Outcome.ONE_SIZE)
    paired = len(curve.fresh) == curve.risks.shape[1]
    above = curve.risks - (curve.fresh if paired else fresh)  # what more data can take away
    left = above.mean(axis=1)
    open_ = np.array([_half_width(row) for row in above]) / np.maximum(left, LEAST_RISK)
    if left[-1] <= 0 or (open_[-1] >= 1 and above.shape[1] > 1):
        return unknown(Outcome.IN_NOISE)
    if left[-2] <= 0:
        return unknown(Outcome.NO_SLOPE)
    return _drawn_on(curve, left, open_, error, (error - fresh, width))


def _drawn_on(
    curve: Curve, left: np.ndarray, open_: np.ndarray, error: float, room: tuple[float, float]
) -> SamplesNeeded:
    """By the slope of the last two sizes. Half of what the slope changed before belongs to its
    interval: a curve that is still bending goes on to bend.
    """
    slopes = [
        math.log(b / a) / math.log(m / n)
        for (n, m), (a, b) in zip(
            itertools.pairwise(curve.sizes[-3:]), itertools.pairwise(left[-3:]), strict=True
        )
        if a > 0
    ]
    slope = slopes[-1]
    bend = abs(slopes[-1] - slopes[0]) / 2
    step = math.log(curve.sizes[-1] / curve.sizes[-2])
    doubt = bend + float(np.hypot(open_[-1], open_[-2])) / step
    gap, width = room
    last = float(curve.sizes[-1])

    def reach(slope: float, share: float, gap: float) -> float | None:
        """Where the rest above fresh data is as large as the gap."""
        if slope >= LEAST_SLOPE:
            return None
        further = math.log(gap / (left[-1] * share)) / slope
        return last * math.exp(further) if further <= math.log(FARTHEST / last) else None

    n = reach(slope, 1.0, gap)
    if n is None:
        return SamplesNeeded(error, None, outcome=Outcome.NO_SLOPE)
    off = min(float(open_[-1]), 600)
    low, high = reach(slope - doubt, math.exp(-off), gap + width), None
    if math.isfinite(doubt):
        high = reach(slope + doubt, math.exp(off), gap - width)
    low = min([*_ends(curve, curve.low, error), n, *([] if low is None else [low])])
    sure = math.isfinite(doubt) and _last_above(curve.low, error) >= 0
    return SamplesNeeded(error, n, low if sure else None,
                         high if high is None else max(n, high), Outcome.DRAWN_ON)  # fmt: skip


def _half_width(values: np.ndarray) -> float:
    """Of the t-interval of a mean over seeds."""
    k = len(values)
    if k < 2:
        return math.inf
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, k - 1) * values.std(ddof=1) / math.sqrt(k))
