"""Workers stay between the sweeps of a study, and go where something is still open."""

import dataclasses

from headcount.lab.sweep.engine import AbstractEngine, Batch, BatchEnded
from headcount.studies.kept_workers import kept


class Told(AbstractEngine):
    """Writes down what it is asked for; every batch ends when polled."""

    def __init__(self):
        self.calls, self.batches = [], []

    size = 1

    def start(self, runner):
        self.calls.append(f"start {runner.name}")

    def idle(self):
        return [None]

    def submit(self, batch):
        self.batches.append(batch)

    def poll(self, timeout):
        done, self.batches = self.batches, []
        return [BatchEnded(batch.number) for batch in done]

    def stop(self):
        self.calls.append("stop")


@dataclasses.dataclass(frozen=True)
class Named:
    name: str


def test_two_sweeps_share_their_workers():
    engine = Told()
    with kept(engine) as held:
        for _ in range(2):
            held.start(Named("a"))
            held.submit(Batch(0, ()))
            held.poll(0)
            held.stop()
        assert engine.calls == ["stop", "start a"]  # nothing was running before the first
    assert engine.calls[-1] == "stop"


def test_a_sweep_that_ends_early_ends_its_workers():
    engine = Told()
    with kept(engine) as held:
        held.start(Named("a"))
        held.submit(Batch(0, ()))
        held.stop()
        assert engine.calls == ["stop", "start a", "stop"]
        held.start(Named("a"))
        assert engine.calls[-1] == "start a"


def test_another_runner_gets_workers_of_its_own():
    engine = Told()
    with kept(engine) as held:
        held.start(Named("a"))
        held.start(Named("b"))
    assert engine.calls == ["stop", "start a", "stop", "start b", "stop"]
