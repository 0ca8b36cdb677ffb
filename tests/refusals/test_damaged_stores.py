"""Stores whose bytes changed: every verb notices, and nothing binary reaches the terminal."""

import random
import shutil

import pytest

from headcount.core.spec import canonical_json, content_hash
from headcount.lab.sweep.schema import FINISHED, Row
from headcount.lab.sweep.store import Store
from tests.command import run
from tests.lab.sweep.toy import plan, record

VERBS = (
    ("status", "s"),
    ("status", "s", "--json"),
    ("results", "s"),
    ("results", "s", "--json"),
    ("results", "s", "--curves"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s"
    specs = plan(6)
    with Store(path) as opened:
        opened.add({content_hash(spec): canonical_json(spec) for spec in specs})
        for spec in specs:
            opened.put(Row(content_hash(spec), FINISHED, record(spec)))
    return path


def test_one_file_is_the_whole_store(store):
    assert [path.name for path in store.parent.iterdir()] == ["s"]


def look(folder):
    """Every verb on the store `s` of a folder."""
    done = [run(*words, folder=folder) for words in VERBS]
    for each in done:
        assert each.faults() == [], each
    return done


@pytest.mark.parametrize("seed", range(12))
def test_bytes_changed_anywhere(store, tmp_path, seed):
    chance = random.Random(seed)
    content = bytearray(store.read_bytes())
    for _ in range(chance.choice([1, 10, 200])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    (tmp_path / "s").write_bytes(content)
    for done in look(tmp_path):
        assert done.code in (0, 1, 2)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9])
def test_a_file_cut_short_is_refused(store, tmp_path, share):
    content = store.read_bytes()
    (tmp_path / "s").write_bytes(content[: int(share * len(content))])
    for done in look(tmp_path):
        assert done.code in (1, 2), done
        assert "s " in done.stderr


@pytest.mark.parametrize("content", [b"\x1b[31m\x00\x07", b"not a store", bytes(range(256)) * 40])
def test_another_file_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "s").write_bytes(content)
    (tmp_path / "p.yaml").write_text("baseline: {memory: exp-4b}\n")
    for done in look(tmp_path):
        assert done.code == 2, done
    done = run("sweep", "p.yaml", "--store", "s", folder=tmp_path)
    assert done.code == 2
    assert done.faults() == []
    assert (tmp_path / "s").read_bytes() == content


@pytest.mark.parametrize("column", ["id", "status", "sentence", "error", "metrics", "outcome"])
@pytest.mark.parametrize("value", [b"\x1b[31m\xff\x00", "\x1b[2J\x07", 7])
def test_a_column_of_another_type_is_told_as_damage(store, tmp_path, column, value):
    import sqlite3

    shutil.copy(store, tmp_path / "s")
    connection = sqlite3.connect(tmp_path / "s")
    with connection:
        connection.execute(f"UPDATE results SET {column} = ? WHERE rowid = 1", (value,))
    connection.close()
    status, _, table, *_ = look(tmp_path)
    assert "damaged" in status.stdout
    assert "damaged" in table.stderr
