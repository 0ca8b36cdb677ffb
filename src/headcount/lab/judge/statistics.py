"""Paired effects over seeds, intervals, p-values and Holm: the arithmetic under every verdict.

Two arms are trained with the same seeds (same data, same order), so the unit of observation is a
*pair* and the effect of seed r is a difference of levels,

    e_r = level(loss of the arm that should lose) - level(loss of the arm that should win),

where the level is log10 of the loss for toy tasks (whose losses span decades: e = 0.30 is a factor
of two) and the loss itself for language models (nats). The quantity judged is theta = E[e_r],
estimated by the mean over R seeds. With m and sd the mean and standard deviation of e_1..e_R and t
the Student quantile with R-1 degrees of freedom,

    interval    m ± t_{(1+c)/2} sd/sqrt(R),  c = 1 - 2 alpha = 90% at alpha = 5%
    p_above(b)  P(T_{R-1} >= (m-b)/(sd/sqrt R)), for the null theta <= b
    p_below(b)  its mirror image
    p_within    max(p_above(low), p_below(high)): two one-sided tests (TOST), for the null
                "theta is not in (low, high)"

so that the interval lies inside a region exactly where the p-value is below alpha: the interval
rule and the p-value are one rule said twice.

*Calibration*: exact for normal effects, conservative for symmetric heavy tails; where ONE arm alone
is skewed towards the claim's disfavour the t-interval is known to be too short (the tests measure
by how much). The BCa bootstrap corrects for skewness and is reported beside it; it decides nothing,
since with 5 to 10 seeds its own coverage falls short of nominal.

*Seeds that all agree to the last digit* (accuracy 1.000 ten times) have no standard deviation,
hence no t. What they then do show is that R of R pairs lie on one side, so the exact sign test
speaks: p = 2^-R, and the interval is a point.

All functions take effects in an array whose last axis is the seeds, so that thousands of studies
are judged at once.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping

import numpy as np
from scipy import stats

from headcount.core.errors import require

# two pairs give a t-quantile of 6.3 and a deviation with one degree of freedom: no evidence
FEWEST_SEEDS = 3


class Scale(enum.Enum):
    """How two losses are compared, and the margin below which a difference is called none."""

    LOG10_RATIO = ("log10 ratio", 0.30)
    NATS = ("nats", 0.02)

    def __init__(self, unit: str, margin: float):
        self.unit, self.margin = unit, margin

    def level(self, loss: np.ndarray | np.float64) -> np.ndarray:
        """The function of a loss whose differences are the effects."""
        return np.log10(loss) if self is Scale.LOG10_RATIO else np.asarray(loss, float)

    def loss(self, level: float) -> float:
        """The loss that has this level: turns a mean level back (geometric mean for ratios)."""
        return float(10.0**level) if self is Scale.LOG10_RATIO else float(level)


@dataclasses.dataclass(frozen=True)
class Interval:
    """A confidence interval, ends as float or as arrays over studies."""

    low: float
    high: float

    def to_json(self) -> list[float]:
        return [float(self.low), float(self.high)]


@dataclasses.dataclass(frozen=True)
class Region:
    """An open interval in which the true effect is claimed to lie.

    >>> effects = np.array([0.9, 1.0, 1.1])
    >>> print(f"{Region(low=0.3).p(effects):.4f}")  # above 0.3
    0.0034
    >>> print(f"{Region(-0.3, 0.3).p(effects):.4f}")  # and not within
    0.9966
    """

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self):
        require(
            self.low < self.high, f"region ({self.low}, {self.high})", "low < high", "swap the ends"
        )

    def p(self, effects: np.ndarray) -> np.ndarray:
        """p-value against 'the mean effect is not in this region': intersection-union over its
        finite ends.
        """
        ends = []
        if math.isfinite(self.low):
            ends.append(p_above(effects, self.low))
        if math.isfinite(self.high):
            ends.append(p_below(effects, self.high))
        require(
            ends,
            "region (-inf, inf)",
            "at least one finite end",
            "everything lies in it: nothing to test",
        )
        return np.maximum.reduce(ends)

    def holds(self, interval: Interval) -> bool:
        """Whether the whole interval lies inside."""
        return bool(self.low < interval.low and interval.high < self.high)


def paired_effects(
    worse: Mapping[int, float], better: Mapping[int, float], scale: Scale
) -> np.ndarray:
    """Effects by seed, in the order of the seeds; positive where `worse` has the larger loss.

    >>> lin, log = {0: 0.2, 1: 0.4, 2: 0.2}, {0: 0.02, 1: 0.04, 2: 0.2}
    >>> paired_effects(lin, log, Scale.LOG10_RATIO).round(6).tolist()
    [1.0, 1.0, 0.0]
    """
    alone = sorted(set(worse) ^ set(better))
    require(
        not alone,
        f"seeds {alone} in one arm only",
        "the same seeds in both arms",
        "run the missing seeds or leave out their pairs",
    )
    seeds = sorted(worse)
    # [2, R]
    losses = np.array([[arm[seed] for seed in seeds] for arm in (worse, better)], float).reshape(
        2, len(seeds)
    )
    require(
        not np.isnan(losses).any(),
        "a loss that is NaN",
        "numbers",
        "enter a diverged run as inf, and let the verdict count it",
    )
    require(
        np.isfinite(losses).all(),
        "an infinite loss",
        "finite losses",
        "decide first what a diverged run counts as",
    )
    require(
        (losses > 0).all(),
        f"loss {losses.min(initial=math.inf):g}",
        "losses > 0",
        "evaluate in float64, or use accuracy",
    )
    levels = scale.level(losses)
    return _checked(levels[0] - levels[1])  # [R]


def t_interval(effects: np.ndarray, confidence: float = 0.90) -> Interval:
    """Two-sided Student interval for the mean effect, along the last axis."""
    require(
        0 < confidence < 1,
        f"confidence {confidence:g}",
        "a number between 0 and 1",
        "pass 0.9 for 90%",
    )
    mean, error, count = _moments(effects)
    reach = stats.t.ppf((1 + confidence) / 2, count - 1) * error
    return Interval(mean - reach, mean + reach)


def bca_interval(
    effects: np.ndarray, confidence: float = 0.90, resamples: int = 9999, seed: int = 0
) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of the mean, for one study [R]; the same
    seed, the same ends.
    """
    effects = _checked(effects)
    require(
        effects.ndim == 1,
        f"effects of shape {effects.shape}",
        "one study [R]",
        "call it once per study",
    )
    if np.ptp(effects) == 0:  # every resample is the same sample, and BCa is 0/0
        return Interval(float(effects[0]), float(effects[0]))
    drawn = stats.bootstrap(
        (effects,),
        np.mean,
        n_resamples=resamples,
        confidence_level=confidence,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(drawn.low), float(drawn.high))


def p_above(effects: np.ndarray, bound: float) -> np.ndarray:
    """One-sided p-value against 'the mean effect is at most bound'."""
    mean, error, count = _moments(effects)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stats.t.sf((mean - bound) / error, count - 1)
    unanimous = np.where(mean > bound, 0.5**count, 1.0)  # no spread, no t: the exact sign test
    return np.where(error > 0, p, unanimous)


def p_below(effects: np.ndarray, bound: float) -> np.ndarray:
    """One-sided p-value against 'the mean effect is at least bound'."""
    return p_above(-np.asarray(effects, float), -bound)


def holm(p_values: np.ndarray, family_size: int | None = None) -> np.ndarray:
    """Holm's step-down adjustment: rejecting where the result is <= alpha keeps the family-wise
    error <= alpha.

    With p_(1) <= ... <= p_(n):  adjusted_(i) = max_{j<=i} min(1, (family_size-j+1) p_(j)).
    `family_size` counts members that were registered but not run; they enter as p = 1, so that
    running one of eight hypotheses alone is never more lenient than running all eight.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, float)
    require(p.ndim == 1, f"p-values of shape {p.shape}", "one list of p-values", "pass a flat list")
    require(
        bool(np.all((p >= 0) & (p <= 1))),
        f"p-values {p.tolist()}",
        "numbers in [0, 1]",
        "enter what was not tested as 1",
    )
    size = len(p) if family_size is None else family_size
    require(
        size >= len(p),
        f"family of {size} with {len(p)} p-values",
        "at least as many members as p-values",
        "drop family_size",
    )
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, (size - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def _moments(effects: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Mean, standard error and number of seeds; the error is exactly 0 where all seeds agree."""
    effects = _checked(effects)
    count = effects.shape[-1]
    error = effects.std(axis=-1, ddof=1) / math.sqrt(count)
    return effects.mean(axis=-1), np.where(np.ptp(effects, axis=-1) == 0, 0.0, error), count


def _checked(effects: np.ndarray) -> np.ndarray:
    effects = np.asarray(effects, float)
    count = effects.shape[-1] if effects.ndim else 0
    require(
        count >= FEWEST_SEEDS, f"{count} paired seeds", f"at least {FEWEST_SEEDS}", "run more seeds"
    )
    require(
        bool(np.isfinite(effects).all()),
        "an effect that is not finite",
        "finite effects",
        "decide first what a diverged run counts as",
    )
    return effects
