"""What is promised on sequences of one length only: plans say so, saved models keep it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from headcount.construct.construct import construct
from headcount.construct.plan import plan
from headcount.construct.plan_record import Need
from headcount.core.errors import InputError
from headcount.model.save import first_position, load

TARGET = "essential:kernel=exp:0.3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = construct(TARGET, tol=0.05, normaliser="softmax", length=24)
    assert made.to_json(TARGET)["first_position"] == 24
    return made.save(tmp_path_factory.mktemp("saved") / "model", TARGET)


def run(folder, *arguments):
    command = [sys.executable, str(folder / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_model_of_a_plan_that_serves_one_length_says_so():
    found = plan(TARGET, 0.05, length=24)
    seen = set()
    for row in found.rows:
        if row.draft is not None and row.request.normaliser == "softmax":
            assert (Need.ONE_LENGTH in row.needs) == (row.draft.first >= 24), row
            seen.add(row.bias)
    assert {"lin", "table"} <= seen
    assert "at the end of sequences of exactly 24 tokens" in found.words(TARGET)
    assert "exactly" not in plan("fixed:lags=3", 0.05, length=24).words("fixed:lags=3")


def test_a_saved_model_keeps_its_first_position(folder):
    assert first_position(folder) == 24
    load(folder)
    shown = run(folder).stdout.splitlines()
    assert shown[-1].split()[0] == "24"
    assert [line.endswith("(not promised so early)") for line in shown[1:]] == [True] * 7 + [False]


@pytest.mark.parametrize("wrong", [0, -3, "24", True, 1.5])
def test_another_first_position_is_refused(folder, wrong):
    place = folder / "config.json"
    kept = place.read_text()
    try:
        place.write_text(json.dumps({**json.loads(kept), "first_position": wrong}))
        with pytest.raises(InputError, match="first position"):
            load(folder)
    finally:
        place.write_text(kept)


def test_run_refuses_an_array_without_sequences(folder, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((24, 1)))
    done = run(folder, tmp_path / "x.npy")
    assert done.returncode == 2
    expected = "error: an array of shape [24, 1]; expected [sequences, tokens, 1]"
    assert done.stderr.splitlines() == [expected]
