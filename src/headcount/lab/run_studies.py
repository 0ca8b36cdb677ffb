"""Run studies as one sweep and judge them.

    studies -> runs of the first look (one sweep in one store; equal runs of different studies are
               trained once)
            -> records by arm -> numbers that need no training -> verdicts over the whole family
            -> more seeds for what is undecided, and again
            -> why arms failed

Everything is a function of the specs and the store, so that the same command gives the same
verdicts, however often it was interrupted.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np

from headcount.core.errors import CheckFailed
from headcount.core.overrides import merged
from headcount.core.spec import canonical_json
from headcount.lab.diagnosis import diagnosed
from headcount.lab.judge.hypothesis import ArmResult, Hypothesis
from headcount.lab.judge.verdict import Outcome, Verdict, judge
from headcount.lab.latest_verdicts import keep_verdicts
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Study
from headcount.lab.study_outcome import (
    SMALLEST,
    ArmOutcome,
    StudyOutcome,
    learning_curve,
    summarised,
)
from headcount.lab.sweep.driver import Summary, Watcher, sweep
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Progress
from headcount.lab.sweep.schema import FINISHED, Row, loads
from headcount.lab.sweep.store import Store
from headcount.train.data import source_of
from headcount.train.run_record import versions
from headcount.train.run_spec import RunSpec
from headcount.train.weights import structure

FAMILY = 16  # the paper's claims about training: eight insights, trained and contrast
Known = Mapping[str, Mapping[str, Numbers]]  # study and arm → what is known without training
Counts = dict[tuple[str, str], int]  # study and arm → seeds to run
Place = tuple[str, str, str, int]  # study, arm, cell, seed
Teller = Callable[[Sequence[Verdict]], None]


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One training run and what it is for."""

    study: str
    arm: str
    cell: str
    seed: int
    spec: RunSpec

    @functools.cached_property
    def id(self) -> str:
        """The content hash of the spec, computed once: stores hold thousands of runs."""
        return self.spec.content_hash

    @property
    def place(self) -> Place:
        return self.study, self.arm, self.cell, self.seed


def first_counts(studies: Sequence[Study]) -> Counts:
    """Seeds of every arm before anything is judged."""
    return {
        (study.key, arm.name): study.seeds_at_first(arm) for study in studies for arm in study.arms
    }


def planned(
    study: Study, counts: Counts | None = None, before: Mapping[Place, PlannedRun] | None = None
) -> list[PlannedRun]:
    """The runs of a study: arms x cells x seeds. A seed means the same data in every arm. Those of
    an earlier look (`before`) are taken as they are.
    """
    told, known = first_counts([study]) if counts is None else counts, before or {}
    runs = []
    for arm in study.arms:
        for cell, changes in study.cells.items():
            seeds = study.seeds[: told[study.key, arm.name]]
            places = [(study.key, arm.name, cell, seed) for seed in seeds]
            new = [place for place in places if place not in known]
            made: dict[Place, PlannedRun] = {}
            if new:  # the seed is all that differs: settings are checked once per arm and cell
                values = {**merged(arm.run, changes), "seed": max(seeds)}
                checked = RunSpec.from_values(values)
                made = {
                    place: PlannedRun(*place, checked.model_copy(update={"seed": place[-1]}))
                    for place in new
                }
            runs += [known.get(place) or made[place] for place in places]
    return runs


@dataclasses.dataclass(frozen=True)
class StudiesRun:
    """What became of studies that were run together."""

    outcomes: tuple[StudyOutcome, ...]
    summary: Summary | None  # of the last sweep; None where nothing had to be trained
    versions: dict[str, str]  # of the software that trained


def run_studies(
    studies: Sequence[Study],
    store: Path,
    *,
    engine: AbstractEngine | None = None,
    watch: Watcher | None = None,
    numbers: Callable[[Sequence[Study]], Known] | None = None,
    existing: Sequence[Verdict] = (),
    families: Mapping[str, int] | None = None,
    tell: Teller | None = None,
) -> StudiesRun:
    """Train what is missing for the first look, judge, train more for what is undecided, until
    everything is decided or out of seeds. ^C is passed on when the sweep has ended in order;
    calling again goes on.

    `numbers` computes what is known of every arm without training, once, after the first sweep;
    without it they are computed here, one after another. `existing` are the verdicts on weights,
    decided before. `families` are the sizes of the families of further claims by insight, with
    those that are not among these studies. `tell` hears the verdicts after every look.
    """
    counts = first_counts(studies)
    known: Known | None = None
    decided: dict[str, Verdict] = {}  # by the look that decided: more seeds do not change it
    made: dict[Place, PlannedRun] = {}  # runs of earlier looks
    rows: dict[str, Row] = {}
    while True:
        runs = [run for study in studies for run in planned(study, counts, made)]
        made = {run.place: run for run in runs}
        rows, summary = _swept(runs, store, engine, watch, rows)
        known = (numbers or known_numbers)(studies) if known is None else known
        found = judged(studies, runs, rows, known, families or {})
        verdicts = tuple(decided.get(verdict.key, verdict) for verdict in found)
        decided |= {verdict.key: verdict for verdict in verdicts if verdict.outcome.decided}
        if rows:
            keep_verdicts(store, (*existing, *verdicts))
        if tell is not None:
            tell(verdicts)
        more = _next_look(studies, verdicts, counts)
        if more == counts:
            break
        counts = more
    outcomes = tuple(
        _outcome(study, runs, rows, known[study.key], [*existing, *verdicts]) for study in studies
    )
    computed = next(iter(rows.values())).record["versions"] if rows else versions()
    return StudiesRun(outcomes, summary, computed)


def _swept(
    runs: Sequence[PlannedRun],
    store: Path,
    engine: AbstractEngine | None,
    watch: Watcher | None,
    before: Mapping[str, Row],
) -> tuple[dict[str, Row], Summary | None]:
    """The rows of these runs, by content hash, trained where they are missing. A row of an earlier
    look (`before`) is final and not read again.
    """
    unique = {run.id: run.spec for run in runs}
    if not unique:  # `rates` trains nothing
        return {}, None
    rows = {id: before[id] for id in unique if id in before}
    rows |= _finished({id: spec for id, spec in unique.items() if id not in rows}, store)
    if len(rows) == len(unique):  # a finished command: no plan of the work, no sweep
        if watch is not None:
            watch(Progress(len(unique), before=len(unique)))
        return rows, None
    summary = sweep(list(unique.values()), store, engine=engine, watch=watch)
    if summary.interrupted:
        raise KeyboardInterrupt
    if summary.missing:
        raise CheckFailed(f"{summary.missing} runs are missing; run the same command again")
    with Store(store, read_only=True) as opened:
        rows = {row.id: row for row in opened.rows(set(unique))[0]}
    _require_finished(rows.values())
    return rows, summary


def _finished(unique: Mapping[str, RunSpec], store: Path) -> dict[str, Row]:
    """Whole rows of runs that finished, by content hash."""
    if not unique or not store.exists():
        return {}
    with Store(store, read_only=True) as opened:
        found, _ = opened.rows(set(unique))
    return {row.id: row for row in found if row.status == FINISHED}


def _next_look(studies: Sequence[Study], verdicts: Sequence[Verdict], counts: Counts) -> Counts:
    """More seeds for the arms of what is undecided, as far as they are registered."""
    said = {verdict.key: verdict for verdict in verdicts}
    grown = dict(counts)
    for study in studies:
        for h in study.hypotheses:
            look = h.looks.after(said[h.key].seeds)
            undecided = said[h.key].outcome is Outcome.UNDECIDED and not any(
                finding.blocked for finding in said[h.key].findings
            )
            if undecided and look is not None and look <= len(study.seeds):
                for arm in h.arms:
                    grown[study.key, arm] = max(look, grown[study.key, arm])
    return grown


def _require_finished(rows: Iterable[Row]) -> None:
    """A failed run (an error, not a divergence) is no result: nothing is judged on the rest."""
    failed = [row for row in rows if row.status != FINISHED]
    if failed:
        raise CheckFailed(
            f"{len(failed)} runs failed, the first with: {failed[0].error}; mend the cause and run"
            " the same command again"
        )


def loss_of(row: Row, metric: str) -> float:
    """The final loss; inf where the run diverged."""
    value = row.record["final"].get(metric, math.inf)
    return math.inf if math.isnan(value) else max(value, SMALLEST)


def accuracy_of(row: Row) -> float | None:
    return row.record["final"].get("accuracy")


def known_numbers(studies: Sequence[Study]) -> Known:
    """Those of every arm of every study."""
    return {study.key: {arm.name: arm.numbers() for arm in study.arms} for study in studies}


def judged(
    studies: Sequence[Study],
    runs: Sequence[PlannedRun],
    rows: Mapping[str, Row],
    known: Known,
    sizes: Mapping[str, int],
) -> tuple[Verdict, ...]:
    """The verdicts on all claims about training. Those of the paper are one family; the further
    claims of an insight are another.
    """
    results, seeds = {}, {}
    for study in studies:
        for h in study.hypotheses:
            results[h.key] = _results(study, h, runs, rows, known[study.key])
            seeds[h.key] = study.seeds
    everything = [h for study in studies for h in study.hypotheses]
    families: dict[str, list[Hypothesis]] = {}
    for h in everything:
        families.setdefault(h.insight if h.further else "", []).append(h)
    said = {
        verdict.key: verdict
        for name, family in families.items()
        for verdict in judge(
            family,
            {h.key: results[h.key] for h in family},
            {h.key: seeds[h.key] for h in family},
            max(len(family), sizes.get(name, 0) if name else FAMILY),
        )
    }
    return tuple(said[h.key] for h in everything)


def _results(
    study: Study,
    hypothesis: Hypothesis,
    runs: Sequence[PlannedRun],
    rows: Mapping[str, Row],
    known: Mapping[str, Numbers],
) -> list[ArmResult]:
    """One record per run of the arms that a claim is about."""
    if not study.seeds:
        return []
    key, counted = study.key, set(hypothesis.arms)
    sizes = {arm.name: parameters(arm) for arm in study.arms if arm.name in counted}
    return [
        ArmResult(
            run.arm,
            run.seed,
            loss_of(rows[run.id], study.metric),
            floor=known[run.arm].floor,
            accuracy=accuracy_of(rows[run.id]),
            parameters=sizes[run.arm],
        )
        for run in runs
        if run.study == key and run.arm in sizes
    ]


def parameters(arm: Arm) -> int:
    """Trainable numbers of the arm's model, from its shapes alone."""
    return _parameters(canonical_json({**arm.run, "seed": 0}))


@functools.lru_cache(maxsize=4096)
def _parameters(text: str) -> int:
    """Every claim and every look asks for the same arms."""
    spec = RunSpec.from_values(loads(text))
    shapes = structure(spec.model, source_of(spec.target(), spec.train.length, spec.train.kept_in))
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
    verdicts: Sequence[Verdict],
) -> StudyOutcome:
    mine_keys = {h.key for h in study.hypotheses} | {e.key for e in study.existences}
    arms, key = [], study.key
    for arm in study.arms if study.seeds else ():
        mine = [run for run in runs if run.study == key and run.arm == arm.name]
        learned = []
        for cell in study.cells:
            found = [rows[run.id] for run in mine if run.cell == cell]
            summary = summarised(cell, [loss_of(row, study.metric) for row in found], study.ratios)
            accuracies = [
                a for row in found if (a := accuracy_of(row)) is not None and math.isfinite(a)
            ]
            mean = float(np.mean(accuracies)) if accuracies else None
            learned.append(dataclasses.replace(summary, accuracy=mean))
        first = next(iter(study.cells))
        records = [rows[run.id].record for run in mine if run.cell == first]
        finals = tuple(record["final"] for record in records)
        curve = learning_curve(records, study.metric)
        size = parameters(arm)
        arms.append(ArmOutcome(arm, known[arm.name], tuple(learned), size, finals, curve))
    told = tuple(verdict for verdict in verdicts if verdict.key in mine_keys)
    outcome = StudyOutcome(study, tuple(arms), told)
    return dataclasses.replace(outcome, diagnoses=diagnosed(outcome))
