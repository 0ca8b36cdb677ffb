"""The walks of docs/architecture.md are what happens: every function named is called, in order,
and the way leads through few folders.
"""

import contextlib
import importlib
import inspect
import itertools
import re
import shlex
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount.cli import app

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


def function(step: tuple[str, str]) -> types.FunctionType:
    """The function of a step, without what decorates it."""
    name, path = step
    # a folder's own file is the folder: by its full name it would be loaded a second time
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found = importlib.import_module(f"headcount.{module}")
    for part in path.split("."):
        found = getattr(found, part)
    return inspect.unwrap(found)


@contextlib.contextmanager
def noted(step: tuple[str, str], seen: list[tuple[str, str]]) -> Iterator[None]:
    """Every call of a step's function, whoever holds it, is noted. The function's code is
    exchanged: a profile of all calls would take several times as long as the command.
    """
    watched = function(step)
    code, named = watched.__code__, watched.__kwdefaults__
    own = types.FunctionType(code, watched.__globals__, code.co_name, watched.__defaults__)
    own.__kwdefaults__, own.__annotations__ = named, watched.__annotations__

    def note(*arguments, _told, **options):
        return _told(*arguments, **options)

    def told(*arguments, **options):
        seen.append(step)
        return own(*arguments, **options)

    watched.__code__, watched.__kwdefaults__ = note.__code__, {"_told": told}
    watched.__wrapped__ = own  # for the signature, which the command line reads
    try:
        yield
    finally:
        del watched.__wrapped__
        watched.__code__, watched.__kwdefaults__ = code, named


def called(words: list[str], walk: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The walk's functions in the order of calls, in this process."""
    seen: list[tuple[str, str]] = []
    with contextlib.ExitStack() as stack:
        for step in set(walk):
            stack.enter_context(noted(step, seen))
        app(words, standalone_mode=False)
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
    missed = in_order(walk, called(words, walk))
    assert missed is None, f"{missed} is not called at its place"
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_main_job_is_what_happens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words, walk = walks()["reproduce"]
    missed = in_order(walk, called(words, walk))
    assert missed is None, f"{missed} is not called at its place"
    assert "report:" in capsys.readouterr().out


def test_calls_are_noted_in_order_and_functions_are_left_as_they_were():
    walk = [("cli/listing.py", name) for name in ("list_parts", "rows", "registries")]
    before = [function(step).__code__ for step in walk]
    assert called(["list", "bias"], walk[::-1]) == walk
    assert [function(step).__code__ for step in walk] == before


def test_a_wrong_order_is_seen():
    calls = [("a.py", "f"), ("b/c.py", "g"), ("a.py", "h")]
    assert in_order([("a.py", "f"), ("a.py", "h")], calls) is None
    assert in_order([("a.py", "h"), ("b/c.py", "g")], calls) == "b/c.py  g"
    assert folder_changes([("a/b.py", "f"), ("a/c.py", "g"), ("d.py", "h")]) == 1
