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
from tests.lab.sweep.test_faults import (
    ROOT,
    computed,
    figures,
    finish,
    start,
    undisturbed,
    wait_until,
)
from tests.lab.sweep.toy import plan

KILLS = int(os.environ.get("HEADCOUNT_KILLS", "100"))
SECONDS = 0.05


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_sweeps_killed_many_times(tmp_path):
    chance, store, log = random.Random(7), tmp_path / "runs.sqlite", tmp_path / "log"
    count = 3 * KILLS
    for _ in range(KILLS):
        before = figures(store) if store.exists() else {}
        again = computed(log)[0]
        driver = start(store, count, seconds=SECONDS, log=log)
        # half of them in the middle of the work, the others at any time from their first breath
        if chance.random() < 0.5:
            seen = sum(again.values())
            wait_until(
                lambda seen=seen, driver=driver: (
                    sum(computed(log)[0].values()) > seen or driver.poll() is not None
                )
            )
        time.sleep(chance.random())
        driver.kill()
        driver.communicate()
        after = figures(store) if store.exists() else {}
        assert before.items() <= after.items(), "a stored run was lost or changed"
        assert all(computed(log)[0][id] == again[id] for id in before), "computed twice"
    code, done, err = finish(start(store, count, seconds=0.0, log=log))
    assert (code, err) == (0, "")
    wanted = [spec.model_copy(update={"seconds": SECONDS}) for spec in plan(count)]
    code, done, err = finish(start(store, count, seconds=SECONDS, log=log))
    assert (code, err, done["complete"]) == (0, "", True)
    found = figures(store)
    assert undisturbed(wanted).items() <= found.items()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(("-wal", "-shm"))]


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_reproduce_killed_many_times(tmp_path):
    """Every process of the job at once; the last call goes on from what is stored."""
    chance = random.Random(8)
    command = [sys.executable, "-m", "headcount.cli", "reproduce", "4b", "--profile", "smoke"]
    command += ["-o", str(tmp_path / "out"), "--json"]
    store, before, kills = tmp_path / "out" / "runs.sqlite", {}, 0
    while kills < KILLS:
        job = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            job.communicate(timeout=20 * chance.random())
            break  # all is done: later kills would find nothing to disturb
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
        kills += 1
        if store.exists():
            with Store(store) as opened:
                rows, damaged = opened.rows()
            after = {row.id: repr(row.figures) for row in rows}
            assert damaged == []
            assert before.items() <= after.items()
            assert len(rows) == len(after)
            before = after
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["report"]
