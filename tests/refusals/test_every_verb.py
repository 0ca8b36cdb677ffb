"""Each verb asked for what it cannot do: one line that says so, at once, and nothing is written."""

import time

import numpy as np
import pytest

from headcount.core import sizes
from tests.command import run

LINES = {
    "plan fixed:lags=700000": "at most 16384",
    "plan fixed:lags=3 --length 30000000": "from 1 to 16384",
    "plan fixed:lags=3 --length -7": "from 1 to 16384",
    "plan fixed:lags=3 --tol inf": "a positive finite error",
    "plan fixed:lags=3 --tol -1": "a positive finite error",
    "plan recall:symbols=200000": "of memory",
    "plan n-gram:n=40,symbols=40": "a smaller n",
    "plan wavelet:scales=60": "1 to 20",
    "plan essential:kernel=zero.csv": "0 at every lag",
    "plan essential:kernel=array(0+0+0)": "0 at every lag",
    "plan": "headcount plan --help",
    "build fixed:lags=2 --width 0": "at least 1",
    "build fixed:lags=3 --heads 3000000": "at most 4096",
    "fit lag:3 --heads 0": "between 1 and 4096",
    "fit lag:3 --heads 5..2": "ascending",
    "fit lag:3 --heads 1..100000": "heads",
    "fit lag:3 --heads 2 --tol 0.1": "one of the two",
    "fit lag:3 --heads 2 --budget -4": "budget -4",
    "fit power:0.5 --window 3000000000 --heads 2": "at most 1048576",
    "fit nothing.csv --heads 1": "No such file",
    "fit zero.csv --heads 1": "0 at every lag",
    "bound --theorem 9.9 --target fixed:lags=3": "unknown theorem",
    "train keys.yaml": "put it in quotes",
    "train run.yaml model.layers=3000": "at least 50 minutes",
    "sweep run.yaml --dry-run": "'baseline' is missing",
    "sweep run.yaml --workers 0": "from 1 to 1024",
    "status run.yaml": "is not a store",
    "results nothing.sqlite": "there is no store",
    "export nothing": "nothing/config.json",
    "diagnose data.csv": "expected one column, or a target",
    "diagnose data.csv --target z": "no column 'z'",
    "diagnose data.csv --target y --alpha 2": "alpha",
    "diagnose data.csv --target y --max-lag 0": "lag",
    "diagnose data.csv --target y --order 9": "order",
    "zoo --memory nothing": "no model",
    "study nothing": "headcount study --help",
    "reproduce 9z": "unknown experiment",
    "reproduce 4a --workers 0": "at least 1",
    "reproduce 4a --replication -1": "expected 0 to",
    "serve --port 99999999": "0 to 65535",
    "serve --workers 0": "1 to 32",
    "list nothing": "unknown sort",
    "explain nothing": "nearest",
    "fti lag:3": "Did you mean 'fit'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("verbs")
    (place / "run.yaml").write_text("memory: exp-4b\nmodel: {width: 4}\ntrain: {steps: 2}\n")
    (place / "keys.yaml").write_text("3: 4\nmemory: exp-4b\n")
    (place / "zero.csv").write_text("0\n0\n0\n")
    rows = np.random.default_rng(0).normal(size=(50, 2))
    np.savetxt(place / "data.csv", rows, delimiter=",", header="x,y", comments="")
    return place


@pytest.mark.parametrize("line", LINES)
def test_refused_at_once(line, folder, monkeypatch):
    monkeypatch.setenv(sizes.MEMORY, "4")
    before, begun = sorted(path.name for path in folder.rglob("*")), time.process_time()
    done = run(*line.split(), folder=folder)
    assert done.faults() == []
    assert done.code == 2, done
    assert LINES[line] in done.stderr
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert time.process_time() - begun < 10  # most of it is the first import
