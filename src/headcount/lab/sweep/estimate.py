"""What a sweep will cost, before it is started.

For each shape the CPU seconds of a run are those of stored runs of that shape or, where there are
none, measured: the same run cut to two small numbers of steps, on a worker of the same kind as in
the sweep, drawn out in a straight line to the whole, and the compilation added once. CPU seconds
are what a run takes on a core of its own: on a busy machine it ends later than told.

Calibration ends after a short while. It begins in the middle and then halves, in turn by the work
of all runs and by the number of shapes: small runs take longer per operation than large ones, and
there are many of them. Runs of one shape are taken in the ratio of their work
(`AbstractRunner.work`: operations). A shape that was not reached is taken as the one whose runs are
nearest in work; the estimate says how many were reached. Nothing is written.
"""

import dataclasses
import datetime
import itertools
import math
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
    unknown = _spread([job for job in to_do if job.key not in pace], work)
    for job, (compiling, running) in _calibrate(unknown, engine, runner):
        once[job.key], pace[job.key] = compiling, [running / work[job.id]]
    means = {key: sum(values) / len(values) for key, values in pace.items()}
    largest = {job.key: work[job.id] for job in sorted(jobs.values(), key=lambda j: work[j.id])}
    shapes = {job.key for job in to_do}
    like = {key: _nearest(key, means, largest) for key in shapes}
    tried = {key: _nearest(key, once, largest) for key in shapes if key in once or key not in means}
    compiling = sum(once.get(near, 0.0) for near in tried.values())
    costs = [work[job.id] * means.get(like[job.key], math.nan) for job in to_do]
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


def _nearest(key: str, known: Mapping[str, float], work: Mapping[str, float]) -> str:
    """The shape itself if it is known, or the known one whose runs are nearest in work."""
    if key in known or not known:
        return key
    return min(known, key=lambda other: abs(math.log(work[other] / work[key])))


def _spread(jobs: Sequence[Job], work: Mapping[str, float]) -> list[Job]:
    """The longest run of each shape, ordered so that the first few tell of all: in turn by the
    share of all work and by rank, each in the middle, at the quarters, at the eighths, …
    """
    shapes: dict[str, list[Job]] = {}
    for job in jobs:
        shapes.setdefault(job.key, []).append(job)
    longest = [max(group, key=lambda job: work[job.id]) for group in shapes.values()]
    left = sorted(longest, key=lambda job: -work[job.id])
    total = {job.key: sum(work[each.id] for each in shapes[job.key]) for job in left}
    ends = dict(zip(total, itertools.accumulate(total.values()), strict=True))
    everything = sum(total.values())
    share = {key: (end - total[key] / 2) / everything for key, end in ends.items()}
    rank = {key: (place + 0.5) / len(total) for place, key in enumerate(total)}
    order: list[Job] = []
    while left:
        pair, by = divmod(len(order), 2)
        aim, of = _halving(pair + 1), (share, rank)[by]
        picked = min(left, key=lambda job: abs(of[job.key] - aim))
        left.remove(picked)
        order.append(picked)
    return order


def _halving(n: int) -> float:
    """1/2, 1/4, 3/4, 1/8, 5/8, …: the binary digits of n behind the point, reversed.

    >>> [_halving(n) for n in (1, 2, 3, 4, 5)]
    [0.5, 0.25, 0.75, 0.125, 0.625]
    """
    return int(f"{n:b}"[::-1], 2) / 2 ** n.bit_length()


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
