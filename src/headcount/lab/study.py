"""The interface of an experiment: arms that are trained, numbers that are computed, a hypothesis
fixed before both.

Words used throughout the lab:

    arm    one architecture on one task: the fields of a `RunSpec` without its seed
    cell   a setting that a claim is silent about (learning rate, initial rates): the same changes
           for every arm
    floor  what an arm could reach in training: the smallest loss of weights that are known, as
           float32 holds them
    study  arms x cells x seeds, the hypothesis they are to decide (or none, for a further check)

A `Study` is data. One engine (`lab/run_studies.py`) runs any list of studies as one sweep and
judges them; what came of it is in `lab/study_outcome.py`.

Worked example: `experiments/paper/experiment_4a.py`.
"""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from typing import Any

from headcount.core.claims import Status
from headcount.core.errors import require
from headcount.lab.judge.hypothesis import Hypothesis

Values = Mapping[str, Any]
ROUNDING = 1e-9  # a bound may exceed the value that it bounds by this: both are rounded doubles


class Profile(enum.StrEnum):
    """How much is run."""

    SMOKE = "smoke"  # under 2 minutes on 2 cores: does it all work; verdicts mostly inconclusive
    LAPTOP = "laptop"  # under 15 minutes
    FULL = "full"  # under 2 hours: seeds, cells and steps as registered


class Variant(enum.StrEnum):
    """Which reading of the paper."""

    AS_WRITTEN = "as written"
    AS_MEANT = "as meant"
    FURTHER = "further check"


@dataclasses.dataclass(frozen=True)
class Numbers:
    """What is known of an arm without training it, in the units of its loss. None: not known,
    and `note` says why.
    """

    promised: float | None = None
    promised_text: str = ""
    possible: float | None = None  # best weights constructed or fitted
    lower: float | None = None  # no weights of this class can be better
    lower_for: str = ""  # the class, where it is smaller than that of the arm
    certificate: str = ""
    float32: float | None = None
    bfloat16: float | None = None
    note: str = ""
    # possible is the constant answer: it says nothing about the architecture
    constant: bool = False
    status: Status = Status.FOUND  # of `possible`: by a search, or measured on sequences

    def __post_init__(self):
        low, high = self.lower, self.possible
        require(
            low is None or high is None or low <= high * (1 + ROUNDING),
            f"lower bound {self.lower} above the possible value {self.possible}",
            "a bound below it",
            "check both",
        )

    @property
    def explanation(self) -> str:
        """The certificate and the note."""
        return "; ".join(filter(None, (self.certificate, self.note)))

    @property
    def floor(self) -> float | None:
        """What the arm could reach in training: the best weights known, as float32 holds them where
        that was computed.

        Training is in float32, so that a loss of 1e-31 (float64) is out of its reach: a loss of
        1e-13 beside it is no failure to learn. None where only the constant answer is known: any
        architecture reaches that, and better weights may exist.
        """
        if self.constant or self.possible is None:
            return None
        rounded = self.float32 if self.float32 is not None and math.isfinite(self.float32) else 0.0
        return max(self.possible, rounded)


@dataclasses.dataclass(frozen=True)
class Arm:
    """One architecture on one task. `run` are the fields of a RunSpec but for the seed; `x`
    places it in the figure.
    """

    name: str
    run: Values
    numbers: Callable[[], Numbers] = Numbers
    series: str = ""
    x: float | None = None
    paper: float | None = None  # the figure that the paper reports for it

    @property
    def exact(self) -> bool:
        """Is its loss an expectation in closed form, not an average over sampled sequences?"""
        return self.run.get("train", {}).get("loss") == "population"

    @property
    def trained_length(self) -> int | None:
        """The length of training where the loss is measured at another one, so that learning and
        extrapolation can be told apart.
        """
        train = self.run.get("train", {})
        tested = train.get("evaluation", {}).get("length")
        return train["length"] if tested and tested != train.get("length", tested) else None


@dataclasses.dataclass(frozen=True)
class Study:
    """An experiment in one variant at one profile."""

    id: str
    variant: Variant
    title: str
    question: str
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    cells: Mapping[str, Values] = dataclasses.field(default_factory=lambda: {"default": {}})
    hypothesis: Hypothesis | None = None
    metric: str = "eval_loss"  # of the record's `final`
    x_label: str = ""
    y_label: str = "loss"
    x_log: bool = True
    y_log: bool = True
    ratios: bool = True  # whether a quotient of two losses means something: not so for nats
    notes: tuple[str, ...] = ()
    # series → its own y label, where losses count different things
    panels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        names = [arm.name for arm in self.arms]
        require(
            len(set(names)) == len(names),
            f"study {self.id}: arms {names}",
            "different names",
            "rename one",
        )
        if self.hypothesis is not None:
            missing = set(self.hypothesis.arms) - set(names)
            require(
                not missing,
                f"study {self.id} lacks arms {sorted(missing)}",
                "every arm of its hypothesis",
                "add them",
            )
            require(
                tuple(self.cells) == self.hypothesis.cells,
                f"study {self.id}: cells differ from the hypothesis",
                "the same",
                "share them",
            )
            require(
                self.seeds == self.hypothesis.seeds,
                f"study {self.id}: seeds differ from the hypothesis",
                "the same",
                "share them",
            )

    def loss_name(self, arm: Arm) -> str:
        """What the loss of an arm counts."""
        return self.panels.get(arm.series, self.y_label)

    @property
    def key(self) -> str:
        """A short unique name."""
        return f"{self.id}-{self.variant.replace(' ', '-')}"
