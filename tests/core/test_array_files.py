"""Array files of others: what is wrong with them is told in one line."""

import io
import pickle
import zipfile

import numpy as np
import pytest

from headcount.core.array_files import read_array, read_arrays
from headcount.core.errors import InputError
from headcount.core.sizes import MEMORY


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0))
    return tmp_path / "a.npy"


def test_what_was_saved_comes_back(file, tmp_path):
    assert read_array(file, "x", "y").tolist() == [0, 1, 2, 3, 4, 5]
    np.savez(tmp_path / "b.npz", x=[1, 2], y=[3.0])
    held = read_arrays(tmp_path / "b.npz", "x", "y")
    assert {name: values.tolist() for name, values in held.items()} == {"x": [1, 2], "y": [3.0]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"}", b" "),  # tokenize.TokenError inside numpy
        (b"'<f8'", b"'<f9'"),
        (b"'<f8'", b"'|O8'"),
        (b"(6,)", b"(-6,"),
        (b"(6,)", b"(9**9,)"),
        (b"(6,), }", b"(99999999999,), }"),
        (b"'descr'", b"'desc1'"),
        (b"'descr'", b"[[[[[[["),
        (b"\x93NUMPY", b"\x93NUMPX"),
        (b"NUMPY\x01", b"NUMPY\x09"),
        (b"'", b"\xff"),
        (b"False", b"Fals\x00"),
    ],
)
def test_a_header_with_other_bytes(file, old, new):
    content = file.read_bytes()
    assert old in content
    file.write_bytes(content.replace(old, new, 1))
    with pytest.raises(InputError, match="cannot read") as caught:
        read_array(file, "numbers", "check it")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_python_objects_are_refused_without_advice_to_allow_them(tmp_path, name):
    held = np.array([{}], dtype=object)
    (np.save if name == "a.npy" else np.savez)(tmp_path / name, held, allow_pickle=True)
    with pytest.raises(InputError, match=r"\(damaged, cut short, or of Python objects\)"):
        read_arrays(tmp_path / name, "numbers", "check it")


def test_other_files_are_not_in_the_format(tmp_path):
    (tmp_path / "a.npy").write_bytes(pickle.dumps([1]))
    with pytest.raises(InputError, match=r"\(not in numpy's format\)"):
        read_arrays(tmp_path / "a.npy", "numbers", "check it")
    with pytest.raises(InputError, match=r"\(No such file or directory\)"):
        read_arrays(tmp_path / "b.npy", "numbers", "check it")


def test_an_archive_is_no_array_and_a_damaged_member_is_told(file, tmp_path):
    archive = tmp_path / "b.npz"
    np.savez_compressed(archive, x=np.arange(100.0))
    with pytest.raises(InputError, match="holds x"):
        read_array(archive, "numbers", "check it")
    content = bytearray(archive.read_bytes())
    content[60:80] = bytes(20)
    archive.write_bytes(content)
    with pytest.raises(InputError, match="cannot read"):
        read_arrays(archive, "numbers", "check it")


def test_an_archive_that_unpacks_to_more_than_there_is_memory(tmp_path, monkeypatch):
    monkeypatch.setenv(MEMORY, "0.001")
    held = io.BytesIO()
    np.save(held, np.zeros(10**6))
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", held.getvalue())
    assert (tmp_path / "b.npz").stat().st_size < 20_000
    with pytest.raises(InputError, match=r"at most 0\.001 GB"):
        read_arrays(tmp_path / "b.npz", "numbers", "check it")
