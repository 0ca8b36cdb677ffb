"""How far a sweep is, and when it will end.

The time left is the sum, over the open runs, of what finished runs of the same shape took, divided by the number of workers. A
shape not seen yet counts by its work (operations, as the runner counts them) at the pace of those seen: a plan that begins with its
longest runs does not foretell hours. Only a monotonic clock is read.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable

from headcount.lab.runner import Job

OVERHEAD = 0.5  # seconds of a run that do not grow with its work: its share of a compilation, data, storing


@dataclasses.dataclass
class Progress:
    """The state of a sweep, shown by whoever watches it. `news` are lines to be told once, such as failures."""

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
        parts += [f"about {spoken(self.seconds_left)} left"] if self.seconds_left is not None else []
        return ", ".join(parts)


class Pace:
    """Seconds by shape, learned as runs come in; `work` counts what a job computes, in any unit."""

    def __init__(self, work: Callable[[Job], float] = lambda job: 1.0) -> None:
        self._count, self._counted = work, dict[str, float]()
        self._seen: dict[str, tuple[float, int]] = {}
        self._seconds = self._done = 0.0  # beyond the overhead, and the work done in them

    def _work(self, job: Job) -> float:
        if job.id not in self._counted:
            self._counted[job.id] = self._count(job)
        return self._counted[job.id]

    def learn(self, job: Job, seconds: float) -> None:
        total, count = self._seen.get(job.key, (0.0, 0))
        self._seen[job.key] = (total + seconds, count + 1)
        self._seconds += max(0.0, seconds - OVERHEAD)
        self._done += self._work(job)

    def left(self, jobs: Iterable[Job], workers: int) -> float | None:
        """Expected seconds until these are done; None before anything is known."""
        if not self._seen:
            return None
        means = {key: total / count for key, (total, count) in self._seen.items()}
        pace, overhead = self._seconds / self._done, min(OVERHEAD, *means.values())
        return sum(means[job.key] if job.key in means else overhead + pace * self._work(job) for job in jobs) / workers


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


def seconds_of(record: dict) -> float:
    """Seconds on the clock that a record accounts for."""
    seconds = record.get("seconds", {})
    return float(seconds.get("compile", 0.0) + seconds.get("run", 0.0))


def cpu_of(record: dict) -> float:
    """Seconds of the processor, with compilation where this run was the first of its shape."""
    return float(record.get("seconds", {}).get("cpu", 0.0))
