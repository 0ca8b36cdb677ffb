"""MAD's six tasks and multi-query recall in our families: the smallest architecture that theory
predicts, then measured.

A prediction says how many layers, whether dot products, and, where it says so, how far back a head
sees. Heads, width and networks are the same everywhere and no part of it. Beside the predicted
model every model with *one* of these less is tried: a layer, the dot products, the farthest lag. A
prediction *holds* if the predicted model reaches the task and none of the lesser ones does; it is
*enough* if a lesser one does too, or if nothing lesser exists; it is *missed* if the predicted
model does not reach the task, which may be its training. A task of which ours is only a relative
says so in `differs`.

    recall, noisy, fuzzy   the last token before each value, then a match: 2 layers with dot
                           products (constructions.md: recall)
    selective copying      the content before each token is counted; a network writes the symbol
                           into the slot of its number; the slots of all tokens are added, and the
                           one asked for is read: 2 layers without dot products. It takes a number
                           per item and symbol: 18 here, in a stream of 48. Dot products, which
                           find a token by its number (constructions.md: selective-copy), save
                           these slots. An argument for counts; softmax heads know shares of the
                           tokens instead, so under softmax it is measured, not proved
    compression            ours asks the tokens again in order, so that each lies a fixed lag back:
                           1 layer without dot products that sees that lag
    memorising             a table of the current token: 1 layer that sees its own token alone
"""

import dataclasses
import enum
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import unknown
from headcount.core.files import ready_folder
from headcount.core.plural import counted
from headcount.lab.study import Profile
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, silent
from headcount.studies.collection import MemoryTask, share_right
from headcount.studies.kept_workers import kept
from headcount.studies.trials import Learned, by_looks, recipe, spec_of, told_split
from headcount.train.run_spec import RunSpec

FIRST_SEED, LR, BATCH = 6500, 3e-3, 32
STEPS = {Profile.SMOKE: 60, Profile.LAPTOP: 2500, Profile.FULL: 10_000}
LOOKS = {Profile.SMOKE: (5,), Profile.LAPTOP: (5, 10), Profile.FULL: (10, 20)}
COMPILER = {Profile.SMOKE: "low", Profile.LAPTOP: "medium", Profile.FULL: "high"}
PREDICTED = "predicted"  # the arm that nothing is taken from


class Holds(enum.StrEnum):
    """What became of a prediction."""

    HOLDS = "holds"  # the predicted model reaches the task, no lesser one does
    NOT_LEAST = "enough, and so is a lesser model"
    UNTRIED = "enough, nothing lesser to try"
    MISSED = "missed"  # the predicted model does not


class Part(enum.StrEnum):
    """What one model can lack that another has."""

    LAYER = "a layer"
    DOT = "dot products"
    LAG = "the farthest lag"


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The smallest architecture predicted for a task."""

    task: MemoryTask
    mad: str  # its name there; "" for none
    layers: int
    dot: bool
    farthest: int | None = None  # the lag that must be seen; None: nothing is said of lags
    differs: str = ""  # how ours is not theirs

    @property
    def removals(self) -> tuple[Part, ...]:
        """What can be taken from it, one at a time."""
        has = {Part.LAYER: self.layers > 1, Part.DOT: self.dot, Part.LAG: bool(self.farthest)}
        return tuple(part for part, there in has.items() if there)

    @property
    def arms(self) -> tuple[str, ...]:
        return (PREDICTED, *self.removals)

    def model(self, arm: str) -> dict[str, Any]:
        dot = self.dot and arm != Part.DOT
        window = self.task.length if self.farthest is None else self.farthest + 1
        return {
            "layers": self.layers - (arm == Part.LAYER), "heads": 2, "width": 48, "hidden": 96,
            "norm": "pre-ln", "readout": "linear", "attention": "dot" if dot else "dp-free",
            "ffn": "relu", "bias": {"kind": "table", "window": window - (arm == Part.LAG)},
        }  # fmt: skip


PREDICTIONS: tuple[Prediction, ...] = (
    Prediction(MemoryTask("multi-query recall", "recall:pairs=6,symbols=8", 24, 2), "", 2, True),
    Prediction(MemoryTask("in-context recall", "recall:pairs=4,symbols=8", 16, 2),
               "in-context-recall", 2, True),
    Prediction(MemoryTask("noisy recall", "noisy-recall:pairs=4,symbols=6", 24, 2),
               "noisy-in-context-recall", 2, True,
               differs="noise comes in blocks of two tokens, among the pairs shown only"),
    Prediction(MemoryTask("fuzzy recall", "fuzzy-recall:pairs=3,symbols=4", 24, 2),
               "fuzzy-in-context-recall", 2, True,
               differs="keys have two tokens and values one; there both vary"),
    Prediction(MemoryTask("selective copying", "selective-copy:items=3,symbols=6", 16, 2),
               "selective-copying", 2, False),
    Prediction(MemoryTask("compression", "selective-copy:items=6,symbols=6", 12, 1),
               "compression", 1, False, 6,
               "tokens are asked again one by one; there one vector is decoded"),
    Prediction(MemoryTask("memorising", "n-gram:n=1,symbols=16", 12, 1), "memorization", 1, False,
               0, "the label stands at the key, not at a place-holder after it"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Removal:
    """What a model reached that lacks one part of the predicted one."""

    part: Part
    learned: Learned


@dataclasses.dataclass(frozen=True)
class Measured:
    """One task: the predicted model and every lesser one."""

    prediction: Prediction
    predicted: Learned
    removals: tuple[Removal, ...] = ()

    @property
    def outcome(self) -> Holds:
        task = self.prediction.task
        if not self.predicted.reached(task):
            return Holds.MISSED
        if not self.removals:
            return Holds.UNTRIED
        lesser = any(removal.learned.reached(task) for removal in self.removals)
        return Holds.NOT_LEAST if lesser else Holds.HOLDS

    @property
    def arms(self) -> tuple[tuple[str, Learned], ...]:
        """What each model is called, and what it reached."""
        lesser = tuple((f"without {each.part}", each.learned) for each in self.removals)
        return ((PREDICTED, self.predicted), *lesser)

    def to_json(self) -> dict[str, Any]:
        p = self.prediction
        return {
            "memory": p.task.name, "mad": p.mad, "target": p.task.text, "differs": p.differs,
            "minimum": {"layers": p.layers, "dot": p.dot, "farthest": p.farthest},
            "floor": None, **_reached(self.predicted, p.task),
            "removals": [{"part": str(each.part), **_reached(each.learned, p.task)}
                         for each in self.removals],
            "outcome": str(self.outcome),
        }  # fmt: skip


def _reached(learned: Learned, task: MemoryTask) -> dict[str, Any]:
    return {"learned": learned.accuracy, "reached": learned.reached(task),
            "seeds": len(learned.losses), "seeds_reached": learned.seeds_reached(task)}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Predictions:
    """Every task."""

    profile: Profile
    rows: tuple[Measured, ...]

    def sentences(self) -> tuple[str, ...]:
        held = sum(row.outcome is Holds.HOLDS for row in self.rows)
        said = [f"The predicted smallest architecture holds in {held} of {len(self.rows)} tasks."]
        for row in self.rows:
            p = row.prediction
            kind = "with" if p.dot else "without"
            told = f"{p.task.name}: {counted(p.layers, 'layer')} {kind} dot products"
            right = "; ".join(
                f"{share_right(learned.accuracy or 0)} right" if name == PREDICTED
                else f"{name} {share_right(learned.accuracy or 0)}"
                for name, learned in row.arms
            )  # fmt: skip
            said.append(f"{told}: {row.outcome} ({right}).")
        said += told_split(
            (p.task.name if name == PREDICTED else f"{p.task.name} {name}", learned, p.task)
            for p, arms in ((row.prediction, row.arms) for row in self.rows)
            for name, learned in arms
        )
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        return {"profile": str(self.profile), "rows": [row.to_json() for row in self.rows],
                "sentences": list(self.sentences())}  # fmt: skip


@checked
def mad(
    tasks: Sequence[str] | None = None, *, profile: str = "laptop", folder: str | Path = "mad",
    engine: AbstractEngine | None = None, say: Say = silent,
) -> Predictions:  # fmt: skip
    """Train the predicted and every lesser model of every task asked for (none: all)."""
    wanted = chosen(tasks, profile)
    place = ready_folder(folder)
    runs = {
        (p.task.name, arm): functools.partial(_runs, p, arm, Profile(profile))
        for p in wanted
        for arm in p.arms
    }
    by_name = {p.task.name: p.task for p in wanted}
    looks = LOOKS[Profile(profile)]
    with kept(engine) as held:
        found = by_looks(runs, by_name, looks, place / "runs.sqlite", held, say)
    rows = [
        Measured(p, found[p.task.name, PREDICTED],
                 tuple(Removal(part, found[p.task.name, part]) for part in p.removals))
        for p in wanted
    ]  # fmt: skip
    return Predictions(Profile(profile), tuple(rows))


def planned(tasks: Sequence[str] | None, profile: str) -> list[RunSpec]:
    """The runs of the first look: what a dry run counts."""
    wanted, first = chosen(tasks, profile), LOOKS[Profile(profile)][0]
    return [s for p in wanted for arm in p.arms for s in _runs(p, arm, Profile(profile), first)]


def chosen(tasks: Sequence[str] | None, profile: str) -> list[Prediction]:
    if profile not in list(Profile):
        raise unknown("profile", profile, list(Profile))
    known = {p.task.name: p for p in PREDICTIONS}
    for name in tasks or ():
        if name not in known:
            raise unknown("task", name, list(known))
    return [p for p in PREDICTIONS if not tasks or p.task.name in tasks]


def _runs(prediction: Prediction, arm: str, profile: Profile, seeds: int) -> list[RunSpec]:
    train = recipe(prediction.task, STEPS[profile], LR, COMPILER[profile], BATCH)
    return [spec_of(prediction.task, prediction.model(arm), train, FIRST_SEED + i)
            for i in range(seeds)]  # fmt: skip
