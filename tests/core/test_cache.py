"""Answers on disk: found again exactly, never stale, never damaged, bounded, off where asked."""

import dataclasses
import multiprocessing
import os
from fractions import Fraction

import numpy as np
import pytest

from headcount.core import cache, source_code
from headcount.core.claims import Lags, Norm
from headcount.core.errors import InputError

calls: list[object] = []


@cache.cached(ignore=("say",), keep=lambda value: value != "no")
def answer(value, other=1.0, say=None):
    calls.append(value)
    return value


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.SWITCH, str(tmp_path / "kept"))
    monkeypatch.setattr(source_code, "_began", lambda: 2**63)  # sources may have changed just now
    calls.clear()
    return tmp_path / "kept"


EXACT = [0.1 + 0.2, (1, 2.0, None), Norm.L2, Lags(1, 7), b"x", Fraction(1, 3), {"a": [1]}]


@pytest.mark.parametrize("value", EXACT, ids=repr)
def test_asked_twice_is_computed_once(value):
    assert [answer(value), answer(value), answer(value, 1.0), answer(value, say=print)] == [
        value
    ] * 4
    assert len(calls) == 1


def test_what_is_kept_can_be_asked_for():
    assert answer.kept("seen") == (False, None)
    answer("seen")
    assert answer.kept("seen") == (True, "seen")
    assert len(calls) == 1


def test_questions_that_look_alike_are_told_apart():
    alike = [1, 1.0, True, "1", (1,), [1], {1: 1}, {"1": 1}, ("1", "1"), ("1\nstr '1'",), None]
    arrays = [np.ones(2), np.ones(2, np.float32), np.ones((2, 1)), np.zeros(2)]
    for value in alike:
        answer(value)
        answer(value, 2.0)
    for value in arrays:
        answer(0, value)
    assert len(calls) == 2 * len(alike) + len(arrays)


def test_what_cannot_be_told_is_not_kept():
    class Own:
        pass

    @dataclasses.dataclass(frozen=True)
    class Mine:
        x: int = 1

    for value in (Own(), Mine(), lambda: 1):
        assert answer(value) is value
        assert answer(value) is value
    answer("no")
    answer("no")
    assert len(calls) == 8
    assert cache.contents().entries == 0


def test_another_code_or_precision_asks_anew(monkeypatch):
    answer(5)
    monkeypatch.setattr(source_code, "_hash_of", lambda seen: "other")
    answer(5)
    monkeypatch.setattr(cache, "_precision", lambda: True)
    answer(5)
    assert len(calls) == 3


def test_sources_that_changed_while_they_run_keep_nothing(monkeypatch):
    monkeypatch.setattr(source_code, "_began", lambda: 0)
    answer(5)
    answer(5)
    assert len(calls) == 2


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:40] + b"x" + d])
def test_a_damaged_entry_is_a_miss(folder, damage):
    answer(5)
    ((path, _, _),) = cache._entries(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert answer(5) == 5
    assert answer(5) == 5
    assert len(calls) == 2


def test_bounded(folder, monkeypatch):
    monkeypatch.setenv(cache.LIMIT, "1")
    monkeypatch.setattr(cache, "STORES_PER_TRIM", 1)
    for i in range(60):
        answer((i, "x" * 20_000))
    assert 500_000 < cache.contents().size <= 1_000_000
    before = len(calls)
    answer((59, "x" * 20_000))  # the latest is still there
    assert len(calls) == before
    monkeypatch.setenv(cache.LIMIT, "many")
    with pytest.raises(InputError, match="megabytes"):
        answer(1)


def test_off_and_unusable_places(folder, monkeypatch, tmp_path):
    monkeypatch.setenv(cache.SWITCH, "off")
    answer(1)
    answer(1)
    assert cache.contents().folder is None
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    monkeypatch.setenv(cache.SWITCH, str(shared))
    answer(1)
    answer(1)
    assert len(calls) == 4
    assert not any(shared.iterdir())


def test_clear(folder):
    answer(1)
    answer(2)
    assert cache.clear().entries == 2
    assert cache.contents().entries == 0
    assert folder.stat().st_mode & 0o777 == 0o700


def _many(seed):
    return [answer((seed * 7 + i) % 11) for i in range(22)]


def test_many_processes():
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_many, range(6))
    assert found == [[(seed * 7 + i) % 11 for i in range(22)] for seed in range(6)]
    assert cache.contents().entries == 11
