"""What a sweep will cost, before it is started.

For each shape the CPU seconds of a run are those of stored runs of that shape or, where there are
none, measured: the same run cut to two small numbers of steps, on a worker of the same kind as in
the sweep, drawn out in a straight line to the whole, and the compilation added once. CPU seconds
are what a run takes on a core of its own: on a busy machine it ends later than told. Calibration
begins with the shapes that weigh most and ends after a short while. Runs of one shape are taken in
the ratio of their work (`AbstractRunner.work`: operations), and so are shapes that were not
reached, beside those that were; the estimate says how many that is. Nothing is written.
"""

import dataclasses
import datetime
import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headcount.lab.sweep.engine import (
    AbstractEngine,
    AbstractRunner,
    Batch,
    BatchEnded,
    Job,
    RunAnswered,
)
from headcount.lab.sweep.progress import cpu_of
from headcount.lab.sweep.schema import FINISHED, Row

CALIBRATION_SECONDS = 20.0
AT_MOST = 120.0  # where not even one shape is known after that


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Expected cost of the runs still to do: core-seconds, and seconds on so many workers."""

    to_do: int
    workers: int
    cpu_seconds: float
    seconds: float
    shapes: int
    measured: int
    ends: str

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "cpu_minutes": self.cpu_seconds / 60}


def estimate(
    jobs: dict[str, Job], rows: Iterable[Row], engine: AbstractEngine, runner: AbstractRunner
) -> Estimate:
    """The expected cost of the jobs without a row."""
    stored = {row.id: row for row in rows}
    to_do = [job for id, job in jobs.items() if id not in stored]
    work = {job.id: runner.work(job.spec) for job in jobs.values()}
    pace: dict[str, list[float]] = {}  # seconds per unit of work
    for id, row in stored.items():
        if id in jobs and row.status == FINISHED:
            pace.setdefault(jobs[id].key, []).append(cpu_of(row.record) / work[id])
    once: dict[str, float] = {}
    unknown = _heaviest([job for job in to_do if job.key not in pace], work)
    for job, (compiling, running) in _calibrate(unknown, engine, runner):
        once[job.key], pace[job.key] = compiling, [running / work[job.id]]
    means = {key: sum(values) / len(values) for key, values in pace.items()}
    overall = statistics.median(means.values()) if means else math.nan
    shapes = {job.key for job in to_do}
    fallback = sum(once.values()) / len(once) if once else 0.0
    compiling = sum(once.get(key, 0.0 if key in means else fallback) for key in shapes)
    costs = [work[job.id] * means.get(job.key, overall) for job in to_do]
    cpu = sum(costs) + compiling
    seconds = max(cpu / engine.size, max(costs, default=0.0))
    ends = (
        datetime.datetime.now().astimezone() + datetime.timedelta(seconds=seconds)
        if math.isfinite(seconds)
        else None
    )
    told = ends.isoformat(timespec="minutes") if ends else ""
    return Estimate(
        len(to_do), engine.size, cpu, seconds, len(shapes), len(shapes & set(means)), told
    )


def _heaviest(jobs: Sequence[Job], work: Mapping[str, float]) -> list[Job]:
    """The longest run of each shape, those first whose runs take most together."""
    shapes: dict[str, list[Job]] = {}
    for job in jobs:
        shapes.setdefault(job.key, []).append(job)
    ranked = sorted(shapes.values(), key=lambda group: -sum(work[job.id] for job in group))
    return [max(group, key=lambda job: work[job.id]) for group in ranked]


class _Trial:
    """Short runs of one shape, and what they say of a whole one."""

    def __init__(self, job: Job, runner: AbstractRunner):
        *specs, self.t = runner.shortened(job.spec)
        self.job, self.jobs = job, tuple(runner.job(spec) for spec in specs)
        self.cpu: dict[str, float] = {}

    def cost(self) -> tuple[float, float]:
        """Seconds to compile and seconds to run."""
        first, second, third = (self.cpu[job.id] for job in self.jobs)
        return max(0.0, first - second), max(0.0, second + self.t * (third - second))


def _calibrate(
    jobs: list[Job], engine: AbstractEngine, runner: AbstractRunner
) -> list[tuple[Job, tuple[float, float]]]:
    """Seconds to compile and seconds of a whole run, for as many jobs as the time allows."""
    found: list[tuple[Job, tuple[float, float]]] = []
    if not jobs:
        return found
    queue = list(enumerate(jobs))
    waiting: dict[int, _Trial] = {}
    begun = time.monotonic()
    engine.start(runner)
    try:
        while (queue or waiting) and time.monotonic() - begun < (
            CALIBRATION_SECONDS if found else AT_MOST
        ):
            while queue and engine.idle():
                number, job = queue.pop(0)
                waiting[number] = _Trial(job, runner)
                engine.submit(Batch(number, waiting[number].jobs))
            for event in engine.poll(0.2):
                if isinstance(event, RunAnswered):
                    waiting[event.batch].cpu[event.answer.id] = cpu_of(event.answer.record)
                elif isinstance(event, BatchEnded):
                    trial = waiting.pop(event.batch)
                    if not event.error:
                        found.append((trial.job, trial.cost()))
    finally:
        engine.stop()
    return found
