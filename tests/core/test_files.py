import errno
from pathlib import Path

import pytest

from headcount.core.errors import InputError
from headcount.core.files import read_mapping, whole_folder, write_whole


def test_a_file_appears_whole_or_stays_what_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.svg"
    write_whole(path, b"one")
    assert path.read_bytes() == b"one"

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        write_whole(path, b"two")
    assert path.read_bytes() == b"one"
    assert [file.name for file in tmp_path.iterdir()] == ["a.svg"]


def test_a_folder_appears_whole(tmp_path):
    with whole_folder(tmp_path / "out") as work:
        (work / "config.json").write_text("{}")
        assert not (tmp_path / "out").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "out") as work:
        (work / "config.json").write_text("{}")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_our_own_folder_is_replaced_and_a_stranger_is_not(tmp_path):
    for text in ("1", "2"):
        with whole_folder(tmp_path / "out") as work:
            (work / "config.json").write_text(text)
    assert (tmp_path / "out" / "config.json").read_text() == "2"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("…")
    with pytest.raises(InputError, match="no saved model"), whole_folder(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine" / "thesis.tex").exists()


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{"), ("a.toml", "="), ("a.yaml", "a: ["), ("a.json", "[1]")]
)
def test_bad_spec_files_are_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError):
        read_mapping(tmp_path / name)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml"):
        read_mapping(tmp_path / "none.yaml")


def test_yaml_and_toml_and_json_agree(tmp_path):
    for name, text in (
        ("a.json", '{"a": [1, 2]}'),
        ("a.toml", "a = [1, 2]"),
        ("a.yaml", "a: [1, 2]"),
    ):
        (tmp_path / name).write_text(text)
        assert read_mapping(tmp_path / name) == {"a": [1, 2]}
