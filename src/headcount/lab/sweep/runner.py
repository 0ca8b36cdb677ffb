"""What computes runs: the seam between a sweep, which knows nothing of training, and the trainer.

A runner is a small frozen record that a worker process can import and unpickle. The sweep asks it
for the key by which runs share a compiled program, hands it lists of specs with equal keys, and
stores the records it yields.
"""

import abc
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcount.core.errors import require
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
class Answer:
    """What became of one job: a plain record, and the model's files where weights were asked
    for.
    """

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

    def answers(self, jobs: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Answer]:
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
            yield Answer(
                content_hash(spec),
                {**record, "seconds": {**record["seconds"], "cpu": after - before}},
                files,
            )
            before = time.process_time()
