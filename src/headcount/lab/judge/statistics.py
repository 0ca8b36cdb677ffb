"""Medians over paired seeds: exact sign tests, looks at a growing number of seeds, Holm, power.

Two arms are trained with the same seeds (same data, same order), so the unit of observation is a
*pair*, and the effect of seed r is a difference of levels (`Scale`),

    e_r = level(loss of the arm that should lose) - level(loss of the arm that should win).

What is judged is the **median** of e_r over all seeds that there could be. With k of R effects
above b, and B ~ Binomial(R, 1/2),

    p_above(b)   P(B >= k), against 'the median is at most b': the exact sign test
    p_below(b)   its mirror image
    interval     [e_(j), e_(R+1-j)] with the largest j for which P(B < j) <= alpha

No shape of the noise is assumed: skewness, heavy tails and infinite effects (a run that diverged)
do no harm. The t-interval of the mean is shown beside it and decides nothing: with log-normal
effects it would support one false claim in ten (`tests/lab/judge/test_calibration.py`).

**Looks.** Seeds are added in steps (`Looks`): 10, then 20, then 40. Looking three times at the
level a each time would err more often than a, so the smallest of the p-values is multiplied by the
smallest c for which

    P(c min_k p_k <= a) <= a    for every a,

computed exactly from the joint law of the three counts. A decision once made stands: the running
minimum never grows.

**Family.** Holm over all registered claims, for support and for refutation alike.

**Power** is the chance that a design decides as claimed if the true median is the registered one:
residuals of the measured effects are redrawn around it, looks and corrections included.
"""

import dataclasses
import enum
import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from headcount.core.errors import require

FEWEST_SEEDS = 3  # for a t-interval


class Scale(enum.Enum):
    """How two losses are compared, and the margin below which a difference is called none."""

    LOG10_RATIO = ("log10 ratio", 0.30)
    EXPLAINED = ("explained variance", 0.01)
    NATS = ("nats", 0.02)
    ACCURACY = ("accuracy", 0.01)

    def __init__(self, unit: str, margin: float):
        self.unit, self.margin = unit, margin

    def level(self, value: np.ndarray | np.float64, trivial: float) -> np.ndarray:
        """The function of a loss whose differences are the effects: for explained variance the
        share of the trivial loss that is left.
        """
        if self is Scale.LOG10_RATIO:
            return np.log10(value)
        return np.asarray(value, float) / (trivial if self is Scale.EXPLAINED else 1.0)


@dataclasses.dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float

    def to_json(self) -> list[float | None]:
        return [value if math.isfinite(value) else None for value in (self.low, self.high)]


@dataclasses.dataclass(frozen=True)
class Region:
    """An open interval in which the median effect is claimed to lie.

    >>> effects = np.array([0.9, 1.0, 1.1, 0.8, 1.2])
    >>> print(f"{Region(low=0.3).p(effects):.4f}")  # above 0.3: all five are
    0.0312
    >>> print(f"{Region(-0.3, 0.3).p(effects):.4f}")  # and not within
    1.0000
    """

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self):
        require(
            self.low < self.high, f"region ({self.low}, {self.high})", "low < high", "swap the ends"
        )
        require(
            math.isfinite(self.low) or math.isfinite(self.high),
            "region (-inf, inf)",
            "at least one finite end",
            "everything lies in it: nothing to test",
        )

    def ends(self, effects: np.ndarray) -> list[np.ndarray]:
        """The effects measured from every finite end, positive inside."""
        effects = np.asarray(effects, float)
        inside = [effects - self.low] if math.isfinite(self.low) else []
        return inside + ([self.high - effects] if math.isfinite(self.high) else [])

    def p(self, effects: np.ndarray, looks: "Looks | None" = None) -> np.ndarray:
        """Against 'the median effect is not in this region': the larger p-value of its ends (an
        intersection-union test). Effects [..., R] in the order of the seeds.
        """
        test = p_positive if looks is None else looks.p_positive
        return np.maximum.reduce([test(end) for end in self.ends(effects)])


def p_positive(effects: np.ndarray) -> np.ndarray:
    """The exact sign test against 'the median is at most 0', along the last axis. Zeros and
    effects that are not defined count against.
    """
    effects = np.asarray(effects, float)
    count = effects.shape[-1]
    require(count >= 1, "no paired seeds", "at least one", "run more seeds")
    return stats.binom.sf((effects > 0).sum(axis=-1) - 1, count, 0.5)


def median_interval(effects: np.ndarray, confidence: float = 0.90) -> Interval:
    """Order statistics that enclose the median with at least this confidence; unbounded where
    there are too few seeds for it.
    """
    effects = np.sort(np.asarray(effects, float))
    count = len(effects)
    rank = int(stats.binom.ppf((1 - confidence) / 2, count, 0.5))
    while rank > 0 and stats.binom.cdf(rank - 1, count, 0.5) > (1 - confidence) / 2:
        rank -= 1
    if rank == 0:
        return Interval(-math.inf, math.inf)
    return Interval(float(effects[rank - 1]), float(effects[count - rank]))


def t_interval(effects: np.ndarray, confidence: float = 0.90) -> Interval:
    """Two-sided Student interval for the mean of [R] finite effects."""
    effects = np.asarray(effects, float)
    count = len(effects)
    require(
        count >= FEWEST_SEEDS, f"{count} paired seeds", f"at least {FEWEST_SEEDS}", "run more seeds"
    )
    require(
        0 < confidence < 1,
        f"confidence {confidence:g}",
        "a number between 0 and 1",
        "pass 0.9 for 90%",
    )
    error = 0.0 if np.ptp(effects) == 0 else effects.std(ddof=1) / math.sqrt(count)
    reach = stats.t.ppf((1 + confidence) / 2, count - 1) * error
    return Interval(float(effects.mean() - reach), float(effects.mean() + reach))


@dataclasses.dataclass(frozen=True)
class Looks:
    """The numbers of seeds at which a claim is looked at, fixed before any of them runs.

    >>> looks = Looks((10, 20, 40))
    >>> print(f"{looks.factor:.2f}")  # three looks cost less than three tests
    2.32
    >>> ten = np.ones(10)
    >>> print(f"{looks.p_positive(ten):.4f}")  # 10 of 10: 2^-10 times the factor
    0.0023
    """

    seeds: tuple[int, ...] = (10, 20, 40)

    def __post_init__(self):
        rising = all(a < b for a, b in zip(self.seeds, self.seeds[1:], strict=False))
        require(
            self.seeds and self.seeds[0] >= 1 and rising,
            f"looks at {list(self.seeds)} seeds",
            "rising numbers of seeds",
            "pass (10, 20, 40)",
        )

    @property
    def factor(self) -> float:
        """What the smallest p-value is multiplied by."""
        return _factor(self.seeds)

    def p_positive(self, effects: np.ndarray) -> np.ndarray:
        """Against 'the median is at most 0', valid at every look; 1 before the first."""
        effects = np.asarray(effects, float)
        reached = [n for n in self.seeds if n <= effects.shape[-1]]
        tested = [p_positive(effects[..., :n]) for n in reached]
        ones = np.ones(effects.shape[:-1])
        return np.minimum.reduce([ones, *(self.factor * p for p in tested)])

    def reached(self, seeds: int) -> int:
        """The last look that so many seeds reach; 0 before the first."""
        return max((n for n in self.seeds if n <= seeds), default=0)

    def after(self, seeds: int) -> int | None:
        """The next look; None after the last."""
        return next((n for n in self.seeds if n > seeds), None)


@functools.lru_cache(maxsize=32)
def _factor(looks: tuple[int, ...]) -> float:
    """sup over x of P(min_k p_k <= x) / x. The probability jumps at the p-values that occur, so
    the supremum is among them.
    """
    levels = {float(stats.binom.sf(k - 1, n, 0.5)) for n in looks for k in range(n + 1)}
    return max(crossing(looks, x, 0.5) / x for x in levels if x <= 0.5)


def crossing(looks: Sequence[int], level: float, chance: float) -> float:
    """The probability that at some look the sign test's p-value is at most `level`, where every
    effect is positive with this chance: exact, by the law of the count that has not crossed yet.
    """
    alive = np.ones(1)  # [count + 1] probability of each count, not crossed so far
    crossed, before = 0.0, 0
    for n in looks:
        step = stats.binom.pmf(np.arange(n - before + 1), n - before, chance)
        alive = np.convolve(alive, step)  # [n + 1]
        past = stats.binom.sf(np.arange(n + 1) - 1, n, 0.5) <= level * (1 + 1e-12)
        crossed += float(alive[past].sum())
        alive = np.where(past, 0.0, alive)
        before = n
    return crossed


def holm(p_values: np.ndarray, family_size: int | None = None) -> np.ndarray:
    """Holm's step-down adjustment: rejecting where the result is <= alpha keeps the family-wise
    error <= alpha.

    With p_(1) <= ... <= p_(n):  adjusted_(i) = max_{j<=i} min(1, (family_size-j+1) p_(j)).
    `family_size` counts members that were registered but not run; they enter as p = 1, so that
    running one claim alone is never more lenient than running all.

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


def power(
    effects: np.ndarray,
    registered: Sequence[float],
    regions: Sequence[Region],
    looks: Looks,
    level: float,
    seeds: int | None = None,
    studies: int = 4000,
    seed: int = 0,
) -> float:
    """The chance that all parts are decided as claimed at this level with so many `seeds` (all
    looks without it), if their median effects were the registered ones and the noise is that of the
    measured effects [K, R].

    Residuals of whole seeds are redrawn (parts of one claim share their runs) with a little normal
    noise, as many bandwidths as their spread is shrunk by, so that few seeds are no lattice.
    """
    residuals = _residuals(effects)  # [K, R]
    count = residuals.shape[1]
    last = looks.seeds[-1] if seeds is None else looks.reached(seeds)
    random = np.random.default_rng(seed)
    drawn = residuals[:, random.integers(count, size=(studies, last))]  # [K, n, S]
    width = 0.9 * count**-0.2
    spread = residuals.std(axis=1)[:, None, None]  # [K, 1, 1]
    jitter = width * spread * random.standard_normal(drawn.shape)
    noise = (drawn + jitter) / math.sqrt(1 + width**2)  # [K, n, S]
    noise -= np.median(noise, axis=(1, 2), keepdims=True)
    decided = np.ones(studies, bool)
    for part, (effect, region) in enumerate(zip(registered, regions, strict=True)):
        decided &= region.p(effect + noise[part], looks) <= level
    return float(decided.mean())


def seeds_needed(effects: np.ndarray, region: Region, level: float, wanted: float = 0.8) -> float:
    """Seeds at which one more look, at this level, would place the median in the region with the
    chance wanted, if the share of effects inside stays what it is; inf where it is half or less.
    """
    needed = 0.0
    for end in region.ends(effects):
        share = ((end > 0).sum() + 0.5) / (len(end) + 1)
        if share <= 0.5:
            return math.inf
        size = 1
        while crossing((size,), level, share) < wanted:
            size = math.ceil(1.1 * size)
            if size > 100_000:
                return math.inf
        needed = max(needed, size)
    return needed


def _residuals(effects: np.ndarray) -> np.ndarray:
    """[K, R] around the median; effects that are not finite count as the farthest finite ones."""
    effects = np.atleast_2d(np.asarray(effects, float))
    rows = []
    for row in effects:
        finite = row[np.isfinite(row)]
        if not len(finite):
            finite = np.zeros(1)
        row = np.clip(np.nan_to_num(row, nan=finite.min()), finite.min(), finite.max())
        rows.append(row - np.median(row))
    return np.array(rows)
