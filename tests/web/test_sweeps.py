"""Stop and continue: a wish in the store, and one child process that computes what is missing."""

import contextlib
import json
import subprocess
import sys

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json, content_hash
from headcount.lab.latest_verdicts import LATEST
from headcount.lab.sweep.store import Store
from headcount.train.run_spec import RunSpec
from headcount.web import sweeps as module
from headcount.web.app import application
from headcount.web.continue_sweep import main, unfinished
from headcount.web.guard import Refused
from headcount.web.sweeps import Sweeps
from headcount.web.views.stores import labels

SPEC = {
    "memory": "exp-4b",
    "model": {"attention": "dp-free", "ffn": "none", "width": 4, "heads": 1, "bias": "lin"},
    "train": {"steps": 2, "length": 8, "loss": "population", "log": 1, "effort": "low"},
}


@pytest.fixture
def store(root):
    path = root / "begun.sqlite"
    path.unlink(missing_ok=True)
    return path


def begun(path, **changes):
    """A store that knows one run and has not computed it."""
    spec = RunSpec.from_values({**SPEC, "seed": 0, **changes})
    with Store(path) as opened:
        opened.add({spec.content_hash: canonical_json(spec)})
    return spec


def test_the_wish_reaches_the_sweeps_at_work_and_no_later_one(ask, store):
    begun(store)
    with Store(store) as mine:
        mine.enter()
        assert not mine.asked_to_stop()
        assert ask("sweep", store="begun.sqlite", act="stop")[1]["sweeps"] == 1
        assert mine.asked_to_stop()
    with Store(store) as later:
        later.enter()
        assert not later.asked_to_stop()


def test_what_is_missing_is_computed(store):
    spec = begun(store)
    assert len(unfinished(store)) == 1
    assert main(str(store)) == 0
    with Store(store, read_only=True) as opened:
        assert list(opened.present()) == [spec.content_hash]
    with pytest.raises(InputError, match="nothing left"):
        unfinished(store)
    assert main(str(store)) == 2


@pytest.mark.parametrize("path", ["/etc/passwd", "secret.txt", "secret"])
def test_a_store_cannot_make_it_read_a_file(ask, store, path):
    spec = {"memory": {"kind": "stdlib", "path": path}}
    with Store(store) as opened:
        opened.add({content_hash(spec): json.dumps(spec)})
    status, told = ask("sweep", store="begun.sqlite", act="continue")
    assert (status, "nothing outside the store" in told["error"]) == (422, True)


def test_verdicts_of_the_last_look_are_shown(ask, store):
    begun(store)
    with Store(store) as opened:
        opened.keep(LATEST, json.dumps([{"insight": "4a", "outcome": "supported"}]))
    assert ask("runs", store="begun.sqlite")[1]["verdicts"][0]["insight"] == "4a"


def test_one_child_at_a_time_and_none_after_the_end(monkeypatch, tmp_path):
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    started = []
    real = module.subprocess.Popen
    monkeypatch.setattr(
        module.subprocess, "Popen", lambda words, **o: started.append(words) or real(sleep, **o)
    )
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    sweeps = Sweeps()
    with contextlib.closing(sweeps):
        sweeps.start(tmp_path / "a.sqlite")
        module_of = ["-P", "-m", "headcount.web.continue_sweep"]
        assert started[0][1:] == [*module_of, str(tmp_path / "a.sqlite"), "watched"]
        with pytest.raises(Refused):
            sweeps.start(tmp_path / "b.sqlite")
    assert not sweeps.busy


def test_a_continued_sweep_ends_with_whoever_holds_its_input(store):
    begun(store, train={**SPEC["train"], "steps": 1_000_000, "log": 100_000})
    words = [sys.executable, "-P", "-m", "headcount.web.continue_sweep", str(store), "watched"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        _, said = child.communicate(timeout=60)  # closes its input, as the end of a server does
    assert b"Traceback" not in said
    assert child.returncode in (0, 130)
    assert not Store(store, read_only=True).present()


def test_a_continuation_that_fails_says_why(monkeypatch, client, root, store):
    begun(store)
    explorer = client.app.app.state.sweeps
    fail = [sys.executable, "-c", "import sys; sys.exit('error: no room')"]
    real = module.subprocess.Popen
    monkeypatch.setattr(module.subprocess, "Popen", lambda words, **o: real(fail, **o))
    assert explorer.failure(store) is None
    asked = {"store": "begun.sqlite", "act": "continue"}
    assert client.post("/api/sweep", json=asked).status_code == 200
    explorer._child.wait()
    told = client.post("/api/runs", json={"store": "begun.sqlite"}).json()
    assert told["continue_failed"] == "no room"
    explorer.close()


def test_a_wish_to_stop_makes_no_store_of_an_empty_file(ask, store):
    store.touch()
    status, told = ask("sweep", store="begun.sqlite", act="stop")
    assert (status, store.stat().st_size) == (422, 0), told


def test_others_may_not_act(root, store):
    from starlette.testclient import TestClient

    begun(store)
    app = application(root, ("far:1",), workers=1, acting=False)
    asked = {"store": "begun.sqlite", "act": "stop"}
    with TestClient(app, base_url="http://far:1") as client:
        assert client.post("/api/sweep", json=asked).status_code == 403


def test_runs_that_differ_look_different():
    run = {"memory": {"kind": "exp-4b"}, "train": {"lr": 0.03, "log": 4}, "seed": 5000}
    sizes = {"a": 8, "b": 64, "c": 64}
    specs = {id: {**run, "data": {"samples": n, "batch": n}} for id, n in sizes.items()}
    specs["c"]["train"] = {"lr": 0.03, "log": 4, "steps": 10}
    specs["d"] = {**run, "seed": 1}
    assert labels(specs) == {
        "a": "exp-4b, lr 0.03, samples 8, seed 5000",
        "b": "exp-4b, lr 0.03, samples 64, seed 5000",
        "c": "exp-4b, lr 0.03, samples 64, steps 10, seed 5000",
        "d": "exp-4b, lr 0.03, seed 1",
    }
