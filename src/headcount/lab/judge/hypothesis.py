"""Hypotheses fixed before anything runs: a claim as data, in parts, with margin, seeds, cells and
the paper's figures.

A claim turns losses into effects and says in which `Region` the mean effect must lie to support it
and in which it refutes it; one engine (`lab/judge/evidence.py`, `lab/judge/verdict.py`) judges all
of them. With margin delta:

    kind              effect of seed r                     supported in     refuted in
    Benefit           level(worse) - level(better)         (delta, inf)     (-inf, delta)
    NoBenefit         level(without) - level(with)         (-delta, delta)  (delta, inf)
    BelowThreshold    level(threshold) - level(loss)       (0, inf)         (-inf, 0)
    AccuracyAtLeast   accuracy - value                     (0, inf)         (-inf, 0)
    AccuracyBelow     value - accuracy                     (0, inf)         (-inf, 0)

An addition that makes things *worse* by more than delta neither supports NoBenefit (the arms are
not equal) nor refutes it (there is no benefit): it stays inconclusive, and the interval shows why.

A hypothesis holds if every part holds in every cell. Cells are the settings that the claim is
silent about (learning rate x initial decay rates p): a statement about architectures must not hang
on them.

Worked example — experiment 4a, one number of heads, one cell:

    >>> h = Hypothesis(
    ...     id="4a", claim="On a heavy-tailed memory, log heads learn better than lin heads.",
    ...     ref=Ref("wang-e-2024", "Section 6, experiment 4a"),
    ...     reported=(Reported("lin, 64 heads: MSE", 0.19),),
    ...     parts=(Part("16 heads", Benefit(worse="lin-16", better="log-16")),),
    ...     scale=Scale.LOG10_RATIO, trivial=7.48, expected="supported, trainability only")
    >>> print(h.parts[0].claim.sentence(h.scale, h.margin))
    log-16 beats lin-16 by more than 0.3 (log10 ratio)
    >>> h.margin, h.alpha, h.confidence, len(h.seeds)
    (0.3, 0.05, 0.9, 10)
"""

import abc
import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.lab.judge.statistics import FEWEST_SEEDS, Region, Scale

EQUAL_PARAMETERS = 0.05  # arms "of equal parameters" may differ by this fraction


@dataclasses.dataclass(frozen=True)
class ArmResult:
    """What one finished run hands in. `loss` is inf for a run that diverged; a run that did not
    happen has no record.

    `floor` is the best loss computed for this architecture (not trained), where one is known.
    """

    arm: str
    cell: str
    seed: int
    loss: float
    floor: float | None = None
    accuracy: float | None = None
    parameters: int | None = None

    def __post_init__(self):
        where = f"{self.arm}, {self.cell}, seed {self.seed}"
        require(
            not math.isnan(self.loss),
            f"{where}: loss is NaN",
            "a number, or inf if the run diverged",
            "enter divergence as inf",
        )
        require(
            self.loss > 0,
            f"{where}: loss {self.loss:g}",
            "a loss > 0",
            "evaluate in float64: a trained loss is never exactly 0",
        )
        good = self.floor is None or 0 <= self.floor < math.inf
        require(
            good,
            f"{where}: floor {self.floor}",
            "a finite number >= 0, or None",
            "leave an unknown floor out",
        )
        good = self.accuracy is None or 0 <= self.accuracy <= 1
        require(
            good,
            f"{where}: accuracy {self.accuracy}",
            "a number in [0, 1]",
            "give the fraction, not percent",
        )
        good = self.parameters is None or self.parameters > 0
        require(good, f"{where}: {self.parameters} parameters", "a number > 0", "count the weights")

    @property
    def diverged(self) -> bool:
        return math.isinf(self.loss)


class AbstractClaim(abc.ABC):
    """One comparison to support or refute. `metric` is the field of `ArmResult` that it reads."""

    metric: ClassVar[str] = "loss"
    equal_parameters: bool = False

    @property
    @abc.abstractmethod
    def arms(self) -> tuple[str, ...]:
        """The arms whose runs it needs."""

    @abc.abstractmethod
    def effects(self, values: Mapping[str, np.ndarray], scale: Scale) -> np.ndarray:
        """[k, R] effects from values [R] of each arm: k alternatives, of which one must do
        (k = 1 but for 'the best of').
        """

    @abc.abstractmethod
    def regions(self, margin: float) -> tuple[Region, Region]:
        """Where the mean effect supports the claim, and where it refutes it."""

    def unit(self, scale: Scale) -> str:
        """What the effect is measured in."""
        return scale.unit

    @abc.abstractmethod
    def sentence(self, scale: Scale, margin: float) -> str:
        """The criterion in words."""


@dataclasses.dataclass(frozen=True)
class Benefit(AbstractClaim):
    """`better` has a smaller loss than `worse`, by more than the margin."""

    worse: str
    better: str
    equal_parameters: bool = False

    @property
    def arms(self):
        return (self.worse, self.better)

    def effects(self, values, scale):
        return (scale.level(values[self.worse]) - scale.level(values[self.better]))[None]  # [1, R]

    def regions(self, margin):
        return Region(low=margin), Region(high=margin)

    def sentence(self, scale, margin):
        return f"{self.better} beats {self.worse} by more than {margin:g} ({scale.unit})"


@dataclasses.dataclass(frozen=True)
class NoBenefit(AbstractClaim):
    """`added` is as good as `plain`, within the margin either way: two one-sided tests."""

    plain: str
    added: str
    equal_parameters: bool = False

    @property
    def arms(self):
        return (self.plain, self.added)

    def effects(self, values, scale):
        return (scale.level(values[self.plain]) - scale.level(values[self.added]))[None]  # [1, R]

    def regions(self, margin):
        return Region(-margin, margin), Region(low=margin)

    def sentence(self, scale, margin):
        return f"{self.added} is within {margin:g} ({scale.unit}) of {self.plain}"


@dataclasses.dataclass(frozen=True)
class BelowThreshold(AbstractClaim):
    """The best of `candidates` has a loss below `threshold`: one's interval lies below it.

    Choosing the best after seeing the results is paid for: with k candidates each is tested at
    alpha/k.
    """

    candidates: tuple[str, ...]
    threshold: float

    def __post_init__(self):
        require(self.candidates, "no candidate arms", "at least one", "name the arms")
        require(
            0 < self.threshold < math.inf,
            f"threshold {self.threshold:g}",
            "a finite number > 0",
            "give the loss to stay below",
        )

    @property
    def arms(self):
        return self.candidates

    def effects(self, values, scale):
        # [k, R]
        return np.stack(
            [
                scale.level(np.float64(self.threshold)) - scale.level(values[arm])
                for arm in self.candidates
            ]
        )

    def regions(self, margin):
        return Region(low=0.0), Region(high=0.0)

    def unit(self, scale):
        return f"{scale.unit} to the threshold"

    def sentence(self, scale, margin):
        best = "the best of " if len(self.candidates) > 1 else ""
        return f"{best}{', '.join(self.candidates)} has a loss below {self.threshold:g}"


class AbstractAccuracy(AbstractClaim):
    """What the two accuracy claims share: one arm, one value in (0, 1]."""

    metric: ClassVar[str] = "accuracy"
    arm: str
    value: float

    def __post_init__(self):
        require(
            0 < self.value <= 1,
            f"accuracy {self.value:g}",
            "a number in (0, 1]",
            "give the fraction, not percent",
        )

    @property
    def arms(self):
        return (self.arm,)

    def regions(self, margin):
        return Region(low=0.0), Region(high=0.0)

    def unit(self, scale):
        return "accuracy"


@dataclasses.dataclass(frozen=True)
class AccuracyAtLeast(AbstractAccuracy):
    """Mean accuracy above `value`."""

    arm: str
    value: float

    def effects(self, values, scale):
        return (values[self.arm] - self.value)[None]  # [1, R]

    def sentence(self, scale, margin):
        return f"{self.arm} has an accuracy of at least {self.value:g}"


@dataclasses.dataclass(frozen=True)
class AccuracyBelow(AbstractAccuracy):
    """Mean accuracy below `value`."""

    arm: str
    value: float

    def effects(self, values, scale):
        return (self.value - values[self.arm])[None]  # [1, R]

    def sentence(self, scale, margin):
        return f"{self.arm} has an accuracy below {self.value:g}"


@dataclasses.dataclass(frozen=True)
class Part:
    """A claim with the short name that findings carry."""

    name: str
    claim: AbstractClaim


@dataclasses.dataclass(frozen=True)
class Reported:
    """A figure that the paper gives: 'lin, 64 heads: MSE' = 0.19, or < 1e-5 with relation '<'."""

    what: str
    value: float
    relation: str = "="

    def __str__(self):
        return f"{self.what} {self.relation} {self.value:g}"


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A pre-registered insight. `trivial` is the loss of the best constant predictor, which also is
    what a diverged run counts as.

    `outside` says why the theorem behind the claim does not cover the setting, where it does not:
    the verdict then is "outside the theorem's assumptions", whatever was measured.
    """

    id: str
    claim: str
    ref: Ref
    parts: tuple[Part, ...]
    scale: Scale
    trivial: float
    reported: tuple[Reported, ...] = ()
    margin: float = math.nan  # replaced by the scale's margin
    alpha: float = 0.05
    cells: tuple[str, ...] = ("default",)
    seeds: tuple[int, ...] = tuple(range(10))
    expected: str = ""
    deviations: tuple[str, ...] = ()
    outside: str = ""

    def __post_init__(self):
        if math.isnan(self.margin):
            object.__setattr__(self, "margin", self.scale.margin)
        where = f"hypothesis {self.id}"
        require(self.parts, f"{where} has no parts", "at least one", "add a Part with its claim")
        _distinct([part.name for part in self.parts], f"{where}: part names")
        require(
            self.cells,
            f"{where} has no cells",
            "at least one",
            "leave cells out for the one default cell",
        )
        _distinct(self.cells, f"{where}: cells")
        _distinct(self.seeds, f"{where}: seeds")
        require(
            len(self.seeds) >= FEWEST_SEEDS,
            f"{where}: {len(self.seeds)} seeds",
            f"at least {FEWEST_SEEDS}",
            "register more seeds",
        )
        require(
            0 < self.margin < math.inf,
            f"{where}: margin {self.margin}",
            "a finite number > 0",
            "0.30 for log10 ratios, 0.02 nats",
        )
        require(
            0 < self.alpha < 0.5,
            f"{where}: alpha {self.alpha:g}",
            "a number in (0, 0.5)",
            "pass 0.05",
        )
        require(
            0 < self.trivial < math.inf,
            f"{where}: trivial loss {self.trivial:g}",
            "a finite number > 0",
            "1 for normalised MSE",
        )

    @property
    def confidence(self) -> float:
        """1 - 2 alpha: the two-sided interval whose ends are one-sided tests at alpha."""
        return 1 - 2 * self.alpha

    @property
    def arms(self) -> tuple[str, ...]:
        """Every arm needed, once, in order."""
        return tuple(dict.fromkeys(arm for part in self.parts for arm in part.claim.arms))


def cross(**factors: Iterable[object]) -> tuple[str, ...]:
    """Cells of a factorial design.

    >>> cross(lr=[0.001, 0.003], p=["uniform", "log-spaced"])[:2]
    ('lr=0.001,p=uniform', 'lr=0.001,p=log-spaced')
    """
    points = itertools.product(*factors.values())
    return tuple(
        ",".join(f"{name}={level}" for name, level in zip(factors, point, strict=True))
        for point in points
    )


def _distinct(names: Iterable[object], what: str) -> None:
    names = list(names)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    require(
        not twice, f"{what}: {', '.join(twice)} given twice", "each once", "rename or remove one"
    )
