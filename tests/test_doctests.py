"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import headcount

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(headcount.__path__, "headcount.")
    if not module.name.endswith("__main__")
)


SOURCE = Path(headcount.__file__).parents[1]


def has_examples(name):
    file = SOURCE.joinpath(*name.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return ">>> " in file.read_text()


@pytest.mark.parametrize("name", list(filter(has_examples, MODULES)))
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0, f"{outcome.failed} of {outcome.attempted} examples fail in {name}"


def test_examples_are_found():
    found = sum(
        len(test.examples)
        for name in MODULES
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
    )
    assert found >= 10
