"""How far a sweep is, and when it will end.

The time left is the sum, over the open runs, of what finished runs of the same shape took, divided
by the number of workers. A shape not seen yet counts by what its runner foretells, corrected by how
right it was for those seen, and a compilation: a plan that begins with its longest runs does not
foretell hours. Only a monotonic clock is read.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headcount.lab.sweep.engine import Job


@dataclasses.dataclass
class Progress:
    """The state of a sweep, shown by whoever watches it. `news` are lines to be told once, such
    as failures.
    """

    total: int
    before: int = 0  # stored by earlier sweeps
    finished: int = 0
    failed: int = 0
    elsewhere: int = 0  # stored meanwhile by another sweep on the same store
    running: int = 0
    seconds_left: float | None = None
    news: list[str] = dataclasses.field(default_factory=list)
    started: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.before + self.finished + self.failed + self.elsewhere

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def line(self) -> str:
        """One line for a log."""
        parts = [f"{self.done}/{self.total} runs"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [f"{self.running} running"] if self.running else []
        parts += (
            [f"about {spoken(self.seconds_left)} left"] if self.seconds_left is not None else []
        )
        return ", ".join(parts)


class Say(Protocol):
    """Who watches a long job is told in one line how far it is; `now`: also where lines were shown
    a moment ago.
    """

    def __call__(self, message: str, now: bool = False) -> None: ...


def silent(message: str, now: bool = False) -> None:
    """Nobody watches."""


def progress_teller(say: Say) -> Callable[[Progress], None]:
    """Tells of a sweep: its news at once, its state now and then."""

    def show(progress: Progress) -> None:
        for line in progress.news:
            say(line, now=True)
        say(progress.line(), now=progress.done == progress.total)

    return show


class Pace:
    """Seconds by shape, learned as runs come in; `work` foretells roughly the seconds of a job
    of a shape not seen yet.
    """

    def __init__(self, work: "Callable[[Job], float]" = lambda job: 1.0) -> None:
        self._foretell, self._work = work, dict[str, float]()
        self._seen: dict[str, tuple[float, int]] = {}  # shape → seconds of its runs, their number
        self._run = self._foretold = self._compiled = 0.0  # sums over the runs seen

    def work(self, job: "Job") -> float:
        if job.id not in self._work:
            self._work[job.id] = self._foretell(job)
        return self._work[job.id]

    def learn(self, job: "Job", run: float, compiling: float = 0.0) -> None:
        total, count = self._seen.get(job.key, (0.0, 0))
        self._seen[job.key] = (total + run, count + 1)
        self._run, self._foretold, self._compiled = (
            self._run + run,
            self._foretold + self.work(job),
            self._compiled + compiling,
        )

    def left(self, jobs: "Iterable[Job]", workers: int) -> float | None:
        """Expected seconds until these are done; None before anything is known."""
        if not self._seen:
            return None
        means = {key: total / count for key, (total, count) in self._seen.items()}
        open_jobs = list(jobs)
        unseen = {job.key for job in open_jobs if job.key not in means}
        pace, compiling = self._run / self._foretold, self._compiled / len(means)
        running = sum(
            means[job.key] if job.key in means else pace * self.work(job) for job in open_jobs
        )
        return (running + compiling * len(unseen)) / workers


def spoken(seconds: float) -> str:
    """Seconds as one would say them.

    >>> spoken(8), spoken(100), spoken(7500)
    ('8 s', '1 min 40 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def seconds_of(record: dict) -> tuple[float, float]:
    """Seconds on the clock that a record accounts for: of the run, and of its compilation."""
    seconds = record.get("seconds", {})
    return float(seconds.get("run", 0.0)), float(seconds.get("compile", 0.0))


def cpu_of(record: dict) -> float:
    """Seconds of the processor, with compilation where this run was the first of its shape."""
    return float(record.get("seconds", {}).get("cpu", 0.0))
