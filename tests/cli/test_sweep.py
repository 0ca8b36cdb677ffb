"""`headcount sweep`, `status` and `results` as a script sees them. The runner is a toy: what is
tested is the command.
"""

import csv
import io
import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.core.spec import content_hash
from headcount.lab.sweep.sweep_plan import EXAMPLE
from tests.lab.sweep.toy import ToySpec, record

ROOT = Path(__file__).parents[2]
TOY = (
    "import sys; import headcount.lab.sweep.trainer as t; from tests.lab.sweep.toy import Toy;"
    " t.Trainer = Toy; import headcount.cli; headcount.cli.main()"
)
PLAN = "baseline: {seconds: 0.01}\naxes:\n  value: [0, 1, 2]\n  shape: [a, b]\nseeds: 2\n"


def command(*arguments):
    return [sys.executable, "-W", "error", "-c", TOY, *map(str, arguments)]


def run(*arguments, cwd, **options):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((*sys.path, str(ROOT))), "COLUMNS": "150"}
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        timeout=120,
        **options,
    )


@pytest.fixture
def place(tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def test_a_sweep_its_status_and_its_results(place):
    done = run("sweep", "plan.yaml", "--workers", 2, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["runs"], summary["computed"], summary["complete"]) == (12, 12, True)
    assert "12/12 runs" in done.stderr
    again = run("sweep", "plan.yaml", cwd=place)
    assert again.returncode == 0
    assert "12 stored before" in again.stdout
    assert "headcount results runs.sqlite --summary" in again.stdout
    status = json.loads(run("status", "runs.sqlite", "--json", cwd=place).stdout)
    assert (status["runs"], status["finished"], status["failed"], status["waiting"]) == (
        12,
        12,
        0,
        0,
    )
    table = run("results", "runs.sqlite", "--csv", cwd=place).stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 12
    for row in rows:
        spec = ToySpec(
            value=row["value"], shape=row["shape"], seconds=row["seconds"], seed=row["seed"]
        )
        assert row["id"] == content_hash(spec)
        assert float(row["final.eval_loss"]) == record(spec)["final"]["eval_loss"]
    assert (
        len(run("results", "runs.sqlite", "--curves", cwd=place).stdout.splitlines())
        == 1 + 12 * 2 * 5
    )
    assert (
        json.loads(run("results", "runs.sqlite", "--json", cwd=place).stdout)["columns"][0] == "id"
    )


def test_parquet_comes_on_stdout(place):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("sweep", "plan.yaml", cwd=place)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((*sys.path, str(ROOT)))}
    done = subprocess.run(
        command("results", "runs.sqlite", "--parquet"), capture_output=True, cwd=place, env=env
    )
    assert parquet.read_table(io.BytesIO(done.stdout)).num_rows == 12


def test_dry_run_lists_and_estimates_and_writes_nothing(place):
    done = run("sweep", "plan.yaml", "--dry-run", "--workers", 1, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "value=2 shape=b seed=1" in done.stdout
    assert "12 runs, 12 to do: about" in done.stdout
    assert "2 of 2 shapes measured" in done.stdout
    assert [file.name for file in place.iterdir()] == ["plan.yaml"]
    run("sweep", "plan.yaml", cwd=place)
    found = json.loads(run("sweep", "plan.yaml", "--dry-run", "--json", cwd=place).stdout)
    assert {run["status"] for run in found["runs"]} == {"finished"}
    assert found["estimate"]["to_do"] == 0


def test_failures_end_with_1_and_say_how_to_go_on(place):
    (place / "bad.yaml").write_text(
        "baseline: {fault: raise}\nchanges: [{value: 1}, {fault: none}]\n"
    )
    done = run("sweep", "bad.yaml", cwd=place)
    assert done.returncode == 1
    assert "failed: ArithmeticError: value 1 is unlucky" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: 1 of 2 runs failed")
    assert "--retry-failed" in done.stderr
    told = run("status", "runs.sqlite", cwd=place).stdout
    assert "fault=raise value=1: ArithmeticError: value 1 is unlucky" in told


def test_interrupt_ends_with_130_and_says_how_to_go_on(place):
    (place / "long.yaml").write_text("baseline: {seconds: 0.2}\nseeds: 50\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((*sys.path, str(ROOT)))}
    driver = subprocess.Popen(
        command("sweep", "long.yaml"),
        cwd=place,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while time.monotonic() < until and not _stored(place / "runs.sqlite"):
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    out, err = driver.communicate(timeout=30)
    assert driver.returncode == 130
    assert "missing" in out
    assert err.splitlines()[-1] == "error: interrupted; run the same command again"
    assert "Traceback" not in err
    assert 0 < _stored(place / "runs.sqlite") < 50


def _stored(path):
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def on_terminal(arguments, cwd):
    """stdout and stderr as a terminal shows them, and the exit code."""
    main, child = pty.openpty()
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((*sys.path, str(ROOT))),
        "TERM": "xterm",
        "COLUMNS": "150",
    }
    process = subprocess.Popen(
        command(*arguments), cwd=cwd, env=env, stdout=child, stderr=child, stdin=child
    )
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(main, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(main)
    return process.wait(60), shown.decode()


def test_a_terminal_shows_how_far_it_is_and_is_not_given_parquet(place):
    code, shown = on_terminal(["sweep", "plan.yaml", "--workers", 1], place)
    assert code == 0
    assert "12/12 runs" in shown
    code, shown = on_terminal(["results", "runs.sqlite", "--parquet"], place)
    assert code == 2
    assert "error: --parquet onto a terminal" in shown


def test_the_example_is_printed(place):
    assert run("sweep", "--example", cwd=place).stdout == EXAMPLE


NEWER = "PRAGMA user_version=99"
BAD = [
    (["sweep"], "no plan"),
    (["sweep", "none.yaml"], "cannot read none.yaml"),
    (["sweep", "plan.txt"], "a file that ends in"),
    (["sweep", "broken.yaml"], "cannot be parsed"),
    (["sweep", "typo.yaml"], "unknown key 'axis' (nearest: 'axes')"),
    (["sweep", "impossible.yaml"], "2 of 3 runs are impossible: value=-1: ToySpec: value -1"),
    (["sweep", "plan.yaml", "--store", "plan.yaml"], "plan.yaml is not a store"),
    (["sweep", "plan.yaml", "--store", "newer.sqlite"], "newer than this program"),
    (["sweep", "plan.yaml", "--store", "none/runs.sqlite"], "existing folder"),
    (["sweep", "plan.yaml", "--workers", "0"], "workers 0"),
    (["sweep", "plan.yaml", "--engine", "cloud"], "unknown engine 'cloud'"),
    (["sweep", "plan.yaml", "--address", "auto"], "--address auto with the local engine"),
    (["sweep", "plan.yaml", "--engine", "ray", "--pin"], "--pin with the ray engine"),
    (["sweep", "plan.yaml", "--dry-run", "--store", "newer.sqlite"], "newer than this program"),
    (["status", "none.sqlite"], "there is no store none.sqlite"),
    (["status", "plan.yaml"], "plan.yaml is not a store"),
    (["results", "newer.sqlite", "--csv"], "newer than this program"),
    (["results", "newer.sqlite", "--csv", "--parquet"], "more than one of --csv, --parquet"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD]
)
def test_bad_input_is_refused_in_one_line_with_nothing_changed(
    place, arguments, words, monkeypatch, capsys
):
    (place / "broken.yaml").write_text("baseline: [")
    (place / "typo.yaml").write_text("baseline: {}\naxis: {}\n")
    (place / "impossible.yaml").write_text("baseline: {}\naxes: {value: [1, -1, -2]}\n")
    connection = sqlite3.connect(place / "newer.sqlite")
    connection.executescript(f"PRAGMA application_id={0x48434E54}; {NEWER}; CREATE TABLE x (y)")
    connection.close()
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    import headcount.cli
    import headcount.lab.sweep.trainer
    from tests.lab.sweep.toy import Toy

    monkeypatch.chdir(place)
    monkeypatch.setattr(headcount.lab.sweep.trainer, "Trainer", Toy)
    monkeypatch.setattr(sys, "argv", ["headcount", *arguments])
    with pytest.raises(SystemExit) as ended:
        headcount.cli.main()
    shown = capsys.readouterr()
    assert ended.value.code == 2, shown.err
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("error: ")
    assert words in shown.err
    assert {file.name: file.read_bytes() for file in place.iterdir()} == before
