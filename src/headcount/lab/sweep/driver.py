"""A sweep: every run of a plan computed once and stored, whatever happens on the way.

Read the plan → make its runs known to the store → put aside what is stored → hand out the rest →
store what comes back. The store is the only state: a sweep that was interrupted, killed or met a
full disk is continued by starting it again. Several sweeps may work on one store; each claims a
batch before handing it out, waits for what others have claimed, and takes over what the dead leave.
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import InputError, require
from headcount.core.interrupts import held_back
from headcount.core.spec import Spec, canonical_json
from headcount.lab.sweep.engine import (
    AbstractEngine,
    AbstractRunner,
    Batch,
    BatchEnded,
    Job,
    RunAnswered,
    RunResult,
)
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.lab.sweep.owners import BEAT_SECONDS
from headcount.lab.sweep.progress import Pace, Progress, cpu_of, seconds_of
from headcount.lab.sweep.queue import ATTEMPTS, Queue
from headcount.lab.sweep.schema import FAILED, FINISHED, Row
from headcount.lab.sweep.store import Store
from headcount.lab.sweep.sweep_plan import SweepPlan, reason
from headcount.lab.sweep.trainer import Trainer

POLL_SECONDS = 0.2
Watcher = Callable[[Progress], None]
PlanLike = str | Path | SweepPlan | Iterable[Spec]


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a sweep did. `outcomes` counts the stored runs of the plan by outcome; a run that
    diverged has finished.
    """

    store: str
    runs: int
    before: int
    computed: int
    elsewhere: int
    failed: int
    missing: int
    repaired: int
    outcomes: dict[str, int]
    seconds: float
    cpu_seconds: float
    interrupted: bool = False
    stopped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Every run of the plan is stored and none failed."""
        return self.missing == 0 and self.failed == 0

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "complete": self.complete}


@checked
def sweep(
    plan: PlanLike,
    store: str | Path = "runs.sqlite",
    *,
    engine: AbstractEngine | None = None,
    runner: AbstractRunner | None = None,
    fail_fast: bool = False,
    retry_failed: bool = False,
    force: bool = False,
    watch: Watcher | None = None,
) -> Summary:
    """Compute and store every run of a plan (a file, a `SweepPlan`, or a list of specs) that the
    store does not hold yet.

    `retry_failed` computes stored failures again, `force` everything; `fail_fast` ends the sweep at
    the first failure. ^C ends it too: what was being computed is dropped, what is stored stays, and
    the summary says `interrupted`.
    """
    runner = runner or Trainer()
    engine = engine or LocalEngine()
    jobs = jobs_of(plan, runner)
    with Store(store) as opened:
        work = _Sweep(opened, engine, runner, jobs, watch or (lambda progress: None))
        work.prepare(retry_failed, force)
        return work.run(fail_fast)


def jobs_of(plan: PlanLike, runner: AbstractRunner) -> dict[str, Job]:
    """The runs of a plan by their id, in the plan's order; everything impossible is refused
    here, all reasons at once.
    """
    if isinstance(plan, str | Path):
        plan = SweepPlan.read(plan)
    specs = (
        plan.specs(functools.partial(_checked, runner))
        if isinstance(plan, SweepPlan)
        else list(plan)
    )
    for spec in specs:
        require(
            isinstance(spec, Spec),
            f"a {type(spec).__name__} in the list of runs",
            "specs",
            "give RunSpec objects, or a plan",
        )
    require(specs, "a plan without runs", "at least one", "add a seed or a spec")
    jobs, reasons = {}, []
    for spec in specs:
        try:
            job = runner.job(spec)
            jobs[job.id] = job
        except InputError as error:
            reasons.append(reason(error))
    if reasons:
        told = list(dict.fromkeys(reasons))
        raise InputError(
            f"{len(reasons)} of {len(specs)} runs: {', and '.join(told)}",
            "possible runs only",
            "correct these and run again",
        )
    return jobs


def _checked(runner: AbstractRunner, values: Mapping[str, Any]) -> Spec:
    """A spec whose parts also go together: the key is the first thing that needs them all."""
    spec = runner.read(values)
    runner.key(spec)
    return spec


class _Sweep:
    """One sweep at work: the loop, and what it remembers."""

    def __init__(
        self,
        store: Store,
        engine: AbstractEngine,
        runner: AbstractRunner,
        jobs: dict[str, Job],
        watch: Watcher,
    ):
        self.store, self.engine, self.runner, self.jobs, self.watch = (
            store,
            engine,
            runner,
            jobs,
            watch,
        )
        self.progress = Progress(len(jobs))
        self.pace = Pace(lambda job: runner.work(job.spec))
        self.open: dict[int, list[Job]] = {}  # batch → its runs without an answer
        self.sizes: dict[int, int] = {}
        self.waiting: dict[str, Job] = {}  # claimed by another sweep
        self.repaired = 0
        self.cpu_seconds = 0.0
        self.notes: list[str] = []
        self._beaten = self._looked = time.monotonic()

    def prepare(self, retry_failed: bool, force: bool) -> None:
        """Bring the store to where this sweep begins."""
        store = self.store
        store.add({id: canonical_json(job.spec) for id, job in self.jobs.items()})
        if force:
            store.drop(self.jobs)
        elif retry_failed:
            store.drop_failed(self.jobs)
        good, damaged = store.rows()
        if damaged:
            self.repaired = store.drop(damaged)
            self._note(
                f"{len(damaged)} stored results are damaged (checksum); they are dropped and"
                f" computed again: {', '.join(map(str, damaged[:5]))}"
            )
        stored = {row.id for row in good} & set(self.jobs)
        self.progress.before = len(stored)
        if self.runner.weights:
            bare = [id for id in stored if not (store.weights / id).is_dir()]
            if bare:
                self._note(
                    f"{len(bare)} runs were finished without their weights; --force computes them"
                    " again"
                )
        self.queue = Queue(
            (job for id, job in self.jobs.items() if id not in stored), self.engine.size
        )

    def run(self, fail_fast: bool) -> Summary:
        interrupted = False
        self._tell()
        try:
            if len(self.queue):
                self.store.enter()
                with held_back() as check:
                    self.engine.start(self.runner)
                    while (len(self.queue) or self.open or self.waiting) and not (
                        fail_fast and self.progress.failed
                    ):
                        self._hand_out()
                        self._collect()
                        check()
                        self._keep_alive()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self.engine.stop()
        return self._summary(interrupted, stopped=fail_fast and self.progress.failed > 0)

    def _hand_out(self) -> None:
        """Claim and submit batches while workers are idle."""
        while len(self.queue):
            idle = self.engine.idle()
            if not idle:
                return
            jobs = self.queue.take(idle, [batch[0].key for batch in self.open.values() if batch])
            claim = self.store.claim([job.id for job in jobs])
            self.progress.elsewhere += len(claim.done)
            self.waiting |= {id: self.jobs[id] for id in claim.elsewhere}
            mine = [job for job in jobs if job.id in claim.mine]
            if mine:
                number = len(self.sizes)
                self.open[number], self.sizes[number] = mine, len(mine)
                self.engine.submit(Batch(number, tuple(mine)))

    def _collect(self) -> None:
        """Store what came back."""
        for event in self.engine.poll(POLL_SECONDS) if self.open else _wait():
            if isinstance(event, RunAnswered):
                self._came(event.batch, event.answer)
            else:
                self._ended(event)
        self._tell()

    def _came(self, batch: int, answer: RunResult) -> None:
        job = self.jobs[answer.id]
        self.open[batch] = [other for other in self.open[batch] if other.id != answer.id]
        if answer.files:
            self.store.keep_weights(answer.id, answer.files)
        self.pace.learn(job, *seconds_of(answer.record))
        self.cpu_seconds += cpu_of(answer.record)
        if self.store.put(Row(answer.id, FINISHED, answer.record)):
            self.progress.finished += 1
        else:
            self.progress.elsewhere += 1

    def _ended(self, event: BatchEnded) -> None:
        jobs, size = self.open.pop(event.batch), self.sizes[event.batch]
        if not jobs:
            return
        error = event.error or "the runner gave no record for this run"
        failed = self.queue.broken(jobs, in_company=size > 1, lost=event.lost)
        if event.lost and len(failed) < len(jobs):
            self.progress.news.append(
                f"{first_line(error)}; tried again: {', '.join(job.id for job in jobs)}"
            )
        for job in failed:
            told = f"{error} (on each of {ATTEMPTS} attempts)" if event.lost else error
            self.store.put(Row(job.id, FAILED, {}, told))
            self.progress.failed += 1
            self.progress.news.append(f"run {job.id} failed: {first_line(told)}")

    def _keep_alive(self) -> None:
        """Show that we live, end where somebody asked for it in the store, and look now and then
        what became of the runs that others claimed.
        """
        now = time.monotonic()
        if now - self._beaten >= BEAT_SECONDS:
            self._beaten = now
            self.store.beat()
            if self.store.asked_to_stop():
                raise KeyboardInterrupt
        if self.waiting and now - self._looked >= POLL_SECONDS:
            self._looked = now
            held = self.waiting if self.engine.idle() else {}
            claim = self.store.claim(held)
            self.progress.elsewhere += len(claim.done)
            # the other one died, or gave them back
            self.queue.add(self.jobs[id] for id in claim.mine)
            self.waiting = {
                id: job for id, job in self.waiting.items() if id not in {*claim.done, *claim.mine}
            }

    def _tell(self) -> None:
        running = [job for batch in self.open.values() for job in batch]
        self.progress.running = min(len(running), self.engine.size)
        left = [*running, *self.queue.jobs(), *self.waiting.values()]
        self.progress.seconds_left = self.pace.left(left, self.engine.size)
        self.watch(self.progress)
        self.progress.news.clear()

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.progress.news.append(text)

    def _summary(self, interrupted: bool, stopped: bool) -> Summary:
        rows, _ = self.store.rows(self.jobs)
        outcomes: dict[str, int] = {}
        for row in rows:
            name = str(row.record.get("outcome")) if row.status == FINISHED else FAILED
            outcomes[name] = outcomes.get(name, 0) + 1
        progress = self.progress
        return Summary(
            store=str(self.store.path),
            runs=len(self.jobs),
            before=progress.before,
            computed=progress.finished,
            elsewhere=progress.elsewhere,
            failed=outcomes.get(FAILED, 0),
            missing=len(self.jobs) - len(rows),
            repaired=self.repaired,
            outcomes=outcomes,
            seconds=progress.seconds,
            cpu_seconds=self.cpu_seconds,
            interrupted=interrupted,
            stopped=stopped,
            notes=tuple(self.notes),
        )


def _wait() -> list[Any]:
    time.sleep(POLL_SECONDS)
    return []


def first_line(error: str) -> str:
    """What an error says in the end: the last line of a traceback."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return lines[-1][:300] if lines else error
