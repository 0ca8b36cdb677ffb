"""Compiled programs on disk: used again, shared, and never trusted blindly."""

import hashlib

import jax.numpy as jnp
import pytest

from headcount.train import compiled as module
from headcount.train.compiled import DIGEST, cache_folder, compiled

X = jnp.arange(6.0)


def double(x):
    return {"twice": 2 * x}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADCOUNT_CACHE", str(tmp_path))
    return tmp_path / "compiled"


def compilations(monkeypatch):
    """Counts what is really compiled from here on."""
    made = []
    written = module._written
    monkeypatch.setattr(
        module, "_written", lambda path, program: made.append(path) or written(path, program)
    )
    return made


def test_the_second_time_it_is_read(folder, monkeypatch):
    made = compilations(monkeypatch)
    for _ in range(2):
        program = compiled(double, X)
        assert program.call(X)["twice"].tolist() == [0, 2, 4, 6, 8, 10]
        assert program.memory >= 2 * X.nbytes
    assert len(made) == 1
    assert [path.name for path in folder.iterdir()] == [made[0].name]


@pytest.mark.parametrize("harm", ["empty", "cut", "flipped", "other"])
def test_a_damaged_file_is_compiled_anew_and_mended(folder, monkeypatch, harm):
    compiled(double, X)
    (path,) = folder.iterdir()
    good = path.read_bytes()
    foreign = b"not a program"
    path.write_bytes(
        {
            "empty": b"",
            "cut": good[: len(good) // 2],
            "flipped": good[:100] + bytes([good[100] ^ 1]) + good[101:],
            "other": hashlib.sha256(foreign).digest() + foreign,
        }[harm]
    )
    made = compilations(monkeypatch)
    assert compiled(double, X).call(X)["twice"][-1] == 10
    assert len(made) == 1
    mended = path.read_bytes()
    assert hashlib.sha256(mended[DIGEST:]).digest() == mended[:DIGEST]


def test_other_programs_and_shapes_have_other_files(folder):
    compiled(double, X)
    compiled(double, X[:3])
    compiled(lambda x: {"twice": 3 * x}, X)
    assert len(list(folder.iterdir())) == 3


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADCOUNT_CACHE", "off")
    assert cache_folder() is None
    assert compiled(double, X).call(X)["twice"][1] == 2
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("HEADCOUNT_CACHE", str(blocked))
    assert cache_folder() is None
    assert compiled(double, X).call(X)["twice"][1] == 2


def test_an_option_unknown_to_jaxlib_is_left_out(folder, monkeypatch):
    monkeypatch.setattr(
        module, "OPTIONS", {"xla_no_such_option": 1, "xla_cpu_multi_thread_eigen": False}
    )
    assert compiled(double, X).call(X)["twice"][-1] == 10
