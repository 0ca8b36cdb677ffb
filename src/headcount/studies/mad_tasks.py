"""MAD's six tasks and multi-query recall in our families: the smallest architecture that theory
predicts, then measured.

A prediction is a Transformer and one with a part less (a layer, or the dot product). It *holds* if
the predicted one reaches the task and the lesser one does not; it is *enough* if both do or nothing
less was tried, and *missed* if the predicted one does not, which may be its training. A task of
which ours is only a relative says so in `differs`.

    recall, noisy, fuzzy   the last token before each value, then a match: 2 layers with dot
                           products (constructions.md: recall)
    selective copying      content is counted, then found by its number: 2 layers with dot products
    compression            ours asks the tokens again in order, so that each lies a fixed lag back:
                           1 layer without dot products
    memorising             a table of the current token: no attention, 1 layer without dot products
"""

import dataclasses
import enum
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import unknown
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
PREDICTED, LESSER = "predicted", "lesser"


class Holds(enum.StrEnum):
    """What became of a prediction."""

    HOLDS = "holds"  # the predicted model reaches the task, the lesser one does not
    ENOUGH = "enough, not shown to be least"  # both do, or there is no lesser one
    MISSED = "missed"  # the predicted model does not


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The smallest architecture predicted for a task."""

    task: MemoryTask
    mad: str  # its name there; "" for none
    layers: int
    dot: bool
    less: str  # what the lesser model lacks
    differs: str = ""  # how ours is not theirs

    def model(self, arm: str) -> dict[str, Any]:
        layers, dot = self.layers, self.dot
        if arm == LESSER:
            layers, dot = (layers - 1, dot) if self.less == "a layer" else (layers, False)
        attention = {"attention": "dot" if dot else "dp-free", "ffn": "relu"}
        bias = {"kind": "table", "window": self.task.length} if layers else "none"
        if self.less == "the lag" and arm == LESSER:
            bias = {"kind": "table", "window": self.task.length // 2}
        return {"layers": max(1, layers), "heads": 2, "width": 48, "hidden": 96, "norm": "pre-ln",
                "readout": "linear", "bias": bias, **attention}  # fmt: skip


PREDICTIONS: tuple[Prediction, ...] = (
    Prediction(MemoryTask("multi-query recall", "recall:pairs=6,symbols=8", 24, 2), "", 2, True,
               "a layer"),
    Prediction(MemoryTask("in-context recall", "recall:pairs=4,symbols=8", 16, 2),
               "in-context-recall", 2, True, "the dot product"),
    Prediction(MemoryTask("noisy recall", "noisy-recall:pairs=4,symbols=6", 24, 2),
               "noisy-in-context-recall", 2, True, "a layer",
               "noise comes in blocks of two tokens, among the pairs shown only"),
    Prediction(MemoryTask("fuzzy recall", "fuzzy-recall:pairs=3,symbols=4", 24, 2),
               "fuzzy-in-context-recall", 2, True, "a layer",
               "keys have two tokens and values one; there both vary"),
    Prediction(MemoryTask("selective copying", "selective-copy:items=3,symbols=6", 16, 2),
               "selective-copying", 2, True, "a layer"),
    Prediction(MemoryTask("compression", "selective-copy:items=6,symbols=6", 12, 1),
               "compression", 1, False, "the lag",
               "tokens are asked again one by one; there one vector is decoded"),
    Prediction(MemoryTask("memorising", "n-gram:n=1,symbols=16", 12, 1), "memorization", 1, False,
               "", "the label stands at the key, not at a place-holder after it"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Measured:
    """One task: both models."""

    prediction: Prediction
    predicted: Learned
    lesser: Learned | None

    @property
    def outcome(self) -> Holds:
        task = self.prediction.task
        if not self.predicted.reached(task):
            return Holds.MISSED
        least = self.lesser is not None and not self.lesser.reached(task)
        return Holds.HOLDS if least else Holds.ENOUGH

    def to_json(self) -> dict[str, Any]:
        p = self.prediction
        return {
            "memory": p.task.name, "mad": p.mad, "target": p.task.text, "differs": p.differs,
            "minimum": {"layers": p.layers, "dot": p.dot}, "less": p.less,
            "learned": self.predicted.accuracy, "floor": None,
            "reached": self.predicted.reached(p.task),
            "lesser": self.lesser and self.lesser.accuracy, "seeds": len(self.predicted.losses),
            "seeds_reached": self.predicted.seeds_reached(p.task),
            "outcome": str(self.outcome),
        }  # fmt: skip


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
            lesser = row.lesser.accuracy if row.lesser is not None else None
            said.append(
                f"{told}: {row.outcome} ({share_right(row.predicted.accuracy or 0)} right"
                + (f"; without {p.less} {share_right(lesser)})." if lesser is not None else ").")
            )
        both = [(row.prediction.task, (("", row.predicted), ("with a part less", row.lesser)))
                for row in self.rows]  # fmt: skip
        said += told_split((f"{task.name} {how}".strip(), learned, task) for task, arms in both
                           for how, learned in arms if learned is not None)  # fmt: skip
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        return {"profile": str(self.profile), "rows": [row.to_json() for row in self.rows],
                "sentences": list(self.sentences())}  # fmt: skip


@checked
def mad(
    tasks: Sequence[str] | None = None, *, profile: str = "laptop", folder: str | Path = "mad",
    engine: AbstractEngine | None = None, say: Say = silent,
) -> Predictions:  # fmt: skip
    """Train the predicted and the lesser model of every task asked for (none: all)."""
    wanted, place = chosen(tasks, profile), Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    runs = {
        (p.task.name, arm): functools.partial(_runs, p, arm, Profile(profile))
        for p in wanted
        for arm in _arms(p)
    }
    by_name = {p.task.name: p.task for p in wanted}
    looks = LOOKS[Profile(profile)]
    with kept(engine) as held:
        found = by_looks(runs, by_name, looks, place / "runs.sqlite", held, say)
    rows = [Measured(p, found[p.task.name, PREDICTED], found.get((p.task.name, LESSER)))
            for p in wanted]  # fmt: skip
    return Predictions(Profile(profile), tuple(rows))


def planned(tasks: Sequence[str] | None, profile: str) -> list[RunSpec]:
    """The runs of the first look: what a dry run counts."""
    wanted, first = chosen(tasks, profile), LOOKS[Profile(profile)][0]
    return [s for p in wanted for arm in _arms(p) for s in _runs(p, arm, Profile(profile), first)]


def chosen(tasks: Sequence[str] | None, profile: str) -> list[Prediction]:
    if profile not in list(Profile):
        raise unknown("profile", profile, list(Profile))
    known = {p.task.name: p for p in PREDICTIONS}
    for name in tasks or ():
        if name not in known:
            raise unknown("task", name, list(known))
    return [p for p in PREDICTIONS if not tasks or p.task.name in tasks]


def _arms(prediction: Prediction) -> tuple[str, ...]:
    return (PREDICTED, LESSER) if prediction.less else (PREDICTED,)


def _runs(prediction: Prediction, arm: str, profile: Profile, seeds: int) -> list[RunSpec]:
    train = recipe(prediction.task, STEPS[profile], LR, COMPILER[profile], BATCH)
    return [spec_of(prediction.task, prediction.model(arm), train, FIRST_SEED + i)
            for i in range(seeds)]  # fmt: skip
