"""The interface of an experiment: arms that are trained, numbers that are computed, a hypothesis
fixed before both.

Words used throughout the lab:

    arm    one architecture on one task: the fields of a `RunSpec` without its seed
    cell   a setting in which all arms are shown (learning rate, initial rates): the same changes
           for every arm; claims are judged in the one cell of tuned settings
    floor  what an arm could reach in training: the smallest loss of weights that are known, as
           float32 holds them
    study  arms x cells x seeds, and the claims that they are to decide (none for a mere map)

A `Study` is data. One engine (`lab/run_studies.py`) runs any list of studies as one sweep and
judges them; what came of it is in `lab/study_outcome.py`.

Worked example: `experiments/paper/experiment_4a.py`.
"""

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any

from headcount.core.errors import require
from headcount.lab.judge.existence import Existence
from headcount.lab.judge.hypothesis import Hypothesis
from headcount.lab.numbers import Numbers

Values = Mapping[str, Any]


class Profile(enum.StrEnum):
    """How much is run."""

    SMOKE = "smoke"  # under a minute on 2 cores: does it all work; judges nothing
    LAPTOP = "laptop"  # under 10 minutes: what can be judged in that time
    FULL = "full"  # under 2 hours: everything registered

    @property
    def takes(self) -> str:
        """How long a reproduction takes on two free cores."""
        return {"smoke": "under a minute", "laptop": "under 10 minutes", "full": "under 2 hours"}[
            self
        ]


class Variant(enum.StrEnum):
    """Which reading of the paper."""

    AS_WRITTEN = "as written"
    AS_MEANT = "as meant"
    FURTHER = "further check"


class StudyRole(enum.StrEnum):
    """How a study is shown. Every one but the plain is a study of its own within its variant."""

    PLAIN = "plain"  # loss against `x`
    HEADLINE = "headline"  # loss against the learning rate, on the first screen
    READING_MAP = "reading map"  # a table: readings down; arms or learning rates across
    SIZE_TABLE = "size table"  # a table of arms with two coordinates (`Arm.at`)


@dataclasses.dataclass(frozen=True)
class Arm:
    """One architecture on one task. `run` are the fields of a RunSpec but for the seed; `x`
    places it in the figure, `at` in a table: {"H": 1, "m": 16} is row H = 1, column m = 16.
    """

    name: str
    run: Values
    numbers: Callable[[], Numbers] = Numbers
    series: str = ""
    x: float | None = None
    paper: float | None = None  # the figure that the paper reports for it
    at: Mapping[str, float] = dataclasses.field(default_factory=dict)

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
    cells: Mapping[str, Values] = dataclasses.field(default_factory=lambda: {"tuned": {}})
    hypotheses: tuple[Hypothesis, ...] = ()
    existences: tuple[Existence, ...] = ()
    metric: str = "eval_loss"  # of the record's `final`
    x_label: str = ""
    y_label: str = "loss"
    x_log: bool = True
    y_log: bool = True
    ratios: bool = True  # whether a quotient of two losses means something: not so for nats
    notes: tuple[str, ...] = ()
    shown: int | None = None  # seeds of arms that no claim is about; all without it
    # series → its own y label, where losses count different things
    panels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    role: StudyRole = StudyRole.PLAIN
    name: str = ""  # tells studies of one variant and role apart

    def __post_init__(self):
        names = [arm.name for arm in self.arms]
        require(
            len(set(names)) == len(names),
            f"study {self.id}: arms {names}",
            "different names",
            "rename one",
        )
        for hypothesis in self.hypotheses:
            missing = set(hypothesis.arms) - set(names)
            require(
                not missing,
                f"study {self.id} lacks arms {sorted(missing)}",
                f"every arm of {hypothesis.key}",
                "add them",
            )
        require(
            not self.hypotheses or len(self.cells) == 1,
            f"study {self.id} judges claims in {len(self.cells)} cells",
            "one: the settings of an arm are tuned before",
            "show other settings in a study without a hypothesis",
        )
        if self.role is StudyRole.SIZE_TABLE:
            places = {tuple(arm.at) for arm in self.arms}
            require(
                len(places) == 1 and all(len(place) == 2 for place in places),
                f"study {self.id}: a size table of arms at {sorted(places)}",
                "the same two coordinates in every arm",
                'pass at={"H": 1, "m": 16}',
            )

    def seeds_at_first(self, arm: Arm) -> int:
        """How many seeds an arm is run with before anything is judged: those of the first look,
        or `shown` where no claim is about it.
        """
        looks = [h.looks.seeds[0] for h in self.hypotheses if arm.name in h.arms]
        return min(len(self.seeds), max(looks, default=self.shown or len(self.seeds)))

    def loss_name(self, arm: Arm) -> str:
        """What the loss of an arm counts."""
        return self.panels.get(arm.series, self.y_label)

    @property
    def claims(self) -> tuple[Existence | Hypothesis, ...]:
        """Everything that it is to decide."""
        return (*self.existences, *self.hypotheses)

    @property
    def key(self) -> str:
        """A short unique name."""
        shown = "" if self.role is StudyRole.PLAIN else f"-{self.role}"
        named = f"-{self.name}" if self.name else ""
        return f"{self.id}-{self.variant}{shown}{named}".replace(" ", "-")
