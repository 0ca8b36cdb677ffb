"""Which runs go to which worker next, and what becomes of a run that had no answer.

Runs are handed out in batches of one key (one compiled program). A worker gets more of what it has
compiled; a new key goes to a worker that has none; batches shrink as the work runs out, so that all
workers end together.

A batch that ends early, by an error or by the death of its worker, is not judged: its open runs go
back one at a time, so that each answers for itself. Alone, an error is the run's own and final; a
death may be the machine's, and is forgiven `ATTEMPTS` - 1 times. So every run is tried a bounded
number of times and nothing goes round for ever.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence

from headcount.lab.sweep.engine import Job

ATTEMPTS = 3
# runs of a batch: enough for tiny models to be trained side by side, few enough to lose
LARGEST = 8


class Queue:
    """The runs still to be computed."""

    def __init__(self, jobs: Iterable[Job], workers: int):
        self.workers = workers
        self._groups: dict[str, deque[Job]] = {}
        self._alone: deque[Job] = deque()
        self._deaths: dict[str, int] = {}
        self.add(jobs)

    def __len__(self) -> int:
        return len(self._alone) + sum(map(len, self._groups.values()))

    def add(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self._groups.setdefault(job.key, deque()).append(job)

    def take(self, idle: Sequence[str | None], busy: Iterable[str] = ()) -> list[Job]:
        """The next batch, given what the idle workers have compiled and what the busy ones are
        at; [] when all is handed out.
        """
        groups = {key: jobs for key, jobs in self._groups.items() if jobs}
        if not groups:
            return [self._alone.popleft()] if self._alone else []
        size = min(LARGEST, math.ceil(len(self) / (2 * self.workers)))
        warm = [key for key in idle if key in groups]
        untouched = [key for key in groups if key not in set(busy)]
        key = (
            warm[0]
            if warm
            else untouched[0]
            if untouched
            else max(groups, key=lambda name: len(groups[name]))
        )
        jobs = self._groups[key]
        return [jobs.popleft() for _ in range(min(size, len(jobs)))]

    def broken(self, jobs: Sequence[Job], in_company: bool, lost: bool) -> list[Job]:
        """Runs that had no answer, alone or `in_company` of others in their batch; returns those
        that have failed for good.
        """
        if in_company:
            self._alone.extend(jobs)
            return []
        failed = []
        for job in jobs:
            self._deaths[job.id] = self._deaths.get(job.id, 0) + 1
            if lost and self._deaths[job.id] < ATTEMPTS:
                self._alone.append(job)
            else:
                failed.append(job)
        return failed

    def jobs(self) -> list[Job]:
        """All that is queued."""
        return [*self._alone, *(job for jobs in self._groups.values() for job in jobs)]
