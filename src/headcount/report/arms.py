"""The four numbers of an arm, all in the arm's metric.

    promised       the theorem's bound with explicit constants, or why there is none
    possible       the best constructed weights, beside a certified lower bound for every weight of
      that class and size
    representable  the best weights found that survive rounding to float32 and bfloat16
    learned        what training found: mean and interval over seeds

Beside the learned number, where there is one: the accuracy, and the same loss at the length of
training.

For a metric of which smaller is better, lower bound <= possible must hold, and no learned value can
lie below the lower bound. The first is checked when the record is made. The second compares a
certificate with a measurement, so it is not refused but shown in the report (`Arm.doubts`): one of
the two is then wrong, or they are not about the same quantity. A sampled loss is compared by the
upper end of its interval; an exact population loss has no noise, so that one seed below the bound
contradicts it. Such a loss far below the best weights known shows that better ones exist.
"""

import dataclasses

from headcount.core.errors import require
from headcount.report.figure_data import finite

# a lower bound may exceed the value that it bounds by this relative amount: both are printed
# doubles
ROUNDING = 1e-9
# curves as a format draws them are not quite those that a bound is about
FORMATS = {"float32": 1e-6, "bfloat16": 1e-2}
FAR_BELOW = 0.5  # an exact loss below this part of the floor is no rounding of it


@dataclasses.dataclass(frozen=True)
class Metric:
    """The unit of an arm's four numbers. `ratios`: whether a quotient of two values means
    something (not so for nats).
    """

    name: str
    lower_is_better: bool = True
    ratios: bool = True

    @property
    def exact(self) -> bool:
        """A loss in closed form, not an average over sampled sequences."""
        return "population" in self.name


MSE = Metric("MSE")
NORMALISED_MSE = Metric("MSE / variance of the target")
SUP_ERROR = Metric("largest output error")
NATS = Metric("nats per token", ratios=False)
ACCURACY = Metric("accuracy", lower_is_better=False, ratios=False)


@dataclasses.dataclass(frozen=True)
class Promised:
    """The theorem's bound; `text` names the theorem, and says 'vacuous here' or 'does not apply
    because …' where so.
    """

    value: float | None = None
    text: str = ""


@dataclasses.dataclass(frozen=True)
class Possible:
    """What constructed weights reach, and the value below which no weights of the class can go.
    `certificate` says why.

    `constant`: the value is that of the constant answer, no better weights are known. `bound_for`:
    the class of weights to which the bound applies, where it is smaller than the arm's.
    """

    value: float | None = None
    lower_bound: float | None = None
    certificate: str = ""
    constant: bool = False
    bound_for: str = ""


@dataclasses.dataclass(frozen=True)
class Representable:
    """The best loss of constructed weights after rounding: not necessarily those that are best
    before.
    """

    float32: float | None = None
    bfloat16: float | None = None


@dataclasses.dataclass(frozen=True)
class Learned:
    """Mean and interval over the seeds that finished; `seeds` counts all, `diverged` those that did
    not finish.

    `accuracy` is the mean share of right answers; `trained` the mean loss at the length of
    training, where the loss shown is at another; `best` the smallest loss of a seed.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    diverged: int = 0
    accuracy: float | None = None
    trained: float | None = None
    best: float | None = None

    def __post_init__(self):
        count = f"{self.diverged} of {self.seeds} seeds diverged"
        require(0 <= self.diverged <= self.seeds, count, "no more than all", "count again")
        some = self.seeds > self.diverged
        require(
            some == (self.mean is not None),
            f"{count}, mean {self.mean}",
            "a mean if and only if a seed finished",
            "count again",
        )
        ends = [value for value in (self.low, self.mean, self.high) if value is not None]
        require(
            ends == sorted(ends),
            f"learned {self.mean} in [{self.low}, {self.high}]",
            "low <= mean <= high",
            "swap the ends",
        )

    @property
    def highest(self) -> float | None:
        """The upper end of the interval."""
        return self.mean if self.high is None else self.high

    @property
    def lowest(self) -> float | None:
        """What the best seed reached; the mean where that was not told."""
        return self.mean if self.best is None else self.best


@dataclasses.dataclass(frozen=True)
class Arm:
    """One architecture on one memory. `variant` tells 'as written' from 'as meant' where an
    experiment has both.

    `cell` is the setting of learning rate and initialisation: only the learned number differs
    between the cells of an arm.
    """

    experiment: str
    name: str
    metric: Metric = MSE
    variant: str = ""
    promised: Promised = Promised()
    possible: Possible = Possible()
    representable: Representable = Representable()
    learned: Learned = Learned()
    parameters: int | None = None
    cell: str = ""

    def __post_init__(self):
        where = f"{self.experiment}, {self.name}"
        for name, value in self.numbers().items():
            finite(value, f"{where}: {name}")
        bound, value = self.possible.lower_bound, self.possible.value
        if self.metric.lower_is_better and bound is not None and value is not None:
            good = bound <= value * (1 + ROUNDING)
            require(
                good,
                f"{where}: lower bound {bound:g} above the possible value {value:g}",
                "a bound below it",
                "check both",
            )

    def numbers(self) -> dict[str, float | int | None]:
        """Every number by its name, in the order in which tables show them."""
        return {
            "promised": self.promised.value,
            "possible": self.possible.value,
            "lower_bound": self.possible.lower_bound,
            "float32": self.representable.float32,
            "bfloat16": self.representable.bfloat16,
            "learned": self.learned.mean,
            "learned_low": self.learned.low,
            "learned_high": self.learned.high,
            "accuracy": self.learned.accuracy,
            "learned_at_trained_length": self.learned.trained,
            "seeds": self.learned.seeds,
            "diverged": self.learned.diverged,
            "parameters": self.parameters,
        }

    def doubts(self) -> tuple[str, ...]:
        """Contradictions between what was computed and what was measured."""
        return (
            (*self._below_the_bound(), *self._below_the_floor())
            if self.metric.lower_is_better
            else ()
        )

    @property
    def where(self) -> str:
        return f"{self.name} ({self.cell})" if self.cell else self.name

    @property
    def floor(self) -> float | None:
        """The best weights known, as float32 holds them where that was computed; None where only
        the constant answer is known.
        """
        known = self.possible.value
        return (
            None
            if self.possible.constant or known is None
            else max(known, self.representable.float32 or 0.0)
        )

    def _below_the_bound(self) -> tuple[str, ...]:
        bound = self.possible.lower_bound
        if bound is None:
            return ()
        reached = self.learned.lowest if self.metric.exact else self.learned.highest
        values = {
            "learned": reached,
            "float32": self.representable.float32,
            "bfloat16": self.representable.bfloat16,
        }
        only = f", which holds for {self.possible.bound_for}" if self.possible.bound_for else ""
        return tuple(
            f"{self.where}: {name} {value:.3g} lies below the lower bound {bound:.3g}{only}"
            for name, value in values.items()
            if value is not None and value < bound * (1 - FORMATS.get(name, ROUNDING))
        )

    def _below_the_floor(self) -> tuple[str, ...]:
        mean, floor = self.learned.mean, self.floor
        if not self.metric.exact or mean is None or floor is None or mean >= FAR_BELOW * floor:
            return ()
        return (
            (
                f"{self.where}: learned {mean:.3g} lies below half of the best that was known,"
                f" {floor:.3g}: better weights exist"
            ),
        )
