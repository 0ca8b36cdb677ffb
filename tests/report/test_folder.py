"""Writing beside other people's files: nothing of theirs is lost, and an interruption can be
repaired.
"""

import os

import pytest

from headcount.core.errors import InputError
from headcount.report import folder
from headcount.report.folder import write_files, written

FILES = {"report.html": b"one", "figures/a.svg": b"a", "figures/b.svg": b"b"}


def test_files_appear_and_others_stay(tmp_path):
    (tmp_path / "store.sqlite").write_bytes(b"runs")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.txt").write_text("notes")
    write_files(tmp_path, FILES)
    write_files(tmp_path, {"report.html": b"two", "figures/b.svg": b"b2"})
    assert (tmp_path / "report.html").read_bytes() == b"two"
    assert not (tmp_path / "figures" / "a.svg").exists()  # of the earlier report only
    assert (tmp_path / "figures" / "mine.txt").read_text() == "notes"
    assert (tmp_path / "store.sqlite").read_bytes() == b"runs"
    assert written(tmp_path) == {"report.html", "figures/b.svg"}
    assert not list(tmp_path.glob(".report.*"))


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / "report.html").write_text("theirs")
    with pytest.raises(InputError, match="not from an earlier report"):
        write_files(tmp_path, FILES)
    assert (tmp_path / "report.html").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_taken_place_is_refused_before_the_work_and_nothing_is_made(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "report.html").write_text("theirs")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("a file")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    for name in ("theirs", "dangling", "file", "file/x", "z" * 300):
        with pytest.raises(InputError, match=r"not from an earlier report|cannot write"):
            folder.ready(tmp_path / name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    folder.refuse_taken(tmp_path / "new" / "deep")
    assert not (tmp_path / "new").exists()
    write_files(tmp_path / "ours", FILES)
    folder.ready(tmp_path / "ours")


@pytest.mark.parametrize("fails_at", range(1, 6))
def test_interrupted_anywhere_it_can_be_written_again(tmp_path, monkeypatch, fails_at):
    write_files(tmp_path, {"report.html": b"old", "figures/old.svg": b"o"})
    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == fails_at:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(folder.os, "replace", failing)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, FILES)
    monkeypatch.undo()
    assert not list(tmp_path.glob(".report.*"))
    write_files(tmp_path, FILES)
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*g")} == {
        "figures/a.svg",
        "figures/b.svg",
    }
    assert written(tmp_path) == set(FILES)


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "", folder.LIST])
def test_paths_outside_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="inside the folder"):
        write_files(tmp_path / "out", {name: b""})
    assert not (tmp_path / "out").exists()


def test_a_list_that_was_tampered_with_removes_nothing_outside(tmp_path):
    (tmp_path / "keep").write_text("keep")
    out = tmp_path / "out"
    write_files(out, FILES)
    (out / folder.LIST).write_text(
        '["../keep", 3, "report.html", "figures/a.svg", "figures/b.svg"]'
    )
    write_files(out, FILES)
    assert (tmp_path / "keep").exists()
    (out / folder.LIST).write_text("no json")
    with pytest.raises(InputError, match="not from an earlier report"):
        write_files(out, FILES)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write to"):
        write_files(tmp_path / "file" / "out", FILES)
