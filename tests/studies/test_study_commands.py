"""The commands as a user runs them: stopped by ^C and continued, on Ray, tried without running."""

import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from headcount.lab.sweep.store import Store

pytestmark = pytest.mark.timeout(1200)  # each starts processes that import and compile
TARGET = "essential:kernel=exp:0.5,inputs=gaussian"
WORDS = ["study", "finite-sample", TARGET, "--model", "filter:taps=3", "--noise", "0.5", "--sizes",
         "30,60", "--profile", "smoke", "--length", "16", "--json", "--workers", "1"]  # fmt: skip


def command(*words, cwd):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "headcount", *words], cwd=cwd, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def told(*words, cwd):
    with command(*words, cwd=cwd) as done:
        try:
            out, err = done.communicate(timeout=900)
        finally:
            done.kill()  # nothing where it has ended
    assert done.returncode == 0, err
    return json.loads(out)


def stored(path):
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:  # its tables are not made yet
        return 0
    finally:
        connection.close()


def losses(folder):
    with Store(folder / "runs.sqlite", read_only=True) as opened:
        return {row.id: row.record["final"] for row in opened.rows(None)[0]}


@pytest.mark.slow
def test_a_study_goes_on_after_an_interrupt_and_ends_as_if_there_was_none(tmp_path):
    driver = command(*WORDS, "-o", "stopped", cwd=tmp_path)
    place, until = tmp_path / "stopped", time.monotonic() + 300
    while time.monotonic() < until and not stored(place / "runs.sqlite"):
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    _, err = driver.communicate(timeout=300)
    assert driver.returncode == 130
    assert err.splitlines()[-1] == "error: interrupted; run the same command again"
    assert "Traceback" not in err
    some = losses(place)
    whole = told(*WORDS, "-o", "whole", cwd=tmp_path)
    assert 0 < len(some) < len(losses(tmp_path / "whole"))
    after = told(*WORDS, "-o", "stopped", cwd=tmp_path)
    assert losses(place) == losses(tmp_path / "whole")
    assert some.items() <= losses(place).items()
    assert {**after, "report": ""} == {**whole, "report": ""}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is an extra")
def test_ray_gives_the_same_rows(tmp_path):
    here = told(*WORDS, "-o", "here", cwd=tmp_path)
    there = told(*WORDS, "--engine", "ray", "-o", "there", cwd=tmp_path)
    assert losses(tmp_path / "here") == losses(tmp_path / "there")
    assert {**here, "report": ""} == {**there, "report": ""}


@pytest.mark.slow
def test_a_dry_run_tells_cpu_minutes_and_writes_nothing(tmp_path):
    document = told(*WORDS, "--dry-run", cwd=tmp_path)
    assert document["runs"] > 0
    assert document["cpu_minutes"] > 0
    assert 1 <= document["measured"] <= document["shapes"]
    assert not list(tmp_path.iterdir())
