"""The walks of docs/architecture.md are what happens: every function named is called, in order,
and the way leads through few folders.
"""

import itertools
import re
import shlex
import sys
from pathlib import Path

import pytest

import headcount
from headcount.cli import app

ROOT = Path(headcount.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
MOST_CHANGES = {"fit": 8, "plan": 11, "build": 11, "reproduce": 8}


def walks() -> dict[str, tuple[list[str], list[tuple[str, str]]]]:
    """verb → (words of the command, [(file, function), …]) as the page has them."""
    found = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        title = re.match(r"`headcount (.+)`\n", part)
        if title:
            words = shlex.split(title[1])
            lines = re.findall(r"^    (\S+\.py)  (\S+)(?:  |$)", part, flags=re.MULTILINE)
            found[words[0]] = words, lines
    return found


def called(words: list[str]) -> list[tuple[str, str]]:
    """Every function of the package in the order of calls, in this process."""
    seen: list[tuple[str, str]] = []

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            name = Path(frame.f_code.co_filename).relative_to(ROOT).as_posix()
            seen.append((name, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        app(words, standalone_mode=False)
    finally:
        sys.setprofile(before)
    return seen


def in_order(walk: list[tuple[str, str]], calls: list[tuple[str, str]]) -> str | None:
    """The first step that does not come after the one before it; None: all do."""
    at = 0
    for step in walk:
        try:
            at = calls.index(step, at) + 1
        except ValueError:
            return "  ".join(step)
    return None


def folder_changes(walk: list[tuple[str, str]]) -> int:
    folders = [name.rpartition("/")[0] for name, _ in walk]
    return sum(a != b for a, b in itertools.pairwise(folders))


@pytest.mark.parametrize("verb", MOST_CHANGES)
def test_the_way_leads_through_few_folders(verb):
    _, walk = walks()[verb]
    assert len(walk) >= 9
    assert folder_changes(walk) <= MOST_CHANGES[verb]


@pytest.mark.parametrize("verb", ["fit", "plan", "build"])
def test_the_walk_is_what_happens(verb, capsys):
    words, walk = walks()[verb]
    missed = in_order(walk, called(words))
    assert missed is None, f"{missed} is not called at its place"
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_main_job_is_what_happens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words, walk = walks()["reproduce"]
    missed = in_order(walk, called(words))
    assert missed is None, f"{missed} is not called at its place"
    assert "report:" in capsys.readouterr().out


def test_a_wrong_order_is_seen():
    calls = [("a.py", "f"), ("b/c.py", "g"), ("a.py", "h")]
    assert in_order([("a.py", "f"), ("a.py", "h")], calls) is None
    assert in_order([("a.py", "h"), ("b/c.py", "g")], calls) == "b/c.py  g"
    assert folder_changes([("a/b.py", "f"), ("a/c.py", "g"), ("d.py", "h")]) == 1
