"""The local engine: processes of our own, one compute thread each, started when there is work.

One-thread processes, one per core, are half as fast again as one process on all cores at this size
of model (docs/numerics.md#speed: XLA's own threads waste a third of the CPU), and their sums do not
depend on how many threads there are, so neither do the figures. The limits are in the environment
before the child's Python starts: XLA and BLAS read them when loaded.

The processes are started by `subprocess`, not by `multiprocessing`, which would import the user's
main script again in each of them.
"""

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any

from headcount.core.arguments import checked
from headcount.core.children import SAFE_FLAG, SAFE_PATH, asked_path, folder_of, search_path
from headcount.core.errors import require
from headcount.lab.sweep.engine import (
    AbstractEngine,
    AbstractRunner,
    Batch,
    BatchEnded,
    EngineError,
    Event,
    RunAnswered,
)

FAILED_STARTS = 3  # so many workers in a row that die before they are ready: more are no use
MOST_WORKERS = 1024  # processes of one machine
TAIL = 600  # characters of a dead worker's log that are shown
END_SECONDS = 5.0


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread() -> dict[str, str]:
    """Variables that keep a process to one compute thread; a user's other XLA flags stay.

    NPROC sizes XLA's pools, and with them how it splits a sum: without it the last digits of a
    matrix product depend on the number of cores that the process may use, even with multi-threaded
    Eigen off (a test sees it).
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    return {"XLA_FLAGS": flags, **dict.fromkeys(threads, "1")}


def _path(runner: AbstractRunner) -> str:
    """Where a worker looks for modules: as this process does, so that a runner beside the user's
    script is found; where it is found through the working folder alone, that comes last, and hides
    no other module.
    """
    own = folder_of(type(runner).__module__)
    path = asked_path()
    return search_path(path if own is None or own in path else [*path, own])


class _Worker:
    """One child process, and the thread that reads what it says into the engine's queue."""

    def __init__(
        self,
        number: int,
        runner: AbstractRunner,
        said: "queue.Queue[Any]",
        log: IO[bytes],
        pin: bool,
    ):
        self.number, self.log = number, log
        self.key: str | None = None
        self.batch: Batch | None = None
        self.ready = False
        self.process = subprocess.Popen(
            [sys.executable, SAFE_FLAG, "-m", "headcount.lab.sweep.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **one_thread(), **SAFE_PATH, "PYTHONPATH": _path(runner)},
        )
        if pin and hasattr(os, "sched_setaffinity"):
            allowed = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(self.process.pid, {allowed[number % len(allowed)]})
        threading.Thread(target=self._listen, args=(said,), daemon=True).start()
        self.send(runner)

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # a dead worker is noticed by the thread that reads
            pickle.dump(message, self.process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()

    def _listen(self, said: "queue.Queue[Any]") -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            try:
                while True:
                    said.put((self, pickle.load(stream)))
            except Exception:  # end of file, or a message cut short by death
                said.put((self, ("dead", "")))

    def end(self) -> None:
        """Closing its input ends it; if not, it is killed."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def end_of_log(self) -> str:
        """The end of its log."""
        self.log.seek(0)
        return " ".join(self.log.read().decode(errors="replace")[-TAIL:].split())


@checked
class LocalEngine(AbstractEngine):
    """Worker processes on this machine: as many as cores, or `workers`; with `pin` each stays on
    a core of its own.
    """

    def __init__(self, workers: int | None = None, pin: bool = False):
        self._count = cores() if workers is None else workers
        require(
            1 <= self._count <= MOST_WORKERS,
            f"workers {workers}",
            f"from 1 to {MOST_WORKERS}",
            "give a number, or leave it out for one per core",
        )
        self.pin = pin
        self._workers: list[_Worker] = []
        self._said: queue.Queue[Any] = queue.Queue()
        self._failed_starts = 0
        self._runner: AbstractRunner | None = None

    @property
    def size(self) -> int:
        return self._count

    @property
    def pids(self) -> list[int]:
        """Process numbers of the living workers."""
        return [worker.process.pid for worker in self._workers]

    def start(self, runner: AbstractRunner) -> None:
        require(
            type(runner).__module__ != "__main__",
            f"the runner {type(runner).__name__} is defined in the main script",
            "a class that a worker process can import",
            "move it to a module",
        )
        self._runner = runner

    def idle(self) -> list[str | None]:
        fresh: list[str | None] = [None] * (self._count - len(self._workers))
        return [worker.key for worker in self._workers if worker.batch is None] + fresh

    def submit(self, batch: Batch) -> None:
        free = [worker for worker in self._workers if worker.batch is None]
        worker = next((w for w in free if w.key == batch.key), None)
        if worker is None:
            worker = self._spawn() if len(self._workers) < self._count else free[0]
        worker.batch, worker.key = batch, batch.key
        worker.send(batch.wire)

    def _spawn(self) -> _Worker:
        assert self._runner is not None
        log = tempfile.TemporaryFile()  # noqa: SIM115 — closed when the worker is removed
        taken = {worker.number for worker in self._workers}
        number = next(i for i in range(self._count) if i not in taken)
        worker = _Worker(number, self._runner, self._said, log, self.pin)
        self._workers.append(worker)
        return worker

    def poll(self, timeout: float) -> list[Event]:
        events: list[Event] = []
        try:
            events += self._heard(*self._said.get(timeout=timeout))
            while True:
                events += self._heard(*self._said.get_nowait())
        except queue.Empty:
            return events

    def _heard(self, worker: _Worker, message: tuple[Any, ...]) -> list[Event]:
        kind, batch = message[0], worker.batch
        if kind == "ready":
            worker.ready, self._failed_starts = True, 0
            return []
        if kind == "dead":
            return self._removed(worker)
        assert batch is not None
        if kind == "answer":
            return [RunAnswered(batch.number, message[1])]
        worker.batch = None
        return [BatchEnded(batch.number, message[1])]

    def _removed(self, worker: _Worker) -> list[Event]:
        """A worker that died: its batch is reported lost, its place is free again."""
        if worker not in self._workers:
            return []  # ended by us
        self._workers.remove(worker)
        worker.end()
        code, words = worker.process.returncode, worker.end_of_log()
        worker.log.close()
        self._failed_starts = 0 if worker.ready else self._failed_starts + 1
        if self._failed_starts >= FAILED_STARTS:
            raise EngineError(
                f"worker processes cannot start (exit {code}): {words or 'no message'}"
            )
        how = (
            f"the worker was killed by signal {-code}"
            if code < 0
            else f"the worker ended with code {code}"
        )
        return (
            [BatchEnded(worker.batch.number, f"{how}; {words}".rstrip("; "), lost=True)]
            if worker.batch
            else []
        )

    def stop(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
            worker.log.close()
