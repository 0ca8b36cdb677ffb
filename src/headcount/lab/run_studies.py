"""Run studies as one sweep and judge them.

    studies -> runs (one sweep in one store; equal runs of different studies are trained once)
            -> records by arm -> numbers that need no training -> verdicts over the whole family
            -> why arms failed

Everything is a function of the specs and the store, so that the same command gives the same
verdicts, however often it was interrupted.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np

from headcount.core.errors import CheckFailed
from headcount.core.overrides import merged
from headcount.lab.diagnosis import diagnosed
from headcount.lab.judge.hypothesis import ArmResult, Hypothesis
from headcount.lab.judge.verdict import Verdict, decide, decide_family
from headcount.lab.study import Arm, Numbers, Study, Variant
from headcount.lab.study_outcome import SMALLEST, ArmOutcome, StudyOutcome, summarised
from headcount.lab.sweep.driver import Summary, Watcher, sweep
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.schema import FINISHED, Row
from headcount.lab.sweep.store import Store
from headcount.train.data import source_of
from headcount.train.run_record import versions
from headcount.train.run_spec import RunSpec
from headcount.train.weights import structure

INSIGHTS = 8  # Holm is over the paper's eight, also where fewer are run
Known = Mapping[str, Mapping[str, Numbers]]  # study and arm → what is known without training


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One training run and what it is for."""

    study: str
    arm: str
    cell: str
    seed: int
    spec: RunSpec


def planned(study: Study) -> list[PlannedRun]:
    """Every run of a study: arms x cells x seeds. A seed means the same data in every arm."""
    return [
        PlannedRun(study.key, arm.name, cell, seed, RunSpec.from_values({**fields, "seed": seed}))
        for arm in study.arms
        for cell, changes in study.cells.items()
        for fields in (merged(arm.run, changes),)
        for seed in study.seeds
    ]


@dataclasses.dataclass(frozen=True)
class StudiesRun:
    """What became of studies that were run together."""

    outcomes: tuple[StudyOutcome, ...]
    summary: Summary | None  # of the sweep; None where nothing is trained
    versions: dict[str, str]  # of the software that trained

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(o.verdict for o in self.outcomes if o.verdict is not None)


def run_studies(
    studies: Sequence[Study],
    store: Path,
    *,
    engine: AbstractEngine | None = None,
    watch: Watcher | None = None,
    numbers: Callable[[Sequence[Study]], Known] | None = None,
) -> StudiesRun:
    """Train what is missing, then judge. ^C is passed on when the sweep has ended in order; calling
    again goes on.

    `numbers` computes what is known of every arm without training, when the sweep is complete and
    the cores are free for it; without it they are computed here, one after another.
    """
    runs = [run for study in studies for run in planned(study)]
    unique = {run.spec.content_hash: run.spec for run in runs}
    rows: dict[str, Row] = {}
    summary = None
    if unique:  # `rates` trains nothing
        summary = sweep(list(unique.values()), store, engine=engine, watch=watch)
        if summary.interrupted:
            raise KeyboardInterrupt
        if summary.missing:
            raise CheckFailed(f"{summary.missing} runs are missing; run the same command again")
        with Store(store, read_only=True) as opened:
            rows = {row.id: row for row in opened.rows(set(unique))[0]}
    _require_finished(rows.values())
    results = {study.key: _results(study, runs, rows) for study in studies}
    known = (numbers or known_numbers)(studies)
    judged = [study for study in studies if study.hypothesis is not None]
    decided = _verdicts(judged, results, known)
    outcomes = tuple(
        _outcome(study, runs, rows, known[study.key], decided.get(study.key)) for study in studies
    )
    computed = next(iter(rows.values())).record["versions"] if rows else versions()
    return StudiesRun(outcomes, summary, computed)


def _require_finished(rows: Iterable[Row]) -> None:
    """A failed run (an error, not a divergence) is no result: nothing is judged on the rest."""
    failed = [row for row in rows if row.status != FINISHED]
    if failed:
        raise CheckFailed(
            f"{len(failed)} runs failed, the first with: {failed[0].error}; mend the cause and run"
            " the same command again"
        )


def _results(study: Study, runs: Sequence[PlannedRun], rows: dict[str, Row]) -> list[ArmResult]:
    """One record per run, without floors."""
    return [
        ArmResult(
            run.arm,
            run.cell,
            run.seed,
            loss_of(rows[run.spec.content_hash], study.metric),
            accuracy=accuracy_of(rows[run.spec.content_hash]),
        )
        for run in runs
        if run.study == study.key
    ]


def loss_of(row: Row, metric: str) -> float:
    """The final loss; inf where the run diverged."""
    value = row.record["final"].get(metric, math.inf)
    return math.inf if math.isnan(value) else max(value, SMALLEST)


def accuracy_of(row: Row) -> float | None:
    return row.record["final"].get("accuracy")


def known_numbers(studies: Sequence[Study]) -> Known:
    """Those of every arm of every study."""
    return {study.key: {arm.name: arm.numbers() for arm in study.arms} for study in studies}


def _verdicts(
    studies: Sequence[Study], results: dict[str, list[ArmResult]], known: Known
) -> dict[str, Verdict]:
    """Verdicts by study; floors and parameters go with the records. The eight insights, as
    meant, are one family; others stand alone.
    """
    hypotheses = [
        dataclasses.replace(study.hypothesis, id=study.key)
        for study in studies
        if study.hypothesis is not None
    ]
    told = {}
    for study in studies:
        sizes = {arm.name: parameters(arm) for arm in study.arms}
        needed = set(study.hypothesis.arms) if study.hypothesis else set()
        told[study.key] = [
            dataclasses.replace(r, floor=known[study.key][r.arm].floor, parameters=sizes[r.arm])
            for r in results[study.key]
            if r.arm in needed
        ]
    among = {study.key for study in studies if study.variant is Variant.AS_MEANT}
    eight = [h for h in hypotheses if h.id in among]
    decided = list(decide_family(eight, {h.id: told[h.id] for h in eight}, INSIGHTS))
    decided += [decide(h, told[h.id]) for h in hypotheses if h.id not in among]
    return {
        v.hypothesis.id: dataclasses.replace(v, hypothesis=_registered(studies, v.hypothesis.id))
        for v in decided
    }


def _registered(studies: Sequence[Study], key: str) -> Hypothesis:
    """The hypothesis under its own id: within a family two variants of one experiment need
    different ones.
    """
    return next(
        study.hypothesis for study in studies if study.key == key and study.hypothesis is not None
    )


def parameters(arm: Arm) -> int:
    """Trainable numbers of the arm's model, from its shapes alone."""
    spec = RunSpec.from_values({**arm.run, "seed": 0})
    shapes = structure(
        spec.model, source_of(spec.target(), spec.train.length, spec.train.precision)
    )
    return sum(
        math.prod(leaf.shape)
        for leaf in jax.tree.leaves(shapes)
        if np.issubdtype(leaf.dtype, np.inexact)
    )


def _outcome(
    study: Study,
    runs: Sequence[PlannedRun],
    rows: dict[str, Row],
    known: Mapping[str, Numbers],
    verdict: Verdict | None,
) -> StudyOutcome:
    arms = []
    for arm in study.arms:
        mine = [run for run in runs if run.study == study.key and run.arm == arm.name]
        learned = []
        for cell in study.cells:
            found = [rows[run.spec.content_hash] for run in mine if run.cell == cell]
            told = summarised(cell, [loss_of(row, study.metric) for row in found], study.ratios)
            accuracies = [
                a for row in found if (a := accuracy_of(row)) is not None and math.isfinite(a)
            ]
            mean = float(np.mean(accuracies)) if accuracies else None
            learned.append(dataclasses.replace(told, accuracy=mean))
        first = next(iter(study.cells))
        finals = tuple(
            rows[run.spec.content_hash].record["final"] for run in mine if run.cell == first
        )
        arms.append(ArmOutcome(arm, known[arm.name], tuple(learned), parameters(arm), finals))
    outcome = StudyOutcome(study, tuple(arms), verdict)
    return dataclasses.replace(outcome, diagnoses=diagnosed(outcome))
