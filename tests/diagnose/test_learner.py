"""Where the generic learner loads: in another process at first, in this one later."""

import sys

import numpy as np
import pytest

from headcount.core.beside import Apart
from headcount.diagnose import learner

pytest.importorskip("sklearn")


@pytest.fixture(autouse=True)
def _as_if_nothing_was_loaded(monkeypatch):
    monkeypatch.setattr(learner, "_begun", [])
    monkeypatch.setattr(learner, "_waiting", [])
    monkeypatch.delitem(sys.modules, "sklearn", raising=False)


def test_only_the_first_diagnosis_asks_another_process():
    assert not learner.loads_here()
    first = learner.other_process()
    assert first is not None
    first.leave()
    assert learner.loads_here()
    assert learner.other_process() is None


def test_a_process_that_waits_is_taken_and_one_left_over_is_ended():
    process = Apart("math")
    with learner.waiting(process):
        assert not learner.loads_here()
        assert learner.other_process() is process
        assert learner.other_process() is None  # later ones load it here
    process.leave()
    left = Apart("math")
    with learner.waiting(left):
        pass
    assert left._process.returncode is not None
    with learner.waiting(None):
        assert learner.other_process() is None


def test_both_ways_leave_the_same_errors():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    y, folds = x[:, 1] + 0.1 * rng.normal(size=300), ((np.arange(200), np.arange(200, 300)),)
    process = learner.other_process()
    there = learner.begin(x, y, folds, 0, process).answer()
    here = learner.begin(x, y, folds, 0, None).answer()
    assert np.array_equal(there[0], here[0])


def test_labels_of_one_kind_in_a_fold_are_certain():
    """Sequences that end alike: nothing is left to learn, which is no fault."""
    chance = np.random.default_rng(0)
    x = chance.integers(0, 2, (200, 3))
    y = np.r_[np.zeros(100, int), chance.integers(0, 2, 100)]
    held = np.arange(100, 200)
    found = learner.boosted_labels(x, y, ((np.arange(100), held),), (), 0)
    assert (found.losses[y[held] == 0] < 1e-2).all()
    assert (found.losses[y[held] == 1] > 1).all()
