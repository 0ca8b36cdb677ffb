"""Faults for real: processes are killed, disks fill up, rows rot, clocks jump. After a rerun every
run is there once, with the figures of an undisturbed sweep, and nothing hangs (every wait here has
an end)."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from headcount.core.spec import content_hash
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.lab.sweep.schema import COLUMNS, Row
from headcount.lab.sweep.store import Store
from tests.lab.sweep.toy import Toy, plan, record

ROOT = Path(__file__).parents[3]
LIMIT = 60  # seconds that anything here may take


def figures(store):
    """id → figures of what is stored; every row intact."""
    with Store(store, read_only=True) as opened:
        rows, damaged = opened.rows()
    assert damaged == []
    return {row.id: repr(row.figures) for row in rows}  # repr: nan is nan


def undisturbed(specs):
    """The figures computed here, with no store, engine or fault anywhere."""
    return {
        content_hash(spec): repr(Row(content_hash(spec), "finished", record(spec)).figures)
        for spec in specs
    }


def start(store, count, **options):
    words = [f"{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "tests.lab.sweep.drive", str(store), str(count), *words]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(driver):
    out, err = driver.communicate(timeout=LIMIT)
    return driver.returncode, json.loads(out) if out else None, err


def computed(log):
    """How often each run was computed, and by whom."""
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return Counter(id for id, _ in lines), {int(pid) for _, pid in lines}


def gone(pids):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


def wait_until(condition):
    until = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_workers_killed_at_random_times(tmp_path, seed):
    chance, engine, kills = random.Random(seed), LocalEngine(2), {}
    specs = plan(30, seconds=0.03)

    def killer(progress):
        if (
            len(kills) < 5
            and engine.pids
            and progress.finished not in kills
            and chance.random() < 0.4
        ):
            kills[progress.finished] = chance.choice(engine.pids)
            os.kill(kills[progress.finished], signal.SIGKILL)

    store = tmp_path / "runs.sqlite"
    sweep(specs, store, engine=engine, runner=Toy(), watch=killer)
    assert len(kills) >= 3
    done = sweep(specs, store, engine=LocalEngine(2), runner=Toy(), retry_failed=True)
    assert done.complete
    assert figures(store) == undisturbed(specs)


@pytest.mark.parametrize("kills", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_driver_killed_at_random_times(tmp_path, kills):
    chance, store, log = random.Random(0), tmp_path / "runs.sqlite", tmp_path / "log"
    specs = plan(30)
    for _ in range(kills):
        driver = start(store, 30, seconds=0.05, log=log)
        before = len(computed(log)[0])
        wait_until(
            lambda seen=before, driver=driver: (
                len(computed(log)[0]) > seen + 1 or driver.poll() is not None
            )
        )
        time.sleep(0.2 * chance.random())
        driver.kill()
        driver.communicate()
        assert gone(computed(log)[1]), "a worker outlives its driver"
    stored = figures(store) if store.exists() else {}
    already = computed(log)[0]
    code, done, err = finish(start(store, 30, seconds=0.05, log=log))
    assert (code, err) == (0, "")
    assert done["complete"]
    assert done["before"] == len(stored)
    assert all(computed(log)[0][id] == already[id] for id in stored), (
        "a finished run was computed again"
    )
    assert figures(store) == undisturbed(
        [spec.model_copy(update={"seconds": 0.05}) for spec in specs]
    )


def test_driver_killed_before_anything_is_stored(tmp_path):
    store = tmp_path / "runs.sqlite"
    for delay in (0.0, 0.1, 0.2, 0.3):
        driver = start(store, 4, seconds=0.01)
        time.sleep(delay)
        driver.kill()
        driver.communicate()
    code, _, err = finish(start(store, 4, seconds=0.01))
    assert (code, err) == (0, "")
    assert figures(store) == undisturbed(plan(4, seconds=0.01))


def test_two_drivers_share_a_store_and_its_work(tmp_path):
    store, log = tmp_path / "runs.sqlite", tmp_path / "log"
    drivers = [start(store, 40, seconds=0.05, workers=1, log=log) for _ in range(2)]
    ends = [finish(driver) for driver in drivers]
    assert [code for code, _, _ in ends] == [0, 0], ends
    counts = [done["computed"] for _, done, _ in ends]
    assert sum(counts) == 40
    assert min(counts) >= 5, f"the work was not shared: {counts}"
    assert set(computed(log)[0].values()) == {1}, "a run was computed twice"
    assert figures(store) == undisturbed(plan(40, seconds=0.05))


def test_a_driver_takes_over_what_a_killed_one_had_claimed(tmp_path):
    store, log = tmp_path / "runs.sqlite", tmp_path / "log"
    drivers = [start(store, 30, seconds=0.05, workers=1, log=log) for _ in range(2)]
    wait_until(lambda: len(computed(log)[0]) > 6)
    drivers[0].kill()
    drivers[0].communicate()
    code, done, err = finish(drivers[1])
    assert (code, err) == (0, "")
    assert done["complete"]
    assert figures(store) == undisturbed(plan(30, seconds=0.05))


def stop_between_writes(driver, store):
    """Stopped inside a transaction it would keep everybody out of the store."""
    for _ in range(100):
        driver.send_signal(signal.SIGSTOP)
        try:
            other = sqlite3.connect(store, timeout=0.5, isolation_level=None)
            with contextlib.closing(other):
                other.execute("begin immediate")
                other.execute("rollback")
            return
        except sqlite3.OperationalError:
            driver.send_signal(signal.SIGCONT)
            time.sleep(0.02)
    raise AssertionError("the driver does nothing but write")


def test_a_stopped_driver_is_not_waited_for_and_does_no_harm_when_it_goes_on(tmp_path):
    store, log = tmp_path / "runs.sqlite", tmp_path / "log"
    first = start(store, 20, seconds=0.1, workers=1, log=log)
    wait_until(lambda: len(computed(log)[0]) > 2)
    stop_between_writes(first, store)
    try:
        code, done, err = finish(start(store, 20, seconds=0.1, workers=2, grace=1, log=log))
        assert (code, err) == (0, "")
        assert done["complete"]
    finally:
        first.send_signal(signal.SIGCONT)
    code, done, err = finish(first)
    assert (code, err) == (0, "")
    assert done["complete"]
    assert figures(store) == undisturbed(plan(20, seconds=0.1))


def test_a_clock_that_jumps(tmp_path):
    store, log = tmp_path / "runs.sqlite", tmp_path / "log"
    killed = start(store, 30, seconds=0.05, workers=1, clock="mad", log=log)
    wait_until(lambda: len(computed(log)[0]) > 3)
    killed.kill()
    killed.communicate()
    drivers = [
        start(store, 30, seconds=0.05, workers=1, clock=clock, log=log) for clock in ("mad", "good")
    ]
    ends = [finish(driver) for driver in drivers]
    assert [(code, err) for code, _, err in ends] == [(0, ""), (0, "")]
    assert all(done["complete"] for _, done, _ in ends)
    # once more at most: what the killed one had computed and not stored
    assert max(computed(log)[0].values()) <= 2
    assert figures(store) == undisturbed(plan(30, seconds=0.05))


def test_disk_full_by_a_limit_on_the_file(tmp_path):
    store = tmp_path / "runs.sqlite"
    code, done, err = finish(start(store, 60, seconds=0.0, file_limit=400_000))
    assert (code, done) == (1, None)
    assert err.startswith("error: the store")
    assert err.count("\n") == 1
    assert "run the same command again" in err
    stored = len(figures(store))
    assert 0 < stored < 60
    code, done, err = finish(start(store, 60, seconds=0.0))
    assert (code, err) == (0, "")
    assert done["before"] == stored
    assert figures(store) == undisturbed(plan(60, seconds=0.0))


FULL = """
set -e
mount -t tmpfs -o size={size} tmpfs {place}
set +e
dd if=/dev/zero of={place}/ballast bs=4096 count={ballast} status=none
{driver} {place}/runs.sqlite 60 seconds=0 weights=1
echo "code $?" >&2
rm {place}/ballast
cp {place}/runs.sqlite {out}
cp {place}/runs.sqlite-wal {out} 2>/dev/null
{driver} {place}/runs.sqlite 60 seconds=0 weights=1
echo "code $?" >&2
cp {place}/runs.sqlite {out}/whole.sqlite
"""


def _may_mount():
    if not shutil.which("unshare"):
        return False
    return (
        subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True
        ).returncode
        == 0
    )


@pytest.mark.skipif(not _may_mount(), reason="this system does not let us mount a small filesystem")
# pages left: the disk fills up while the store is made, a row or a model is written
@pytest.mark.parametrize(
    "free",
    [pytest.param(40, marks=pytest.mark.slow), 90, pytest.param(160, marks=pytest.mark.slow)],
)
def test_disk_full_on_a_small_filesystem(tmp_path, free):
    place, out = tmp_path / "small", tmp_path / "out"
    place.mkdir()
    out.mkdir()
    script = FULL.format(
        size="8m",
        place=place,
        out=out,
        ballast=2048 - free,
        driver=f"{sys.executable} -m tests.lab.sweep.drive",
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    errors = done.stderr.splitlines()
    assert len(errors) == 3, done.stderr
    assert errors[0].startswith("error: "), errors
    assert "again" in errors[0]
    assert errors[1:] == ["code 1", "code 0"]
    assert set(figures(out / "runs.sqlite")) <= set(figures(out / "whole.sqlite"))
    assert figures(out / "whole.sqlite") == undisturbed(plan(60, seconds=0.0))


@pytest.mark.parametrize(
    "column",
    [pytest.param(c, marks=pytest.mark.slow if i % 4 else ()) for i, c in enumerate(COLUMNS)],
)
def test_a_row_whose_bytes_changed_is_noticed_and_computed_again(tmp_path, column):
    store, log, specs = tmp_path / "runs.sqlite", tmp_path / "log", plan(4)
    sweep(specs, store, engine=LocalEngine(1), runner=Toy())
    victim = content_hash(specs[2])
    connection = sqlite3.connect(store)
    with connection:
        connection.execute(
            f"UPDATE results SET {column} = coalesce({column}, '') || '7' WHERE id = ?", (victim,)
        )
    connection.close()
    news = []
    done = sweep(
        specs,
        store,
        engine=LocalEngine(1),
        runner=Toy(log=str(log)),
        watch=lambda progress: news.extend(progress.news),
    )
    assert done.complete
    assert done.repaired == 1
    assert "damaged" in news[0]
    assert computed(log)[0] == {victim: 1}
    assert figures(store) == undisturbed(specs)


def test_bytes_changed_in_the_file_itself(tmp_path):
    store, specs = tmp_path / "runs.sqlite", plan(6)
    sweep(specs, store, engine=LocalEngine(1), runner=Toy())
    content = bytearray(store.read_bytes())
    at = content.index(b'{"step":[0,1,2,3,4],"train_loss":[') + 35
    content[at] ^= 1
    store.write_bytes(content)
    done = sweep(specs, store, engine=LocalEngine(1), runner=Toy())
    assert (done.complete, done.repaired, done.computed) == (True, 1, 1)
    assert figures(store) == undisturbed(specs)


def test_a_file_damaged_beyond_rows_is_refused_in_one_line(tmp_path):
    store, specs = tmp_path / "runs.sqlite", plan(6)
    sweep(specs, store, engine=LocalEngine(1), runner=Toy())
    content = bytearray(store.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    store.write_bytes(content)
    code, done, err = finish(start(store, 6, seconds=0.0))
    assert (code, done) == (2, None)
    assert "damaged" in err
    assert err.count("\n") == 1
    assert store.read_bytes() == content


def test_interrupt_drops_what_runs_and_keeps_what_is_stored(tmp_path):
    store, log = tmp_path / "runs.sqlite", tmp_path / "log"
    driver = start(store, 40, seconds=0.05, log=log)
    wait_until(lambda: len(computed(log)[0]) > 4)
    driver.send_signal(signal.SIGINT)
    code, done, err = finish(driver)
    assert (code, err) == (130, "")
    assert done["interrupted"]
    assert 0 < done["computed"] < 40
    assert gone(computed(log)[1])
    with Store(store, read_only=True) as opened:
        assert opened.at_work() == {}
    code, done, err = finish(start(store, 40, seconds=0.05))
    assert (code, err) == (0, "")
    assert figures(store) == undisturbed(plan(40, seconds=0.05))
