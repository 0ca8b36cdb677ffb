"""`headcount diagnose` on the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    y = np.roll(x, 4) + 0.3 * rng.normal(size=600)
    path = tmp_path_factory.mktemp("data") / "data.npz"
    np.savez(path, x=x, y=y)
    return path


def run(*words):
    command = [sys.executable, "-m", "headcount.cli", "diagnose", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_json_advice_and_page(data, tmp_path):
    words = (data, "--max-lag", "12", "--no-learner", "--json", "-o", tmp_path / "page")
    done = run(*words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["memory"], [lag["lag"] for lag in found["lags"]]) == ("fixed", [4])
    assert found["sentence"].startswith("The answer depends on lag 4 (R² 0.")
    advice = found["advice"]
    assert advice["target"] == "fixed:lags=4,inputs=uniform,readout=linear:weights=1"
    assert (advice["layers"], advice["heads"]) == (1, 1)
    assert advice["claim"]["status"] == "proved and checked"
    page = (tmp_path / "page" / "report.html").read_text()
    assert found["sentence"].split("(")[0] in page
    assert page.count("<svg") == 2
    assert "How it was found" in page
    assert json.loads((tmp_path / "page" / "diagnosis.json").read_text()) == found


def test_the_sentence_comes_first(data):
    done = run(data, "--max-lag", "12", "--no-learner", "--no-advice")
    assert done.stdout.startswith("The answer depends on lag 4")
    assert "not causal" in done.stdout


def test_bad_input_is_one_line(tmp_path):
    (tmp_path / "junk.csv").write_bytes(bytes(range(256)))
    done = run(tmp_path / "junk.csv")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: junk.csv is no text; expected")
