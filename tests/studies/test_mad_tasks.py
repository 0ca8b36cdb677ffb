"""Predictions: what is compared, and what is said of it."""

import pytest

from headcount.core.errors import InputError
from headcount.lab.study import Profile
from headcount.studies.mad_tasks import (
    LESSER,
    PREDICTED,
    PREDICTIONS,
    Holds,
    Measured,
    Predictions,
    chosen,
    planned,
)
from headcount.studies.trials import Learned

MAD = {"in-context-recall", "noisy-in-context-recall", "fuzzy-in-context-recall",
       "selective-copying", "compression", "memorization"}  # fmt: skip


def test_every_task_is_described_and_the_lesser_model_differs_in_one_part():
    assert {p.mad for p in PREDICTIONS if p.mad} == MAD
    for p in PREDICTIONS:
        p.task.target.check_length(p.task.length)
        predicted, lesser = p.model(PREDICTED), p.model(LESSER)
        changed = {name for name in predicted if predicted[name] != lesser[name]}
        assert len(changed) == (1 if p.less else 0), p.task.name


def test_outcomes_follow_from_both_models():
    p = PREDICTIONS[0]
    good, bad = (Learned((0.1,) * 5, (right,) * 5) for right in (1.0, 0.5))
    rows = [Measured(p, good, bad), Measured(p, good, good), Measured(p, bad, bad)]
    assert [row.outcome for row in rows] == [Holds.HOLDS, Holds.ENOUGH, Holds.MISSED]
    assert Measured(p, good, None).outcome is Holds.ENOUGH
    said = Predictions(Profile.SMOKE, tuple(rows)).sentences()
    assert said[0] == "The predicted smallest architecture holds in 1 of 3 tasks."
    assert "without a layer 50%" in said[1]


def test_runs_are_counted_and_names_checked():
    assert len(planned(["memorising", "noisy recall"], "smoke")) == (1 + 2) * 5
    with pytest.raises(InputError, match="task"):
        chosen(["chess"], "smoke")
    with pytest.raises(InputError, match="profile"):
        chosen(None, "huge")
