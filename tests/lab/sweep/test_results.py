"""Status, tables and estimates: all from stored rows, none of them writes."""

import csv
import io
import sys

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json, content_hash
from headcount.lab.sweep.driver import jobs_of, sweep
from headcount.lab.sweep.estimate import _nearest, _spread, estimate
from headcount.lab.sweep.results import labels, results, status, to_csv, to_parquet
from headcount.lab.sweep.store import Store
from tests.lab.sweep.test_driver import Here
from tests.lab.sweep.toy import Toy, ToySpec, plan, record


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.sqlite"
    sweep([*plan(5), ToySpec(value=9, fault="raise")], path, engine=Here(), runner=Toy())
    return path


def test_status_counts_and_says_why(store):
    with Store(store) as opened:
        opened.enter()
        waiting = plan(8)[5:]
        opened.add({content_hash(spec): canonical_json(spec) for spec in waiting})
        opened.claim([content_hash(waiting[0])])
        found = status(store)
    assert (found.runs, found.finished, found.failed, found.running, found.waiting) == (
        9,
        5,
        1,
        1,
        2,
    )
    assert found.failures[0].error == "ArithmeticError('value 9 is unlucky')"
    assert "value=9" in found.failures[0].label
    assert len(found.sweeps) == 1
    assert sum(found.outcomes.values()) == 6
    assert status(store).running == 0


def test_one_row_a_run_with_every_digit(store):
    table, damaged = results(store)
    assert damaged == []
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [row["value"] for row in rows] == ["0", "1", "2", "3", "4", "9"]
    for row, spec in zip(rows, plan(5), strict=False):
        assert row["id"] == content_hash(spec)
        assert float(row["final.eval_loss"]) == record(spec)["final"]["eval_loss"]
    assert rows[5]["status"] == "failed"
    assert rows[5]["final.eval_loss"] == ""
    assert "unlucky" in rows[5]["error"]


def test_curves_hold_every_logged_step(store):
    table, _ = results(store, curves=True)
    assert list(table) == ["id", "metric", "step", "value"]
    assert len(table["id"]) == 5 * 2 * 5
    chosen = [
        v
        for i, m, v in zip(table["id"], table["metric"], table["value"], strict=True)
        if i == table["id"][0] and m == "train_loss"
    ]
    assert chosen == record(plan(1)[0])["metrics"]["train_loss"]


def test_parquet_gives_the_same_table(store):
    parquet = pytest.importorskip("pyarrow.parquet")
    table, _ = results(store)
    found = parquet.read_table(io.BytesIO(to_parquet(table))).to_pydict()
    assert list(found) == list(table)
    assert found["final.eval_loss"] == table["final.eval_loss"]
    assert found["id"] == table["id"]


def test_parquet_of_mixed_columns_and_without_pyarrow(monkeypatch):
    pytest.importorskip("pyarrow")
    assert (
        to_parquet({"a": [1, "x", None], "b": [1, 2.5, None], "c": [None, None, None]})[:4]
        == b"PAR1"
    )
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"headcount\[data\]"):
        to_parquet({"a": [1]})


def test_labels_tell_runs_apart():
    assert labels([{"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3, "d": [1]}}]) == [
        "b.c=2",
        "b.c=3 b.d=[1]",
    ]
    assert labels([{"memory": {"kind": "x"}, "seed": 4}]) == ["memory.kind=x seed=4"]


def test_the_estimate_is_measured_or_taken_from_stored_runs(store):
    specs = plan(9, seconds=0.2, busy=True)
    jobs = jobs_of(specs, Toy())
    cost = estimate(jobs, [], Here(), Toy())
    assert (cost.to_do, cost.shapes, cost.measured) == (9, 2, 2)
    # a tenth and a fifth of each shape were computed, and drawn out
    assert cost.cpu_seconds == pytest.approx(9 * 0.2, rel=0.3)
    half = estimate(jobs, [], Here(2), Toy())
    assert half.seconds == pytest.approx(half.cpu_seconds / 2)
    sweep(specs[:4], store, engine=Here(), runner=Toy())
    with Store(store, read_only=True) as opened:
        rows, _ = opened.rows()
    rest = estimate(jobs, rows, Here(), Unmeasured())  # nothing to measure: nothing is run
    assert (rest.to_do, rest.cpu_seconds) == (5, pytest.approx(5 * 0.2, rel=0.3))
    assert estimate(jobs_of(specs[:4], Toy()), rows, Here(), Unmeasured()).to_do == 0


class Unmeasured(Toy):
    """Says how long runs are, and must not be asked for one."""

    def work(self, spec):
        return spec.seconds

    def shortened(self, spec):
        raise AssertionError("there is nothing to measure")


def test_runs_of_one_shape_and_unknown_shapes_cost_in_the_ratio_of_their_work(store):
    short, long = ToySpec(seconds=0.1, busy=True), ToySpec(seconds=0.4, busy=True, seed=1)
    sweep([short], store, engine=Here(), runner=Toy())
    with Store(store, read_only=True) as opened:
        rows, _ = opened.rows()
    jobs = jobs_of([short, long], Unmeasured())
    assert estimate(jobs, rows, Here(), Unmeasured()).cpu_seconds == pytest.approx(0.4, rel=0.3)
    unknown = jobs_of([short, ToySpec(seconds=0.8, shape="b", fault="raise")], Toy())
    Longer = type("Longer", (Toy,), {"work": lambda self, spec: spec.seconds})
    cost = estimate(unknown, rows, Here(), Longer())  # shape b fails when it is measured
    assert (cost.measured, cost.cpu_seconds) == (0, pytest.approx(0.8, rel=0.3))


def test_calibration_begins_in_the_middle_of_the_work_then_of_the_shapes():
    """One shape of long runs, many of short ones: both are tried at once."""
    specs = [ToySpec(seconds=1, shape="long", seed=i) for i in range(40)]
    specs += [ToySpec(seconds=0.1, shape=f"short-{i}") for i in range(9)]
    jobs = jobs_of(specs, Toy())
    work = {job.id: job.spec.seconds for job in jobs.values()}
    order = [job.key for job in _spread(list(jobs.values()), work)]
    assert order[0] == "long"
    assert order[1].startswith("short")
    assert len(order) == len(set(order)) == 10


def test_a_shape_that_was_not_reached_costs_what_the_nearest_in_work_does():
    means, work = {"small": 5.0, "large": 1.0}, {"small": 1.0, "large": 100.0, "new": 2.0}
    assert _nearest("new", means, work) == "small"
    assert _nearest("large", means, work) == "large"
    assert _nearest("new", {}, work) == "new"


def test_an_estimate_of_shapes_that_fail_says_that_nothing_was_measured():
    cost = estimate(jobs_of([ToySpec(fault="raise")], Toy()), [], Here(), Toy())
    assert (cost.measured, cost.ends) == (0, "")
