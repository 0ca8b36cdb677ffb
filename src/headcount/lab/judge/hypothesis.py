"""Claims fixed before anything runs: what the paper says, as data that one engine can judge.

Every insight has up to three claims, told apart by `Kind`:

    exists    can weights do it? Decided by constructions, fits and bounds, without training.
    trained   does a trained model of the named size reach the threshold?
    contrast  the paper's comparison of two sizes or parts.

The last two are `Hypothesis`: parts, each a comparison of arms with the `Region` in which the
median effect over seeds must lie to support it, and the one in which it refutes it. With margin
delta:

    comparison        effect of seed r                     supported in     refuted in
    Benefit           level(worse) - level(better)         (delta, inf)     (-inf, delta)
    NoBenefit         level(plain) - level(added)          (-inf, delta)    (delta, inf)
    Equivalent        level(plain) - level(added)          (-delta, delta)  outside, one end
    BelowThreshold    level(threshold) - level(loss)       (0, inf)         (-inf, 0)
    AccuracyAtLeast   accuracy - value                     (0, inf)         (-inf, 0)
    AccuracyBelow     value - accuracy                     (0, inf)         (-inf, 0)

"Almost no benefit" is one-sided: an addition that makes things worse brings no benefit. That two
arms are alike both ways is `Equivalent`, a claim of its own.

A hypothesis holds if every part holds. `further` marks claims that the paper does not make: they
are judged alike, in a family of their own.

Worked example: experiment 4a, the paper's comparison.

    >>> h = Hypothesis(
    ...     insight="4a", kind=Kind.CONTRAST,
    ...     claim="On a heavy-tailed memory one log head learns better than 64 lin heads.",
    ...     parts=(Part("1 against 64", Benefit("lin-64", "log-1", Scale.LOG10_RATIO)),),
    ...     reported=(Reported("lin, 64 heads: MSE", 0.19),), trivial=7.48)
    >>> print(h.parts[0].claim.sentence())
    log-1 beats lin-64 by more than 0.3 (log10 ratio)
    >>> h.key, h.looks.seeds, h.alpha
    ('4a-contrast', (10, 20, 40), 0.05)
"""

import abc
import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping

import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.lab.judge.statistics import Looks, Region, Scale

EQUAL_PARAMETERS = 0.05  # arms "of equal parameters" may differ by this fraction
PAPER = Ref("wang-e-2024", "Section 6 and Appendix H")


class Kind(enum.StrEnum):
    """What sort of statement a claim is."""

    EXISTS = "exists"
    TRAINED = "trained"
    CONTRAST = "contrast"


@dataclasses.dataclass(frozen=True)
class ArmResult:
    """What one finished run hands in. `loss` is inf for a run that diverged; a run that did not
    happen has no record.

    `floor` is the best loss computed for this architecture (not trained), where one is known.
    """

    arm: str
    seed: int
    loss: float
    floor: float | None = None
    accuracy: float | None = None
    parameters: int | None = None

    def __post_init__(self):
        where = f"{self.arm}, seed {self.seed}"
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

    def value(self, scale: Scale) -> float:
        """What the scale reads: the loss, or the accuracy (0 if the run diverged)."""
        if scale is not Scale.ACCURACY:
            return self.loss
        if self.diverged:
            return 0.0
        require(
            self.accuracy is not None,
            f"{self.arm}, seed {self.seed}: no accuracy",
            "accuracy in every run",
            "evaluate it",
        )
        return float(self.accuracy or 0.0)


class AbstractComparison(abc.ABC):
    """One comparison to support or refute.

    `registered` is the effect that the design is to find: its power is computed there.
    """

    scale: Scale
    equal_parameters: bool = False

    @property
    @abc.abstractmethod
    def arms(self) -> tuple[str, ...]:
        """The arms whose runs it needs."""

    @abc.abstractmethod
    def effects(self, levels: Mapping[str, np.ndarray], trivial: float) -> np.ndarray:
        """[R] effects from the levels [R] of each arm."""

    @property
    @abc.abstractmethod
    def support(self) -> Region:
        """Where the median effect supports it."""

    @property
    @abc.abstractmethod
    def refute(self) -> tuple[Region, ...]:
        """Where the median effect refutes it: one of these regions."""

    @property
    @abc.abstractmethod
    def registered(self) -> float:
        """The effect at which the power is computed."""

    @abc.abstractmethod
    def sentence(self) -> str:
        """The criterion in words."""


class AbstractPair(AbstractComparison):
    """What comparisons of two arms share."""

    margin: float

    def effects(self, levels, trivial):
        first, second = self.arms
        with np.errstate(invalid="ignore"):  # both diverged: not defined, counts for nobody
            return levels[first] - levels[second]

    def _check(self) -> None:
        if math.isnan(self.margin):
            object.__setattr__(self, "margin", self.scale.margin)
        require(
            0 < self.margin < math.inf,
            f"margin {self.margin}",
            "a finite number > 0",
            "0.30 for log10 ratios, 0.01 of explained variance, 0.02 nats",
        )

    def by(self) -> str:
        return f"{self.margin:g} ({self.scale.unit})"


@dataclasses.dataclass(frozen=True)
class Benefit(AbstractPair):
    """`better` has a smaller loss than `worse`, by more than the margin."""

    worse: str
    better: str
    scale: Scale
    equal_parameters: bool = False
    margin: float = math.nan  # replaced by the scale's margin
    expected: float = math.nan  # the registered effect; twice the margin unless a pilot said more

    def __post_init__(self):
        self._check()
        if math.isnan(self.expected):
            object.__setattr__(self, "expected", 2 * self.margin)

    @property
    def arms(self):
        return (self.worse, self.better)

    @property
    def support(self):
        return Region(low=self.margin)

    @property
    def refute(self):
        return (Region(high=self.margin),)

    @property
    def registered(self):
        return self.expected

    def sentence(self):
        return f"{self.better} beats {self.worse} by more than {self.by()}"


@dataclasses.dataclass(frozen=True)
class NoBenefit(AbstractPair):
    """`added` has no smaller loss than `plain` by more than the margin: one-sided."""

    plain: str
    added: str
    scale: Scale
    equal_parameters: bool = False
    margin: float = math.nan

    def __post_init__(self):
        self._check()

    @property
    def arms(self):
        return (self.plain, self.added)

    @property
    def support(self):
        return Region(high=self.margin)

    @property
    def refute(self):
        return (Region(low=self.margin),)

    @property
    def registered(self):
        return 0.0

    def sentence(self):
        return f"{self.added} gains at most {self.by()} on {self.plain}"


@dataclasses.dataclass(frozen=True)
class Equivalent(NoBenefit):
    """`added` is within the margin of `plain` either way."""

    @property
    def support(self):
        return Region(-self.margin, self.margin)

    @property
    def refute(self):
        return (Region(low=self.margin), Region(high=-self.margin))

    def sentence(self):
        return f"{self.added} is within {self.by()} of {self.plain}"


class AbstractThreshold(AbstractComparison):
    """What claims on one arm share: it is held to a number, and 0 divides."""

    arm: str

    @property
    def arms(self):
        return (self.arm,)

    @property
    def support(self):
        return Region(low=0.0)

    @property
    def refute(self):
        return (Region(high=0.0),)


@dataclasses.dataclass(frozen=True)
class BelowThreshold(AbstractThreshold):
    """The arm has a loss below `threshold`."""

    arm: str
    threshold: float
    scale: Scale = Scale.LOG10_RATIO

    def __post_init__(self):
        require(
            0 < self.threshold < math.inf,
            f"threshold {self.threshold:g}",
            "a finite number > 0",
            "give the loss to stay below",
        )

    def effects(self, levels, trivial):
        return self.scale.level(np.float64(self.threshold), trivial) - levels[self.arm]

    @property
    def registered(self):
        return self.scale.margin

    def sentence(self):
        return f"{self.arm} has a loss below {self.threshold:g}"


@dataclasses.dataclass(frozen=True)
class AccuracyAtLeast(AbstractThreshold):
    """The arm has an accuracy above `value`."""

    arm: str
    value: float
    scale: Scale = Scale.ACCURACY

    def __post_init__(self):
        _accuracy(self.value)

    def effects(self, levels, trivial):
        return levels[self.arm] - self.value

    @property
    def registered(self):
        return (1 - self.value) / 2

    def sentence(self):
        return f"{self.arm} has an accuracy of at least {self.value:g}"


@dataclasses.dataclass(frozen=True)
class AccuracyBelow(AbstractThreshold):
    """The arm has an accuracy below `value`."""

    arm: str
    value: float
    scale: Scale = Scale.ACCURACY

    def __post_init__(self):
        _accuracy(self.value)

    def effects(self, levels, trivial):
        return self.value - levels[self.arm]

    @property
    def registered(self):
        return self.value / 4

    def sentence(self):
        return f"{self.arm} has an accuracy below {self.value:g}"


@dataclasses.dataclass(frozen=True)
class Part:
    """A comparison with the short name that findings carry."""

    name: str
    claim: AbstractComparison


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
    """A registered claim about training. `trivial` is the loss of the best constant predictor.

    `name` tells further claims of one insight and kind apart. `notes` say what differs from the
    paper, also where no theorem covers the setting: a note, not an outcome.
    """

    insight: str
    kind: Kind
    claim: str
    parts: tuple[Part, ...]
    trivial: float
    reported: tuple[Reported, ...] = ()
    further: bool = False
    name: str = ""
    alpha: float = 0.05
    looks: Looks = Looks()
    ref: Ref = PAPER
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        where = f"hypothesis {self.key}"
        require(
            self.kind is not Kind.EXISTS,
            f"{where} of kind exists",
            "trained or contrast",
            "what exists is an Existence: it needs no runs",
        )
        require(self.parts, f"{where} has no parts", "at least one", "add a Part with its claim")
        _distinct([part.name for part in self.parts], f"{where}: part names")
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
        require(
            not self.name or self.further,
            f"{where}: name {self.name!r}",
            "no name: an insight has one claim of a kind",
            "pass further=True, or leave the name out",
        )

    @property
    def key(self) -> str:
        """Unique among all claims."""
        return claim_key(self.insight, self.kind, self.name)

    @property
    def arms(self) -> tuple[str, ...]:
        """Every arm needed, once, in order."""
        return tuple(dict.fromkeys(arm for part in self.parts for arm in part.claim.arms))


def claim_key(insight: str, kind: Kind, name: str = "") -> str:
    """'4a-contrast', '4a-contrast-16 heads'."""
    return "-".join(filter(None, (insight, str(kind), name)))


def _accuracy(value: float) -> None:
    require(
        0 < value <= 1,
        f"accuracy {value:g}",
        "a number in (0, 1]",
        "give the fraction, not percent",
    )


def _distinct(names: Iterable[object], what: str) -> None:
    names = list(names)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    require(
        not twice, f"{what}: {', '.join(twice)} given twice", "each once", "rename or remove one"
    )
