"""What a sweep does when nothing goes wrong with the machine: continuing, failing, forcing,
weights, figures that do not depend on workers.
"""

import json

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import content_hash
from headcount.lab.sweep import driver
from headcount.lab.sweep.driver import first_line, sweep
from headcount.lab.sweep.engine import (
    AbstractEngine,
    AbstractRunner,
    Batch,
    BatchEnded,
    EngineError,
    RunAnswered,
)
from headcount.lab.sweep.local_engine import LocalEngine, one_thread
from headcount.lab.sweep.store import Store
from tests.lab.sweep.test_faults import computed, figures, undisturbed
from tests.lab.sweep.toy import Toy, ToySpec, plan


class Here(AbstractEngine):
    """Computes in this process, one event at a time: sweeps without processes."""

    def __init__(self, size=1):
        self.tasks, self._size = [], size

    @property
    def size(self):
        return self._size

    def start(self, runner):
        self.runner = runner

    def idle(self):
        return [None] * (self._size - len(self.tasks))

    def submit(self, batch: Batch):
        self.tasks.append((batch.number, self.runner.answers(batch.wire)))

    def poll(self, timeout):
        number, answers = self.tasks[0]
        try:
            return [RunAnswered(number, next(answers))]
        except StopIteration:
            error = ""
        except Exception as raised:
            error = repr(raised)
        self.tasks.pop(0)
        return [BatchEnded(number, error)]

    def stop(self):
        self.tasks.clear()


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.sqlite"


@pytest.mark.parametrize(
    "engine",
    [LocalEngine(1), LocalEngine(3), Here(1), Here(5)],
    ids=["one", "three", "here", "here-five"],
)
def test_the_figures_do_not_depend_on_workers_or_order(store, engine):
    specs = plan(17)
    done = sweep(specs[::-1], store, engine=engine, runner=Toy())
    assert done.complete
    assert figures(store) == undisturbed(specs)
    assert sum(done.outcomes.values()) == 17


def test_a_sweep_ends_when_the_store_is_asked_for_it(store, monkeypatch):
    monkeypatch.setattr(driver, "BEAT_SECONDS", 0.0)

    def ask(progress):
        if progress.finished == 2:
            with Store(store) as other:
                assert other.ask_to_stop() == 1

    done = sweep(plan(6), store, engine=Here(), runner=Toy(), watch=ask)
    assert done.interrupted
    assert 2 <= done.computed < 6
    assert sweep(plan(6), store, engine=Here(), runner=Toy()).complete  # the wish was not for it


def test_running_again_continues_and_repeats_nothing(store, tmp_path):
    log = tmp_path / "log"
    sweep(plan(3), store, engine=Here(), runner=Toy(log=str(log)))
    done = sweep(plan(5), store, engine=Here(), runner=Toy(log=str(log)))
    assert (done.before, done.computed) == (3, 2)
    assert set(computed(log)[0].values()) == {1}
    again = sweep(plan(5), store, engine=Here(), runner=Toy(log=str(log)))
    assert (again.before, again.computed) == (5, 0)


def test_a_failure_is_recorded_the_rest_goes_on_and_it_is_retried_only_when_asked(store, tmp_path):
    log = tmp_path / "log"
    bad = ToySpec(value=7, fault="raise")
    specs = [bad, *plan(6)]
    done = sweep(specs, store, engine=LocalEngine(2), runner=Toy(log=str(log)))
    assert (done.failed, done.missing, done.complete) == (1, 0, False)
    with Store(store, read_only=True) as opened:
        (row,) = [row for row in opened.rows()[0] if row.status == "failed"]
    assert row.id == content_hash(bad)
    assert "Traceback" in row.error
    assert first_line(row.error) == "ArithmeticError: value 7 is unlucky"
    assert sweep(specs, store, engine=Here(), runner=Toy()).failed == 1
    assert computed(log)[0] == {content_hash(spec): 1 for spec in specs[1:]}
    done = sweep(specs, store, engine=Here(), runner=Toy(), retry_failed=True)
    assert (done.before, done.failed) == (6, 1)


def test_a_run_that_kills_its_worker_once_succeeds_and_one_that_always_does_fails(store, tmp_path):
    once = [ToySpec(value=i, fault="die-once", marker=str(tmp_path / f"m{i}")) for i in range(2)]
    always = ToySpec(value=9, fault="cry")
    done = sweep([*once, always, *plan(4)], store, engine=LocalEngine(2), runner=Toy())
    assert (done.failed, done.missing) == (1, 0)
    with Store(store, read_only=True) as opened:
        (row,) = [row for row in opened.rows()[0] if row.status == "failed"]
    assert row.id == content_hash(always)
    assert (
        row.error
        == "the worker was killed by signal 9; the last words of a worker (on each of 3 attempts)"
    )


def test_fail_fast_ends_at_the_first_failure(store):
    specs = [ToySpec(value=99, fault="raise"), *plan(30, seconds=0.02)]
    done = sweep(specs, store, engine=LocalEngine(1), runner=Toy(), fail_fast=True)
    assert done.stopped
    assert done.failed == 1
    assert done.missing > 0
    assert sweep(specs, store, engine=LocalEngine(2), runner=Toy()).missing == 0


def test_force_computes_again(store, tmp_path):
    log = tmp_path / "log"
    sweep(plan(4), store, engine=Here(), runner=Toy())
    done = sweep(plan(2), store, engine=Here(), runner=Toy(log=str(log)), force=True)
    assert (done.before, done.computed) == (0, 2)
    assert len(figures(store)) == 4


def test_weights_lie_beside_the_store_and_what_lacks_them_is_told(store):
    sweep(plan(2), store, engine=Here(), runner=Toy())
    done = sweep(plan(4), store, engine=LocalEngine(2), runner=Toy(weights=True))
    assert done.notes == (
        "2 runs were finished without their weights; --force computes them again",
    )
    kept = {folder.name for folder in store.with_name("runs.sqlite.weights").iterdir()}
    assert kept == {content_hash(spec) for spec in plan(4)[2:]}


def test_a_worker_has_one_thread_and_the_users_other_flags(store, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_of_the_user=1")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    sweep(plan(1), store, engine=LocalEngine(1, pin=True), runner=Toy())
    with Store(store, read_only=True) as opened:
        (row,), _ = opened.rows()
    assert row.record["versions"] == {
        "threads": "1",
        "flags": "--xla_of_the_user=1 --xla_cpu_multi_thread_eigen=false",
    }
    assert one_thread()["OPENBLAS_NUM_THREADS"] == "1"


class Stillborn(Toy):
    """Cannot be unpickled in a worker."""

    def __reduce__(self):
        return json.loads, ("not JSON",)


def test_workers_that_cannot_start_end_the_sweep(store):
    with pytest.raises(EngineError, match=r"cannot start.*JSONDecodeError"):
        sweep(plan(3), store, engine=LocalEngine(2), runner=Stillborn())
    assert sweep(plan(3), store, engine=Here(), runner=Toy()).complete


class Forgetful(Toy):
    def run(self, specs):
        yield from list(super().run(specs))[1:]


def test_a_runner_that_forgets_a_run_is_noticed(store):
    done = sweep(plan(2), store, engine=Here(), runner=Forgetful())
    assert done.failed == 2


class Garbled(Toy):
    def read(self, values):
        return ToySpec.from_values({**values, "value": values["value"] + 1})


def test_a_spec_that_reads_back_differently_is_not_trained(store):
    done = sweep(plan(1), store, engine=Here(), runner=Garbled())
    assert done.failed == 1


def test_impossible_options_are_refused(store):
    with pytest.raises(InputError, match="workers 0"):
        LocalEngine(0)

    class Main(Toy):
        pass

    Main.__module__ = "__main__"
    with pytest.raises(InputError, match="main script"):
        sweep(plan(1), store, engine=LocalEngine(1), runner=Main())


def test_the_watcher_sees_every_run_and_the_time_left(store):
    seen = []
    sweep(
        plan(6, seconds=0.01),
        store,
        engine=Here(),
        runner=Toy(),
        watch=lambda p: seen.append((p.done, p.total, p.seconds_left)),
    )
    assert [done for done, _, _ in seen][-1] == 6
    assert sorted({done for done, _, _ in seen}) == list(range(7))
    left = [seconds for _, _, seconds in seen if seconds is not None]
    assert left[0] == pytest.approx(0.05)
    assert left[-1] == 0


def test_runners_are_abstract():
    with pytest.raises(TypeError):
        AbstractRunner()
