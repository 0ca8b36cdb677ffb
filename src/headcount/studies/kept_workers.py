"""Workers that stay between the sweeps of one study.

A study is several sweeps: a pilot, looks at more seeds, doubled steps. Each would start new worker
processes, import everything and compile its programs again. Kept workers still hold what they
compiled: runs that differ in seed, steps, learning rate or initial rates share a program.

What is being computed when a sweep ends early (^C, an error) is dropped with its workers, as ever.
"""

import contextlib
from collections.abc import Iterator

from headcount.lab.sweep.engine import AbstractEngine, AbstractRunner, Batch, BatchEnded, Event
from headcount.lab.sweep.local_engine import LocalEngine


class KeptEngine(AbstractEngine):
    """Another engine, not stopped by a sweep that has nothing open, but by `close`."""

    def __init__(self, engine: AbstractEngine):
        self.engine = engine
        self._runner: AbstractRunner | None = None
        self._open: set[int] = set()  # numbers of batches

    @property
    def size(self) -> int:
        return self.engine.size

    def start(self, runner: AbstractRunner) -> None:
        if self._runner == runner:
            return
        self.close()
        self.engine.start(runner)
        self._runner = runner

    def idle(self) -> list[str | None]:
        return self.engine.idle()

    def submit(self, batch: Batch) -> None:
        self._open.add(batch.number)
        self.engine.submit(batch)

    def poll(self, timeout: float) -> list[Event]:
        events = self.engine.poll(timeout)
        self._open -= {event.batch for event in events if isinstance(event, BatchEnded)}
        return events

    def stop(self) -> None:
        """A sweep is over; its numbers begin again, so nothing of it may come later."""
        if self._open:
            self.close()

    def close(self) -> None:
        """End all workers."""
        self._runner = None
        self._open.clear()
        self.engine.stop()


@contextlib.contextmanager
def kept(engine: AbstractEngine | None) -> Iterator[KeptEngine]:
    """The engine (None: one worker a core), its workers kept until the end of the block."""
    held = KeptEngine(engine or LocalEngine())
    try:
        yield held
    finally:
        held.close()
