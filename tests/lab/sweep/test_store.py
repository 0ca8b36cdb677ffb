"""The store: whole rows, once; claims; bytes that rotted; files that are no stores."""

import math
import sqlite3
import subprocess
import sys
import time

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json, content_hash
from headcount.lab.latest_verdicts import LATEST, latest_verdicts
from headcount.lab.sweep import schema
from headcount.lab.sweep.schema import COLUMNS, STEPS, Row, StoreError, checksum
from headcount.lab.sweep.store import STOP, Store
from tests.lab.sweep.toy import plan, record

SPECS = {content_hash(spec): spec for spec in plan(4)}
IDS = list(SPECS)


@pytest.fixture
def path(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.add({id: canonical_json(spec) for id, spec in SPECS.items()})
    return tmp_path / "runs.sqlite"


def row(id, **changes):
    return Row(id, "finished", {**record(SPECS[id]), **changes})


def test_what_is_put_comes_back_bit_for_bit(path):
    odd = row(
        IDS[0],
        metrics={"step": [0, 1], "loss": [0.1 + 0.2, math.inf]},
        surprise={"kept": [1, None]},
    )
    with Store(path) as store:
        assert store.put(odd)
    with Store(path, read_only=True) as store:
        (found,), damaged = store.rows()
    assert damaged == []
    assert {**found.record, "stored": ""} == {**odd.record, "stored": ""}
    assert found.record["metrics"]["loss"] == [0.1 + 0.2, math.inf]
    assert found.stored.endswith("+00:00")


def test_readers_leave_no_side_files_either(path):
    with Store(path, read_only=True) as store:
        assert list(store.specs()) == IDS
        with pytest.raises(StoreError):
            store.put(row(IDS[0]))
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_specs_come_back_in_order_and_a_second_adding_changes_nothing(path):
    with Store(path) as store:
        store.add({id: canonical_json(SPECS[id]) for id in reversed(IDS)})
        assert list(store.specs()) == IDS
        assert store.specs()[IDS[1]] == SPECS[IDS[1]].to_plain()


def test_a_run_is_stored_once_and_the_first_row_stays(path):
    with Store(path) as store:
        assert store.put(row(IDS[0]))
        assert not store.put(row(IDS[0], outcome="another"))
        (found,), _ = store.rows()
    assert found.record["outcome"] == record(SPECS[IDS[0]])["outcome"]


def test_nan_is_kept(path):
    with Store(path) as store:
        store.put(row(IDS[0]))
        (found,), _ = store.rows()
    assert math.isnan(found.record["metrics"]["eval_loss"][0])


def test_a_claim_excludes_the_other_sweep_until_it_ends(path):
    with Store(path) as one, Store(path) as two:
        one.enter()
        two.enter()
        assert one.claim(IDS[:3]).mine == IDS[:3]
        one.put(row(IDS[0]))
        answer = two.claim(IDS)
        assert (answer.mine, answer.done, answer.elsewhere) == ([IDS[3]], [IDS[0]], IDS[1:3])
        assert one.claim(IDS[1:3]).mine == IDS[1:3], "a second claim of one's own is no conflict"
        one.release([IDS[1]])
        assert two.claim([IDS[1]]).mine == [IDS[1]]
        one.close()
        assert two.claim(IDS[1:]).mine == IDS[1:]


def test_the_claims_of_a_process_that_is_gone_lapse(path):
    with Store(path) as store:
        store.enter()
        connection = sqlite3.connect(path)
        with connection:
            # our number, but another process
            connection.execute("UPDATE owners SET owner = 'dead', started = '1'")
            connection.execute("INSERT INTO claims VALUES (?, 'dead')", (IDS[0],))
            connection.execute("INSERT INTO claims VALUES (?, 'never entered')", (IDS[1],))
        connection.close()
        assert store.at_work() == {}
        assert store.claim(IDS[:2]).mine == IDS[:2]


def test_a_sweep_taken_for_dead_announces_itself_again(path):
    with Store(path) as one, Store(path) as two:
        one.enter()
        two.enter()
        two._connection.execute("DELETE FROM owners WHERE owner = ?", (one.owner.owner,))
        one.beat()
        assert one.claim(IDS[:1]).mine == IDS[:1]
        assert two.claim(IDS[:1]).elsewhere == IDS[:1]


def test_reading_while_another_connection_is_in_the_middle_of_writing(path):
    with Store(path) as writer:
        writer.put(row(IDS[0]))
        writer._connection.execute("BEGIN IMMEDIATE")
        writer._connection.execute("DELETE FROM results")
        with Store(path, read_only=True) as reader:
            assert [found.id for found in reader.rows()[0]] == [IDS[0]]
        writer._connection.execute("ROLLBACK")


def test_read_only_does_not_write(path):
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="readonly"):
        store.put(row(IDS[0]))


def test_a_damaged_spec_is_left_out_and_mended_by_adding(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE runs SET spec = replace(spec, '\"value\":1', '\"value\":7')")
    connection.close()
    with Store(path) as store:
        assert len(store.specs()) == 3
        store.add({id: canonical_json(spec) for id, spec in SPECS.items()})
        assert len(store.specs()) == 4


def test_the_curves_are_there_for_sql(path):
    with Store(path) as store:
        store.put(row(IDS[0]))
        store.put(row(IDS[1]))
    connection = sqlite3.connect(path)
    found = connection.execute(
        "SELECT step, value FROM curves WHERE id = ? AND metric = 'train_loss' ORDER BY step",
        (IDS[1],),
    ).fetchall()
    connection.close()
    assert [value for _, value in found] == record(SPECS[IDS[1]])["metrics"]["train_loss"]
    assert [step for step, _ in found] == [0, 1, 2, 3, 4]


def test_weights_appear_whole_and_are_replaced(path):
    with Store(path) as store:
        store.keep_weights("abc", {"config.json": b"{}", "model.safetensors": b"1"})
        folder = store.keep_weights("abc", {"config.json": b"{}", "model.safetensors": b"2"})
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert (folder / "model.safetensors").read_bytes() == b"2"


# --- opening --------------------------------------------------------------------------------------


def test_a_newer_store_is_refused_and_untouched(path):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={len(STEPS) + 1}")
    connection.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(InputError, match="newer than this program"):
            Store(path, read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"hello, I am a text\n", b"SQLite format 3\x00 but then not", b"\x00" * 5000]
)
def test_a_file_that_is_no_store_is_refused_and_untouched(tmp_path, content):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(InputError, match="store"):
            Store(path, read_only)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"]


def test_another_database_is_refused_and_untouched(tmp_path):
    path = tmp_path / "others.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not a store"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="is no file"):
        Store(tmp_path)
    with pytest.raises(InputError, match="existing folder"):
        Store(tmp_path / "nowhere" / "runs.sqlite")
    with pytest.raises(InputError, match="there is no store"):
        Store(tmp_path / "runs.sqlite", read_only=True)


def test_an_empty_file_becomes_a_store(tmp_path):
    """What a sweep leaves that was killed between creating the file and its tables."""
    path = tmp_path / "runs.sqlite"
    path.touch()
    with Store(path) as store:
        assert store.specs() == {}


def test_an_older_store_is_brought_up_to_date_whole(path):
    """The same road as a new store: one step more, in one transaction, with the rows kept."""
    longer = (
        *STEPS,
        (
            "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'old'",
            "CREATE TABLE added (x INTEGER)",
        ),
    )
    with pytest.raises(InputError, match="bring it up to date"):
        schema.connect_read_only(path, longer)
    connection = schema.connect(path, longer)
    assert connection.execute("SELECT count(*), min(note) FROM runs").fetchone() == (4, "old")
    assert connection.execute("PRAGMA user_version").fetchone() == (len(longer),)
    connection.close()
    schema.connect_read_only(path, longer).close()
    with pytest.raises(InputError, match="newer"):
        Store(path)


def test_a_step_that_fails_leaves_the_old_store(path):
    broken = (*STEPS, ("CREATE TABLE added (x INTEGER)", "CREATE TABLE runs (x INTEGER)"))
    with pytest.raises(StoreError, match="already exists"):
        schema.connect(path, broken)
    with Store(path) as store:
        assert len(store.specs()) == 4
        assert store._connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'added'"
        ).fetchone() == (0,)


HALF = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size=1")  # so that pages reach the disk before the end
connection.execute("BEGIN")
connection.execute("CREATE TABLE runs (id TEXT)")
for _ in range(500):
    connection.execute("INSERT INTO runs VALUES (?)", ("x" * 1000,))
os._exit(9)
"""


def test_a_store_whose_maker_died_in_the_middle_is_made_anew(tmp_path):
    """Killed before the switch to WAL: a journal is left that only a writer may undo."""
    path = tmp_path / "runs.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=0")
    subprocess.run([sys.executable, "-c", HALF, str(path)], check=False)
    assert path.with_name("runs.sqlite-journal").stat().st_size > 0
    with Store(path) as store:
        assert store.rows() is not None
    with Store(path, read_only=True) as store:
        assert store.rows()[0] == []


@pytest.mark.parametrize(
    "column",
    [
        {"final": '{"eval_loss": "abc"}'},
        {"final": "[1]"},
        {"final": "{"},
        {"final": "[" * 50_000},
        {"final": '{"eval_loss": {"float": "zzz"}}'},
        {"final": f'{{"eval_loss": {"9" * 400}}}'},
        {"metrics": "[]"},
        {"metrics": '{"step": 3}'},
        {"metrics": '{"step": [1], "loss": [{"a": 1}]}'},
        {"seconds": '{"run": [1]}'},
        {"versions": "[]"},
        {"versions": '{"jax": 3}'},
        {"other": "7"},
        {"status": "odd"},
        {"outcome": 7},
        {"step": "x"},
        {"error": 3},
        {"stored": None},
    ],
    ids=str,
)
def test_odd_content_under_a_checksum_that_fits_is_damage(column):
    """Somebody else's store: its checksums are as good as ours."""
    values = dict(zip(COLUMNS, row(IDS[0]).to_columns(), strict=True)) | column
    written = tuple(values.values())[:-1]
    assert Row.from_columns((*written, checksum(list(written)))) is None


def test_what_else_a_record_holds_replaces_nothing():
    values = dict(zip(COLUMNS, row(IDS[0]).to_columns(), strict=True))
    values["other"] = '{"metrics": 3, "kept": 4}'
    written = tuple(values.values())[:-1]
    found = Row.from_columns((*written, checksum(list(written))))
    assert list(found.record["metrics"]) == list(record(SPECS[IDS[0]])["metrics"])
    assert found.record["kept"] == 4


@pytest.mark.parametrize("column", ["id", "final", "error"])
def test_text_that_is_none_damages_its_row_and_no_other(path, column):
    with Store(path) as store:
        for id in IDS[:2]:
            store.put(row(id))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(f"UPDATE results SET {column} = CAST(x'ff41' AS TEXT) WHERE rowid = 1")
    connection.close()
    with Store(path) as store:
        good, damaged = store.rows()
        assert ([found.id for found in good], len(damaged)) == ([IDS[1]], 1)
        assert store.drop(damaged) == 1
        assert store.rows()[1] == []


@pytest.mark.parametrize("value", ["{", "[" * 50_000, "7", '"x"', b"\xff"], ids=repr)
def test_odd_notes_beside_the_runs_are_none(path, value):
    with Store(path) as store:
        store.enter()
        for key in (STOP, LATEST):
            store.keep(key, value)
        assert not store.asked_to_stop()
        assert latest_verdicts(store) == []


@pytest.mark.parametrize("spec", ["[" * 50_000, "7", b"\xff", '{"float": []}'], ids=repr)
def test_an_odd_spec_is_left_out(path, spec):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE runs SET spec = ? WHERE rowid = 1", (spec,))
        connection.execute("INSERT INTO owners VALUES (7, x'ff', 'x', 3, 'y')")
    connection.close()
    with Store(path, read_only=True) as store:
        assert list(store.specs()) == IDS[1:]
        assert store.at_work() == {}


def test_a_held_store_is_waited_for_as_long_as_is_said(path):
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with schema.patience(0.1), Store(path) as store, pytest.raises(StoreError, match="other progr"):
        store.keep("a", "b")
    assert time.monotonic() - started < 10
    holder.close()
