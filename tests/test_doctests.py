"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import headcount

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(headcount.__path__, "headcount.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
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
