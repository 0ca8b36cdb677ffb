"""Every named target: it has a worked example (`tests/test_doctests.py` runs it), its text parses,
and it agrees with its reference.
"""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import headcount.memory.named
from headcount.core.spec import plain
from headcount.memory.named import EXAMPLES
from headcount.memory.target import targets

NAMED = [
    entry.name
    for entry in targets.entries()
    if entry.part.__module__.startswith("headcount.memory.named.")
]
MODULES = [module.name for module in pkgutil.iter_modules(headcount.memory.named.__path__)]


@pytest.mark.parametrize("module", MODULES)
def test_there_is_a_worked_example(module):
    found = doctest.DocTestFinder().find(
        importlib.import_module(f"headcount.memory.named.{module}")
    )
    assert any(test.examples for test in found) or module in ("base", "corpus", "examples")


def test_there_is_an_example_of_every_named_target():
    assert sorted(NAMED) == sorted(EXAMPLES)


@pytest.mark.slow  # quick, and shorter, in tests/contracts/test_targets.py
@pytest.mark.parametrize("name", NAMED)
def test_examples_agree_with_their_references(name, draw):
    text, length = EXAMPLES[name]
    target = targets.build(text)
    batch = draw(target, 3, length)
    np.testing.assert_allclose(batch.y, target.reference(np.asarray(batch.x)), rtol=1e-5, atol=1e-5)
    assert np.asarray(batch.mask).any()


@pytest.mark.parametrize("name", NAMED)
def test_examples_survive_a_spec(name):
    target = targets.build(EXAMPLES[name][0])
    assert target.kind == name
    again = targets.build(plain(target))
    assert again == target
    assert hash(again) == hash(target)


@pytest.mark.parametrize("text", ["prop42", "pointer-chain:hops=2,symbols=6", "recall:pairs=6"])
def test_the_texts_of_the_command_line_parse(text, draw):
    target = targets.build(text)
    assert target.kind == text.partition(":")[0]
    assert draw(target, 1, 40).x.shape[1] == 40
