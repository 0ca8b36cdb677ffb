"""Inputs by the thousand: no traceback, exit 0, 1, 2 or 130, nothing half-written, in little time
and memory.

`HEADCOUNT_FUZZ=N` with `-m slow` tries N inputs of each sort; the quick tests try some.
`python -m tests.fuzz` tries as many as there is time for and writes down what it tried.
"""

import os

import pytest

from tests.fuzz.attack import SORTS, attack, prepare

MANY = int(os.environ.get("HEADCOUNT_FUZZ", "1000"))
QUICK = {"parts": 60, "specs": 60, "files": 60, "bytes": 25, "arguments": 12, "commands": 15}


@pytest.fixture(autouse=True)
def small_machine(monkeypatch, tmp_path):
    """A working folder of its own, two gigabytes, half a minute."""
    for name, value in prepare(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("sort", SORTS)
def test_some_inputs(sort):
    attack(sort, QUICK[sort])


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("sort", SORTS)
def test_many_inputs(sort):
    attack(sort, MANY, seed=None)
