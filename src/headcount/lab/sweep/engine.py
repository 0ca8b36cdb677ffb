"""What computes runs, and what carries them to workers: the two seams of a sweep, which knows
nothing of training.

A **runner** is a small frozen record that a worker process can import and unpickle. The sweep asks
it for the key by which runs share a compiled program, hands it lists of specs with equal keys, and
stores the records it yields.

An **engine** knows nothing of stores, retries or order. It tells which workers are idle (by the key
of what they computed last: that program is compiled there), takes a batch for one of them, and
reports what happened. A worker that dies is an event like any other, never an exception, and its
place is filled again.
"""

import abc
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcount.core.errors import HeadcountError, require
from headcount.core.spec import Spec, content_hash


@dataclasses.dataclass(frozen=True)
class Job:
    """One run to compute: its identity, its spec, and the key that it shares with runs of the
    same compiled program.
    """

    id: str
    spec: Spec
    key: str


@dataclasses.dataclass(frozen=True)
class RunResult:
    """What became of one job: a plain record, and the model's files where asked for."""

    id: str
    record: dict[str, Any]
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)


class AbstractRunner(abc.ABC):
    """Computes runs; the same spec gives the same figures, alone or in company, here or on
    another worker. With `weights` the models come along.
    """

    weights: bool = False

    @abc.abstractmethod
    def read(self, values: Mapping[str, Any]) -> Spec:
        """A spec from plain values, with everything impossible refused."""

    @abc.abstractmethod
    def key(self, spec: Spec) -> str:
        """Runs with equal keys may be given to `run` together."""

    @abc.abstractmethod
    def run(self, specs: Sequence[Spec]) -> Iterator[tuple[Spec, dict[str, Any], dict[str, bytes]]]:
        """Spec, record and model files of each run, as they come."""

    @abc.abstractmethod
    def shortened(self, spec: Spec) -> tuple[Spec, Spec, Spec, float]:
        """Three different runs of the same shape that take a moment, and t, for an estimate.

        The first pays for the compilation and is otherwise like the second; the real run takes
        second + t (third - second): logging and evaluation do not grow with the number of steps.
        """

    def work(self, spec: Spec) -> float:
        """Roughly the seconds of a run, above 0; what counts is that long runs are told from
        short ones.
        """
        return 1.0

    def job(self, spec: Spec) -> Job:
        return Job(content_hash(spec), spec, self.key(spec))

    def answers(self, jobs: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[RunResult]:
        """In a worker: compute (id, plain spec) pairs. A spec that does not come back to its id
        is refused, not trained.
        """
        specs = [self.read(values) for _, values in jobs]
        for (id, _), spec in zip(jobs, specs, strict=True):
            require(
                content_hash(spec) == id,
                f"spec {id} reads back as {content_hash(spec)}",
                "the same spec",
                "use the same version",
            )
        before = time.process_time()
        for spec, record, files in self.run(specs):
            after = time.process_time()  # unlike seconds on the clock, the same on a busy machine
            yield RunResult(
                content_hash(spec),
                {**record, "seconds": {**record["seconds"], "cpu": after - before}},
                files,
            )
            before = time.process_time()


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
class RunAnswered:
    """A run was computed."""

    batch: int
    answer: RunResult


@dataclasses.dataclass(frozen=True)
class BatchEnded:
    """The batch is over. `error` says why the runs without an answer have none; `lost` that the
    worker died of it.
    """

    batch: int
    error: str = ""
    lost: bool = False


Event = RunAnswered | BatchEnded


class AbstractEngine(abc.ABC):
    """Workers that compute batches."""

    @abc.abstractmethod
    def start(self, runner: AbstractRunner) -> None:
        """Make ready; every worker computes with this runner."""

    @abc.abstractmethod
    def idle(self) -> list[str | None]:
        """One entry per worker that can take a batch: the key it computed last, None if fresh."""

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
