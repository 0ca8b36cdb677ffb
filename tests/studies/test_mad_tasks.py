"""Predictions: what is compared, and what is said of it."""

import pytest

from headcount.core.errors import InputError
from headcount.lab.study import Profile
from headcount.studies.mad_tasks import (
    PREDICTED,
    PREDICTIONS,
    Holds,
    Measured,
    Part,
    Predictions,
    Removal,
    chosen,
    planned,
)
from headcount.studies.trials import Learned

MAD = {"in-context-recall", "noisy-in-context-recall", "fuzzy-in-context-recall",
       "selective-copying", "compression", "memorization"}  # fmt: skip
GOOD, BAD = (Learned((0.1,) * 5, (right,) * 5) for right in (1.0, 0.5))


def test_every_task_is_described_and_lesser_models_differ_in_one_part():
    assert {p.mad for p in PREDICTIONS if p.mad} == MAD
    for p in PREDICTIONS:
        p.task.target.check_length(p.task.length)
        predicted = p.model(PREDICTED)
        for part in p.removals:
            lesser = p.model(part)
            assert len([name for name in predicted if predicted[name] != lesser[name]]) == 1


def test_everything_that_is_predicted_is_taken_away_once():
    for p in PREDICTIONS:
        assert (Part.LAYER in p.removals) == (p.layers > 1)
        assert (Part.DOT in p.removals) == p.dot
        assert (Part.LAG in p.removals) == bool(p.farthest)
    seen = {p.task.name: p.model(PREDICTED)["bias"]["window"] for p in PREDICTIONS}
    assert (seen["memorising"], seen["compression"]) == (1, 7)


def test_outcomes_follow_from_all_models():
    p = PREDICTIONS[0]
    assert p.removals == (Part.LAYER, Part.DOT)

    def row(whole, *lesser):
        return Measured(p, whole, tuple(map(Removal, p.removals, lesser)))

    rows = [row(GOOD, BAD, BAD), row(GOOD, BAD, GOOD), row(BAD, BAD, BAD), row(GOOD)]
    assert [row.outcome for row in rows] == [
        Holds.HOLDS, Holds.NOT_LEAST, Holds.MISSED, Holds.UNTRIED,
    ]  # fmt: skip
    said = Predictions(Profile.SMOKE, tuple(rows)).sentences()
    assert said[0] == "The predicted smallest architecture holds in 1 of 4 tasks."
    assert "without a layer 50%; without dot products 100%" in said[2]
    told = rows[1].to_json()
    assert [(each["part"], each["reached"]) for each in told["removals"]] == [
        ("a layer", False), ("dot products", True),
    ]  # fmt: skip


def test_selective_copying_is_predicted_without_dot_products():
    p = next(p for p in PREDICTIONS if p.task.name == "selective copying")
    assert (p.layers, p.dot, p.removals) == (2, False, (Part.LAYER,))


def test_runs_are_counted_and_names_checked():
    assert len(planned(["memorising", "noisy recall"], "smoke")) == (1 + 3) * 5
    with pytest.raises(InputError, match="task"):
        chosen(["chess"], "smoke")
    with pytest.raises(InputError, match="profile"):
        chosen(None, "huge")
