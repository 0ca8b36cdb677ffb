"""From runs to findings: one part of a hypothesis, its effect, intervals and p-values, and what
stood in the way.

**Runs that diverged** count as an infinite loss (accuracy 0): the median and the sign test need no
number for them. Where both runs of a pair diverged the effect is not defined and counts for
nobody: neither towards support nor towards refutation.

**Runs that are missing**: a part is judged on the seeds, in the order registered, up to the last
look that all of its arms reach. A claim that has not reached its first look is not judged.

**Two arms that both learned nothing** cannot be compared: that they are equal is no evidence that
an addition has no benefit (in clinical trials: assay sensitivity), nor that what was to help does
not. A comparison of arms which both fail to beat the constant predictor by the margin decides
nothing.

**Arms said to be of equal parameters** must be, within 5%, or the part decides nothing.
"""

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from headcount.core.errors import require, unknown
from headcount.lab.judge.hypothesis import (
    EQUAL_PARAMETERS,
    AbstractComparison,
    AbstractPair,
    ArmResult,
    Benefit,
    Hypothesis,
    Part,
)
from headcount.lab.judge.statistics import (
    FEWEST_SEEDS,
    Interval,
    Scale,
    median_interval,
    t_interval,
)

FAR_ABOVE_FLOOR = 10.0
# Outputs in float32 carry a relative rounding of 2^-24: a mean squared error under 2^-48 of the
# trivial loss is rounding, so a floor of 0 (an exact construction) is read as this much.
ROUNDING = 2.0**-48

Runs = Mapping[str, Mapping[int, ArmResult]]  # arm -> seed -> run


class Blocked(enum.Enum):
    """Why a part that has runs decides nothing."""

    UNEQUAL = "the claim is about equal parameters, and the arms' sizes differ by more than 5%"
    UNLEARNED = "neither arm beats the constant answer by the margin: comparing them says nothing"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One part. `p` is against 'not supported', `p_refute` against 'not refuted', both valid at
    every look; 1 where it is blocked.

    `effect` is the median over seeds, `interval` of order statistics, `mean` and `t` beside them.
    `beside` has the median on the other scale of a loss. `losing` is the arm that is behind, and
    `floor` what was computed for it.
    """

    part: str
    scale: Scale
    effects: tuple[float, ...] = ()
    p: float = 1.0
    p_refute: float = 1.0
    effect: float | None = None
    interval: Interval | None = None
    mean: float | None = None
    t: Interval | None = None
    beside: Mapping[str, float] = dataclasses.field(default_factory=dict)
    losing: str | None = None
    floor: float | None = None
    blocked: Blocked | None = None
    diverged: Mapping[str, int] = dataclasses.field(default_factory=dict)
    learned: Mapping[str, float] = dataclasses.field(default_factory=dict)  # medians by arm

    @property
    def seeds(self) -> int:
        return len(self.effects)

    def far_above_floor(self, trivial: float) -> bool:
        """Did the arm that is behind learn far less than its architecture can do?"""
        if self.losing is None or self.floor is None:
            return False
        floor = max(self.floor, ROUNDING * trivial)
        return self.learned[self.losing] > FAR_ABOVE_FLOOR * floor

    def to_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "scale": self.scale.unit,
            "effect": finite(self.effect),
            "interval": self.interval and self.interval.to_json(),
            "mean": finite(self.mean),
            "t_interval": self.t and self.t.to_json(),
            "beside": {unit: finite(value) for unit, value in self.beside.items()},
            "p": self.p,
            "p_refute": self.p_refute,
            "seeds": self.seeds,
            "learned": {arm: finite(loss) for arm, loss in self.learned.items()},
            "losing": self.losing,
            "floor": self.floor,
            "diverged": dict(self.diverged),
            "blocked": None if self.blocked is None else self.blocked.value,
        }


def finite(value: float | None) -> float | None:
    """None for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else value


def findings(
    hypothesis: Hypothesis, results: Iterable[ArmResult], seeds: Sequence[int]
) -> tuple[Finding, ...]:
    """Every part, on the registered `seeds` in their order."""
    runs = arrange(hypothesis, results, seeds)
    return tuple(_finding(hypothesis, part, runs, seeds) for part in hypothesis.parts)


def arrange(
    hypothesis: Hypothesis, results: Iterable[ArmResult], seeds: Sequence[int]
) -> dict[str, dict[int, ArmResult]]:
    """Runs by arm and seed; runs that were not registered are refused, so that none is added after
    a look at the outcome.
    """
    runs: dict[str, dict[int, ArmResult]] = {arm: {} for arm in hypothesis.arms}
    for run in results:
        if run.arm not in runs:
            raise unknown(f"arm of hypothesis {hypothesis.key}", run.arm, hypothesis.arms)
        where = f"hypothesis {hypothesis.key}, {run.arm}: seed {run.seed}"
        require(
            run.seed in seeds,
            where,
            f"a registered seed {list(seeds)}",
            "register it before running",
        )
        require(run.seed not in runs[run.arm], f"{where} twice", "one run per seed", "remove one")
        runs[run.arm][run.seed] = run
    return runs


def _finding(hypothesis: Hypothesis, part: Part, runs: Runs, seeds: Sequence[int]) -> Finding:
    claim = part.claim
    complete = 0  # leading seeds that every arm has
    while complete < len(seeds) and all(seeds[complete] in runs[arm] for arm in claim.arms):
        complete += 1
    count = hypothesis.looks.reached(complete)
    if not count:
        return Finding(part.name, claim.scale)
    used = {arm: [runs[arm][seed] for seed in seeds[:count]] for arm in claim.arms}
    effects = _effects(claim, hypothesis, used, claim.scale)  # [R]
    blocked = _blocked(claim, hypothesis, used)
    finite_effects = effects[np.isfinite(effects)]
    enough = len(finite_effects) >= FEWEST_SEEDS
    losing = _losing(claim, effects)
    looks = hypothesis.looks
    refuting = [float(region.p(effects, looks)) for region in claim.refute]
    return Finding(
        part.name,
        claim.scale,
        tuple(map(float, effects)),
        p=1.0 if blocked else float(claim.support.p(effects, looks)),
        p_refute=1.0 if blocked else min(1.0, len(refuting) * min(refuting)),
        effect=_median(effects),
        interval=median_interval(_neutral(effects), 1 - 2 * hypothesis.alpha),
        mean=float(finite_effects.mean()) if enough else None,
        t=t_interval(finite_effects, 1 - 2 * hypothesis.alpha) if enough else None,
        beside=_beside(claim, hypothesis, used),
        losing=losing,
        floor=_floor(used[losing]) if losing else None,
        blocked=blocked,
        diverged={
            arm: times for arm, found in used.items() if (times := sum(r.diverged for r in found))
        },
        learned={arm: float(np.median([r.loss for r in found])) for arm, found in used.items()},
    )


def _effects(
    claim: AbstractComparison,
    hypothesis: Hypothesis,
    used: Mapping[str, Sequence[ArmResult]],
    scale: Scale,
) -> np.ndarray:
    """[R] on a scale."""
    levels = {
        arm: scale.level(np.array([run.value(scale) for run in found]), hypothesis.trivial)
        for arm, found in used.items()
    }
    return claim.effects(levels, hypothesis.trivial)


def _neutral(effects: np.ndarray) -> np.ndarray:
    """[R] what is not defined may lie anywhere: for order statistics, half at each end."""
    undefined = np.flatnonzero(np.isnan(effects))
    filled = effects.copy()
    filled[undefined[::2]], filled[undefined[1::2]] = -math.inf, math.inf
    return filled


def _median(effects: np.ndarray) -> float:
    """The lower of two middle values if one of them is infinite: their mean has no meaning."""
    middle = np.sort(_neutral(effects))
    low, high = middle[(len(middle) - 1) // 2], middle[len(middle) // 2]
    return float((low + high) / 2 if math.isfinite(low) and math.isfinite(high) else low)


def _beside(
    claim: AbstractComparison, hypothesis: Hypothesis, used: Mapping[str, Sequence[ArmResult]]
) -> dict[str, float]:
    """The median effect of a pair on the other scale: a ratio beside a difference of explained
    variance, and the other way round.
    """
    other = {Scale.LOG10_RATIO: Scale.EXPLAINED, Scale.EXPLAINED: Scale.LOG10_RATIO}
    if not isinstance(claim, AbstractPair) or claim.scale not in other:
        return {}
    scale = other[claim.scale]
    return {scale.unit: _median(_effects(claim, hypothesis, used, scale))}


def _blocked(
    claim: AbstractComparison, hypothesis: Hypothesis, used: Mapping[str, Sequence[ArmResult]]
) -> Blocked | None:
    if not isinstance(claim, AbstractPair):
        return None
    if claim.equal_parameters:
        counts = [run.parameters for found in used.values() for run in found]
        known = [count for count in counts if count is not None]
        alike = len(known) == len(counts) and max(known) <= (1 + EQUAL_PARAMETERS) * min(known)
        if not alike:
            return Blocked.UNEQUAL
    if claim.scale is Scale.ACCURACY:
        return None
    trivial = float(claim.scale.level(np.float64(hypothesis.trivial), hypothesis.trivial))
    levels = [
        np.median(claim.scale.level(np.array([r.loss for r in found]), hypothesis.trivial))
        for found in used.values()
    ]
    return None if trivial - min(levels) > claim.margin else Blocked.UNLEARNED


def _losing(claim: AbstractComparison, effects: np.ndarray) -> str | None:
    """The arm that is behind, where losses are compared."""
    if claim.scale is Scale.ACCURACY:
        return None
    effect = _median(effects)
    if isinstance(claim, Benefit):
        return claim.worse if effect > claim.margin else claim.better
    if isinstance(claim, AbstractPair):
        return claim.arms[0 if effect > 0 else 1]
    return claim.arms[0] if effect < 0 else None


def _floor(found: Sequence[ArmResult]) -> float | None:
    """The arm's floor; where runs carry different ones (a floor by seed), the largest, which
    qualifies least.
    """
    known = [run.floor for run in found if run.floor is not None]
    return max(known) if known else None
