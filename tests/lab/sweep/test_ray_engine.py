"""The Ray engine against a real cluster of two worker processes, with a worker killed in the
middle of a run.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import content_hash
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.ray_engine import RayEngine
from headcount.lab.sweep.store import Store
from tests.cli.test_sweep import TOY
from tests.lab.sweep.test_faults import computed, figures, undisturbed
from tests.lab.sweep.toy import Toy, ToySpec, plan

# Ray forks its daemons; the test process has loaded jax, whose warning about that does not concern
# children that exec at once.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra `ray`)"
)


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two cores of its own; the workers find these tests by PYTHONPATH, as a user's
    modules.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), before]))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    yield made.address
    made.shutdown()
    os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@needs_ray
@pytest.mark.slow  # a run that kills its own worker is quick, below
def test_a_worker_killed_in_mid_run_costs_nothing_but_time(cluster, tmp_path):
    store, log, killed, seen = tmp_path / "runs.sqlite", tmp_path / "log", [], set()
    specs = plan(12, seconds=0.2)

    def killer(progress):
        pids = computed(log)[1]
        seen.update(pids)
        if pids and progress.finished >= 2 and not killed:
            killed.append(min(pids))
            os.kill(killed[0], signal.SIGKILL)

    done = sweep(specs, store, engine=RayEngine(cluster), runner=Toy(log=str(log)), watch=killer)
    assert killed
    assert done.complete
    assert len(seen - set(killed)) >= 1
    assert figures(store) == undisturbed(specs)
    again = sweep(specs, store, engine=RayEngine(cluster), runner=Toy())
    assert (again.before, again.computed) == (12, 0)


@needs_ray
@pytest.mark.slow
def test_a_node_that_dies_costs_nothing_but_time(tmp_path, monkeypatch):
    """A whole machine of the cluster goes, with its workers and what they had not yet sent."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), os.environ["PYTHONPATH"]]))
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = made.add_node(num_cpus=2)
    store, log, killed = tmp_path / "runs.sqlite", tmp_path / "log", []
    specs = plan(24, seconds=0.3)

    def killer(progress):
        if len(computed(log)[1]) >= 2 and progress.finished >= 3 and not killed:
            killed.append(progress.finished)
            made.remove_node(node, allow_graceful=False)

    try:
        engine = RayEngine(made.address)
        done = sweep(specs, store, engine=engine, runner=Toy(log=str(log)), watch=killer)
    finally:
        made.shutdown()
    assert killed
    assert killed[0] < 24
    assert (done.complete, done.missing) == (True, 0)
    assert figures(store) == undisturbed(specs)


@needs_ray
def test_errors_and_deaths_of_runs_are_recorded_and_the_rest_goes_on(cluster, tmp_path):
    """And each task computes on one thread, and sends its weights."""
    bad = [ToySpec(value=100, fault="raise"), ToySpec(value=101, fault="die")]
    engine = RayEngine(cluster)
    assert engine.size == 2
    done = sweep(
        [*plan(4), *bad], tmp_path / "runs.sqlite", engine=engine, runner=Toy(weights=True)
    )
    assert (done.outcomes["failed"], done.missing, done.complete) == (2, 0, False)
    from headcount.lab.sweep.results import status

    told = {failure.id: failure.error for failure in status(tmp_path / "runs.sqlite").failures}
    assert "value 100 is unlucky" in told[content_hash(bad[0])]
    assert "on each of 3 attempts" in told[content_hash(bad[1])]
    with Store(tmp_path / "runs.sqlite", read_only=True) as store:
        good = [row for row in store.rows()[0] if row.id not in told]
        assert {row.id for row in good} == {content_hash(spec) for spec in plan(4)}
        for row in good:
            assert (store.weights / row.id / "model.safetensors").read_bytes() == row.id.encode()
            assert row.record["versions"]["threads"] == "1"
            assert "--xla_cpu_multi_thread_eigen=false" in row.record["versions"]["flags"]


@needs_ray
@pytest.mark.slow
def test_the_command_keeps_stdout_for_its_document_though_ray_prints(cluster, tmp_path):
    (tmp_path / "plan.yaml").write_text(
        "baseline: {}\nchanges: [{value: 1}, {value: 2, fault: die}]\n"
    )
    words = ["sweep", "plan.yaml", "--engine", "ray", "--address", cluster, "--json"]
    done = subprocess.run(
        [sys.executable, "-c", TOY, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["outcomes"]["failed"] == 1
    assert done.stderr.splitlines()[-1].startswith("error: 1 of 2 runs failed")


@needs_ray
def test_an_address_without_a_cluster_is_refused():
    with pytest.raises(InputError, match="cannot reach the Ray cluster at"):
        RayEngine("nowhere").start(Toy())


def test_without_ray_the_engine_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'headcount\[ray\]'"):
        RayEngine()
