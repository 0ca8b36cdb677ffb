"""What came of a study: for every arm its four numbers, for the study its verdicts and, for arms
that failed, why. These are the records that a report renders.

    promised       the theorem's bound with explicit constants, or why there is none
    possible       the best constructed weights, beside a certified lower bound for every weight of
                   that class and size
    representable  the best weights found that survive rounding to float32 and bfloat16
    learned        what training found: mean and interval over seeds

The first three are `Numbers`, the fourth is `Learned`, one per cell. No learned value can lie below
a lower bound that is about the same class: a certificate is then compared with a measurement, so it
is not refused but told (`StudyOutcome.doubts`): one of the two is wrong, or they are not about the
same quantity. A sampled loss is compared by the upper end of its interval; an exact loss has no
noise, so that one seed below the bound contradicts it. An exact loss far below the best weights
known shows that better ones exist.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headcount.core.errors import require
from headcount.lab.judge.signatures import Diagnosis
from headcount.lab.judge.statistics import FEWEST_SEEDS, t_interval
from headcount.lab.judge.verdict import Verdict
from headcount.lab.numbers import ROUNDING, Numbers
from headcount.lab.study import Arm, Study

# curves as a format draws them are not quite those that a bound is about
FORMATS = {"float32": 1e-6, "bfloat16": 1e-2}
SMALLEST = 1e-30  # a loss of exactly 0 (underflow of an exact model) counts as this
FAR_BELOW = 0.5  # an exact loss below this part of the floor is no rounding of it


@dataclasses.dataclass(frozen=True)
class Learned:
    """What training found for one arm in one cell: the mean over seeds of the loss, on the scale
    of the study, with an interval. All three are inf where every seed diverged.
    """

    cell: str
    losses: tuple[float, ...]  # inf where a run diverged
    mean: float  # geometric where losses are compared by ratio
    low: float
    high: float
    accuracy: float | None = None  # mean over seeds

    def __post_init__(self):
        require(
            math.isfinite(self.mean) == (self.diverged < len(self.losses)),
            f"{self.diverged} of {len(self.losses)} seeds diverged, mean {self.mean}",
            "a mean if and only if a seed finished",
            "count again",
        )
        require(
            self.low <= self.mean <= self.high,
            f"learned {self.mean} in [{self.low}, {self.high}]",
            "low <= mean <= high",
            "swap the ends",
        )

    @property
    def diverged(self) -> int:
        return sum(not math.isfinite(loss) for loss in self.losses)

    @property
    def finished(self) -> bool:
        """Did any seed finish?"""
        return math.isfinite(self.mean)

    @property
    def median(self) -> float:
        """Of the seeds that ran; inf where half of them or more diverged."""
        return float(np.median(self.losses)) if self.losses else math.inf


@dataclasses.dataclass(frozen=True)
class LearningCurve:
    """The loss at the log points of training: median, smallest and largest over seeds; inf from
    where a run diverged.
    """

    steps: tuple[int, ...] = ()
    median: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class ArmOutcome:
    """An arm with all four numbers."""

    arm: Arm
    numbers: Numbers
    learned: tuple[Learned, ...]  # one per cell
    parameters: int | None
    # the records' last figures in the first cell, one per seed
    finals: tuple[Mapping[str, float], ...] = ()
    curve: LearningCurve = LearningCurve()  # in the first cell


@dataclasses.dataclass(frozen=True)
class StudyOutcome:
    """A study, its arms, the verdicts on its claims, and what arms lacked."""

    study: Study
    arms: tuple[ArmOutcome, ...]
    verdicts: tuple[Verdict, ...] = ()
    diagnoses: Mapping[str, Diagnosis] = dataclasses.field(default_factory=dict)  # by arm

    def at_trained_length(self, outcome: ArmOutcome) -> Learned | None:
        """The loss at the trained length over the seeds of the first cell; None where it is the
        loss shown already, or no run finished.
        """
        if outcome.arm.trained_length is None:
            return None
        losses = [final.get("train_loss", math.inf) for final in outcome.finals]
        found = summarised("", losses, self.study.ratios)
        return found if found.finished else None

    def doubts(self) -> Iterator[str]:
        """Contradictions between what was computed and what was measured."""
        for outcome in self.arms:
            for learned in outcome.learned:
                several = len(outcome.learned) > 1
                name = outcome.arm.name
                where = f"{name} ({learned.cell})" if several else name
                yield from _below_the_bound(outcome, learned, where)
                yield from _below_the_floor(outcome, learned, where)


def summarised(cell: str, losses: Sequence[float], ratio: bool) -> Learned:
    """Mean and 90% t-interval over seeds (their range where there are too few), on a logarithmic
    scale where losses are compared by ratio.

    Diverged runs are counted apart. An interval ends at 0: losses are not negative.
    """
    finite = np.array([loss for loss in losses if math.isfinite(loss)])
    if not len(finite):
        return Learned(cell, tuple(losses), math.inf, math.inf, math.inf)
    values = np.log10(np.maximum(finite, SMALLEST)) if ratio else finite
    mean = float(values.mean())
    low, high = float(values.min()), float(values.max())
    if len(values) >= FEWEST_SEEDS:
        interval = t_interval(values, 0.9)
        low, high = (interval.low if ratio else max(0.0, interval.low)), interval.high
    back: Callable[[float], float] = (lambda v: float(10.0**v)) if ratio else float
    # equal seeds: their mean may be off the common value by a rounding
    return Learned(
        cell, tuple(losses), back(mean), min(back(low), back(mean)), max(back(high), back(mean))
    )


def learning_curve(records: Sequence[Mapping[str, Any]], metric: str) -> LearningCurve:
    """Over the records of one arm, one per seed. A run that stopped early keeps its last loss."""
    if not records:
        return LearningCurve()
    longest = max(records, key=lambda record: len(record["metrics"]["step"]))
    steps = [int(step) for step in longest["metrics"]["step"]]
    rows = []
    for record in records:
        losses = list(record["metrics"].get(metric, ()))
        diverged = not record["final"] or not losses
        last = math.inf if diverged else losses[-1]
        rows.append(losses + [last] * (len(steps) - len(losses)))
    table = np.maximum(np.array(rows, float).reshape(len(rows), len(steps)), SMALLEST)  # [R, S]
    table = np.nan_to_num(table, nan=math.inf, posinf=math.inf)
    found = (tuple(map(float, edge(table, axis=0))) for edge in (np.median, np.min, np.max))
    return LearningCurve(tuple(steps), *found)


def _below_the_bound(outcome: ArmOutcome, learned: Learned, where: str) -> Iterator[str]:
    numbers = outcome.numbers
    if numbers.lower is None:
        return
    reached = min(learned.losses, default=math.inf) if outcome.arm.exact else learned.high
    values = {"learned": reached, "float32": numbers.float32, "bfloat16": numbers.bfloat16}
    only = f", which holds for {numbers.lower_for}" if numbers.lower_for else ""
    for name, value in values.items():
        if value is not None and value < numbers.lower * (1 - FORMATS.get(name, ROUNDING)):
            yield (
                f"{where}: {name} {value:.3g} lies below the lower bound {numbers.lower:.3g}{only}"
            )


def _below_the_floor(outcome: ArmOutcome, learned: Learned, where: str) -> Iterator[str]:
    floor = outcome.numbers.floor
    if outcome.arm.exact and floor is not None and learned.mean < FAR_BELOW * floor:
        yield (
            f"{where}: learned {learned.mean:.3g} lies below half of the best that was known,"
            f" {floor:.3g}: better weights exist"
        )
