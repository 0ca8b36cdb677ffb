"""kill -9 of whole sweeps and of `reproduce`, as often as HEADCOUNT_KILLS says: nothing is lost,
nothing is doubled.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from headcount.lab.sweep.store import Store
from tests.lab.sweep.test_faults import ROOT, computed, figures, start, undisturbed, wait_until
from tests.lab.sweep.toy import plan

KILLS = int(os.environ.get("HEADCOUNT_KILLS", "100"))
RUNS, SECONDS = 100, 0.05


def stored(store):
    """id → figures of an output folder's store, which is whole and holds every run once."""
    if not store.exists():
        return {}
    with Store(store) as opened:
        rows, damaged = opened.rows()
    found = {row.id: repr(row.figures) for row in rows}
    assert damaged == []
    assert len(rows) == len(found)
    return found


def write_down(line):
    """A long test tells how far it is, in the file HEADCOUNT_KILLS_LOG."""
    if "HEADCOUNT_KILLS_LOG" in os.environ:
        with open(os.environ["HEADCOUNT_KILLS_LOG"], "a") as log:
            log.write(line + "\n")


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_sweeps_killed_many_times(tmp_path):
    """Half of the kills in the middle of the work, the others at any time from the first breath.
    A sweep that gets done is checked and begun anew beside it, so that every kill disturbs one.
    """
    chance, kills, finished = random.Random(7), 0, 0
    wanted = undisturbed([spec.model_copy(update={"seconds": SECONDS}) for spec in plan(RUNS)])
    while kills < KILLS or not finished:
        folder = tmp_path / str(finished)
        folder.mkdir(exist_ok=True)
        store, log = folder / "runs.sqlite", folder / "log"
        before = figures(store) if store.exists() else {}
        again = computed(log)[0]
        driver = start(store, RUNS, seconds=SECONDS, log=log)
        if kills < KILLS:
            if chance.random() < 0.5:
                seen = sum(again.values())
                wait_until(
                    lambda seen=seen, log=log, driver=driver: (
                        sum(computed(log)[0].values()) > seen or driver.poll() is not None
                    )
                )
            time.sleep(chance.random())
            if driver.poll() is None:
                driver.kill()
                kills += 1
        out, err = driver.communicate()
        after = figures(store) if store.exists() else {}
        assert before.items() <= after.items(), "a stored run was lost or changed"
        assert all(computed(log)[0][id] == again[id] for id in before), "computed twice"
        write_down(f"kills {kills} stored {len(after)} finished {finished}")
        if driver.returncode != -signal.SIGKILL:
            assert (driver.returncode, err, json.loads(out)["complete"]) == (0, "", True)
            assert after == wanted
            assert not [path for path in folder.iterdir() if path.name.endswith(("-wal", "-shm"))]
            finished += 1


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_reproduce_killed_many_times(tmp_path):
    """Every process of the job at once, half of them once another run is stored, the others at
    any time from their first breath. A job that gets done is begun anew in another folder: every
    finished one has the same runs with the same figures.
    """
    chance, kills, finished = random.Random(8), 0, []
    while kills < KILLS or not finished:
        out = tmp_path / f"out-{len(finished)}"
        command = [sys.executable, "-m", "headcount.cli", "reproduce", "4b", "--profile", "smoke"]
        command += ["-o", str(out), "--json"]
        before = stored(out / "runs.sqlite")
        job = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        at_work = chance.random() < 0.5
        until = time.monotonic() + (900 if at_work or kills >= KILLS else 15 * chance.random())
        while job.poll() is None and time.monotonic() < until:
            if at_work and kills < KILLS and len(stored(out / "runs.sqlite")) > len(before):
                time.sleep(chance.random())
                break
            time.sleep(0.2)
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            kills += 1
        said, wrong = job.communicate()
        after = stored(out / "runs.sqlite")
        assert before.items() <= after.items(), "a stored run was lost or changed"
        write_down(f"kills {kills} stored {len(after)} finished {len(finished)} {job.returncode}")
        if job.returncode != -signal.SIGKILL:
            assert job.returncode in (0, 1), wrong
            assert json.loads(said)["report"]
            finished.append(after)
    assert all(each == finished[0] for each in finished)
