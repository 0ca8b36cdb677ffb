"""Training one model on one memory with several seeds: what rivals and the zoo share."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.errors import CheckFailed
from headcount.lab.judge.statistics import Interval, median_interval
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, progress_teller
from headcount.lab.sweep.schema import FINISHED
from headcount.lab.sweep.store import Store
from headcount.studies.collection import MemoryTask
from headcount.train.run_spec import RunSpec


@dataclasses.dataclass(frozen=True)
class Learned:
    """What several seeds of one model reached on one memory."""

    losses: tuple[float, ...]  # the share of the variance left, or nats; inf where it diverged
    accuracies: tuple[float, ...] = ()

    @property
    def loss(self) -> float:
        return float(np.median(self.losses))

    @property
    def interval(self) -> Interval:
        return median_interval(np.array(self.losses))

    @property
    def accuracy(self) -> float | None:
        return float(np.median(self.accuracies)) if self.accuracies else None

    def reached(self, task: MemoryTask) -> bool:
        """By the median seed."""
        return task.reached(self.loss, self.accuracy)

    def seeds_reached(self, task: MemoryTask) -> int:
        rights = self.accuracies or (None,) * len(self.losses)
        return sum(task.reached(*pair) for pair in zip(self.losses, rights, strict=True))

    def settled(self, task: MemoryTask) -> bool:
        """Do all seeds say the same?"""
        return self.seeds_reached(task) in (0, len(self.losses))

    def split(self, task: MemoryTask) -> str:
        """'6 of 10' seeds reach it, where they do not agree."""
        if self.settled(task):
            return ""
        return f"{self.seeds_reached(task)} of {len(self.losses)}"


def told_split(rows: Iterable[tuple[str, Learned, MemoryTask]]) -> list[str]:
    """A sentence on whatever some seeds reach and others do not; none where all agree."""
    told = [f"{name} ({each.split(task)})" for name, each, task in rows if each.split(task)]
    return [f"Seeds do not agree, so many reach it: {', '.join(told)}."] if told else []


def recipe(task: MemoryTask, steps: int, lr: float, effort: str, batch: int = 64) -> dict[str, Any]:
    return {
        "steps": steps, "lr": lr, "length": task.length, "batch": batch,
        "schedule": {"shape": "cosine", "warmup": max(1, steps // 20), "final": 0.02},
        "optimiser": {"b2": 0.98, "clip": 1.0}, "evaluation": {"batches": 16}, "log": 4,
        "effort": effort,
    }  # fmt: skip


def spec_of(
    task: MemoryTask, model: Mapping[str, Any], train: Mapping[str, Any], seed: int
) -> RunSpec:
    return RunSpec.from_values(
        {"memory": task.text, "model": dict(model), "train": dict(train), "seed": seed}
    )


def trained(
    specs: Sequence[RunSpec], store: Path, engine: AbstractEngine | None, say: Say
) -> dict[str, dict[str, float]]:
    """The final figures of every run, by content hash; what is stored already is not run again."""
    unique = {spec.content_hash: spec for spec in specs}
    watch = progress_teller(say)
    summary = sweep(list(unique.values()), store, engine=engine, watch=watch)
    if summary.interrupted:
        raise KeyboardInterrupt
    with Store(store, read_only=True) as opened:
        rows = {row.id: row for row in opened.rows(set(unique))[0]}
    failed = [row for row in rows.values() if row.status != FINISHED]
    if failed or summary.missing:
        raise CheckFailed(f"{len(failed)} runs failed, {summary.missing} are missing; run again")
    return {id: row.record["final"] for id, row in rows.items()}


def by_looks(
    runs: Mapping[tuple[str, str], Callable[[int], list[RunSpec]]],
    tasks: Mapping[str, MemoryTask], looks: Sequence[int], store: Path,
    engine: AbstractEngine | None, say: Say,
) -> dict[tuple[str, str], Learned]:  # fmt: skip
    """What every (memory, model) reached with the first number of seeds, and with the next one
    where the seeds do not agree whether the memory is reached.
    """
    found: dict[tuple[str, str], Learned] = {}
    open_ = list(runs)
    for seeds in looks:
        specs = {key: runs[key](seeds) for key in open_}
        finals = trained([s for each in specs.values() for s in each], store, engine, say)
        found |= {key: learned(each, finals) for key, each in specs.items()}
        open_ = [key for key in open_ if not found[key].settled(tasks[key[0]])]
        if not open_:
            break
    return {key: found[key] for key in runs}


def learned(specs: Sequence[RunSpec], finals: Mapping[str, Mapping[str, float]]) -> Learned:
    """The seeds of one model on one memory."""
    found = [finals[spec.content_hash] for spec in specs]
    losses = tuple(f.get("relative_loss", f.get("eval_loss", math.inf)) for f in found)
    right = tuple(f["accuracy"] for f in found if "accuracy" in f)
    diverged_labels = bool(right) and len(right) < len(found)
    return Learned(losses, (*right, *(0.0 for f in found if not f)) if diverged_labels else right)
