"""What carries batches of runs to workers and brings back their records.

An engine knows nothing of stores, retries or order. It tells which workers are idle (by the key of
what they computed last: that program is compiled there), takes a batch for one of them, and reports
what happened. A worker that dies is an event like any other, never an exception, and its place is
filled again.
"""

import abc
import dataclasses

from headcount.core.errors import HeadcountError
from headcount.lab.sweep.runner import AbstractRunner, Answer, Job


class EngineError(HeadcountError):
    """No worker can be started, or the cluster is gone: nothing that another try at the same run
    would mend.
    """


@dataclasses.dataclass(frozen=True)
class Batch:
    """Runs of one key that go to one worker together."""

    number: int
    jobs: tuple[Job, ...]

    @property
    def key(self) -> str:
        return self.jobs[0].key

    @property
    def wire(self) -> list[tuple[str, dict]]:
        """What a worker is sent: identities and plain specs."""
        return [(job.id, job.spec.to_plain()) for job in self.jobs]


@dataclasses.dataclass(frozen=True)
class Came:
    """A run was computed."""

    batch: int
    answer: Answer


@dataclasses.dataclass(frozen=True)
class Ended:
    """The batch is over. `error` says why the runs without an answer have none; `lost` that the
    worker died of it.
    """

    batch: int
    error: str = ""
    lost: bool = False


Event = Came | Ended


class AbstractEngine(abc.ABC):
    """Workers that compute batches."""

    @abc.abstractmethod
    def start(self, runner: AbstractRunner) -> None:
        """Make ready; every worker computes with this runner."""

    @abc.abstractmethod
    def idle(self) -> list[str | None]:
        """One entry a worker that can take a batch: the key it computed last, None for a fresh
        one.
        """

    @abc.abstractmethod
    def submit(self, batch: Batch) -> None:
        """Give a batch to an idle worker, to one that computed the same key if there is one."""

    @abc.abstractmethod
    def poll(self, timeout: float) -> list[Event]:
        """What happened; waits at most `timeout` seconds for something."""

    @abc.abstractmethod
    def stop(self) -> None:
        """End all workers at once; what they were computing is dropped."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many workers there are, or will be."""
