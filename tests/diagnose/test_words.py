"""A diagnosis as people read it."""

import numpy as np
import pytest

import headcount as hc


@pytest.fixture(scope="module")
def found():
    """Two channels, of which the first is read at two lags."""
    x = np.random.default_rng(4).normal(size=(900, 12, 2))
    noise = 0.2 * np.random.default_rng(5).normal(size=900)
    y = x[:, -4, 0] - x[:, -9, 0] + x[:, -2, 1] + noise
    return hc.diagnose(x, y, learner=False, advise=False)


def test_lags_are_told_by_channel(found):
    from headcount.diagnose.words import sentence

    names = sorted({lag.channel for lag in found.lags})
    assert f"lags 3 and 8 of {names[0]} and lag 1 of {names[1]} (R² 0.9" in sentence(found)


def test_printing_tells_the_answer_and_what_it_rests_on(found):
    lines = str(found).splitlines()
    assert lines[0].startswith("The answer depends on lags 3 and 8 of")
    assert any(line.startswith("null ") and "sign flips" in line for line in lines)
    assert lines[-1].startswith("Lags are predictive, not causal")
    assert repr(found).startswith("<Diagnosis: The answer depends on")
    assert "\n" not in repr(found)


def test_a_random_walk_needs_no_attention():
    from headcount.diagnose.words import sentence

    walk = np.cumsum(np.random.default_rng(12).normal(size=500))
    said = sentence(hc.diagnose(walk, max_lag=8, learner=False))
    assert said.endswith("no attention needed: the newest element is enough.")
