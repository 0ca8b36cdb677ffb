"""The Ray engine, for when one machine is not enough: plain remote tasks, a batch of runs each, one
core per task.

A task is a generator, so each record comes back as it is computed and a worker that dies loses only
what it had not yet sent. Ray's own retries are off: a task run twice by Ray would hide the death
from our bounded count of attempts. The driver alone writes the store. Nothing is reported to
anyone: Ray's usage statistics are switched off.
"""

import importlib.util
import logging
import os
import time
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import InputError, require
from headcount.lab.sweep.engine import (
    AbstractEngine,
    AbstractRunner,
    Batch,
    BatchEnded,
    EngineError,
    Event,
    RunAnswered,
)
from headcount.lab.sweep.local_engine import one_thread

MOST_WORKERS = 100_000  # processes of a cluster
COUNT_SECONDS = 5.0  # a cluster may grow: its cores are counted again so often


@checked
class RayEngine(AbstractEngine):
    """Tasks on the Ray cluster at `address` (None: start one here for this sweep; "auto": the
    one that runs here already).
    """

    def __init__(self, address: str | None = None, workers: int | None = None):
        require(
            importlib.util.find_spec("ray") is not None,
            "engine ray, but Ray is not installed",
            "Ray",
            "pip install 'headcount[ray]'",
        )
        require(
            workers is None or 1 <= workers <= MOST_WORKERS,
            f"workers {workers}",
            f"from 1 to {MOST_WORKERS}",
            "give a number, or leave it out for one per core",
        )
        self.address, self.workers = address, workers
        self._ours = False  # did we connect, so that we must leave?
        self._tasks: dict[Any, Batch] = {}  # generator of records → its batch
        self._counted = (1, -COUNT_SECONDS)

    @property
    def size(self) -> int:
        return self.workers or self._cores()

    def start(self, runner: AbstractRunner) -> None:
        self._connect()
        import ray

        def compute(carried: AbstractRunner, wire: list[tuple[str, dict]]) -> Any:
            yield from carried.answers(wire)

        environment = {"env_vars": one_thread()}
        self._remote = ray.remote(
            max_retries=0, num_cpus=1, runtime_env=environment, num_returns="streaming"
        )(compute)
        self._runner = ray.put(runner)

    def idle(self) -> list[str | None]:
        return [None] * (self.size - len(self._tasks))

    def submit(self, batch: Batch) -> None:
        self._tasks[self._remote.remote(self._runner, batch.wire)] = batch

    def poll(self, timeout: float) -> list[Event]:
        import ray

        try:
            ready, _ = ray.wait(list(self._tasks), timeout=timeout, fetch_local=False)
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise EngineError(
                f"the Ray cluster is gone ({type(error).__name__}); run the same command again when"
                " it is back"
            ) from None
        return [event for task in ready for event in self._heard(task)]

    def _heard(self, task: Any) -> list[Event]:
        """The next record of a task, or its end."""
        import ray
        from ray import exceptions

        batch = self._tasks[task]
        try:
            return [RunAnswered(batch.number, ray.get(next(task)))]
        except StopIteration:
            ended = BatchEnded(batch.number)
        except exceptions.RayTaskError as error:  # raised by the runner
            ended = BatchEnded(batch.number, str(error))
        except exceptions.RayError as error:  # worker, node or memory: not the run's own fault
            ended = BatchEnded(
                batch.number, f"Ray lost the worker ({type(error).__name__})", lost=True
            )
        del self._tasks[task]
        return [ended]

    def stop(self) -> None:
        if not self._ours and not self._tasks:
            return
        import ray

        for task in self._tasks:
            ray.cancel(task, force=True)
        self._tasks.clear()
        if self._ours:
            ray.shutdown()
            self._ours = False

    def _connect(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        if ray.is_initialized():
            return
        here: dict[str, Any] = (
            {"address": self.address}
            if self.address
            else {"num_cpus": self.workers, "include_dashboard": False}
        )
        try:
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **here)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = (
                f"the Ray cluster at {self.address!r}"
                if self.address
                else "a Ray cluster of its own"
            )
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"cannot reach {where} ({reason})",
                "a running cluster",
                "start one: ray start --head",
            ) from None
        self._ours = True

    def _cores(self) -> int:
        """Cores of the cluster as of not long ago."""
        count, when = self._counted
        if time.monotonic() - when >= COUNT_SECONDS:
            self._connect()
            import ray

            count = int(ray.cluster_resources().get("CPU", 0))
            if count < 1:
                raise EngineError("the Ray cluster has no cores")
            self._counted = (count, time.monotonic())
        return count
