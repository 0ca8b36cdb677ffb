"""Outcomes refuse what cannot be, and tell where measurement contradicts computation."""

import dataclasses
import math

import pytest

from headcount.core.errors import InputError
from headcount.lab.numbers import Numbers
from headcount.lab.study_outcome import SMALLEST, Learned, LearningCurve, learning_curve, summarised
from tests.report.example import arm, learned, studied

EXACT = {"train": {"loss": "population"}}


def test_a_lower_bound_above_the_possible_value_is_refused():
    with pytest.raises(InputError, match=r"lower bound 2\.0 above the possible value 1\.0"):
        Numbers(possible=1.0, lower=2.0)
    Numbers(possible=1.0, lower=1.0 + 1e-12)  # both are rounded doubles


@pytest.mark.parametrize(
    ("losses", "mean", "low", "high", "message"),
    [
        ((math.inf,) * 3, 1.0, 1.0, 1.0, "if and only if"),
        ((1.0,), math.inf, math.inf, math.inf, "if and only if"),
        ((1.0,) * 3, 1.0, 1.5, 2.0, "low <= mean <= high"),
    ],
)
def test_learned_numbers_that_cannot_be_are_refused(losses, mean, low, high, message):
    with pytest.raises(InputError, match=message):
        Learned("default", losses, mean, low, high)


def doubts(numbers, *cells, run=None):
    return list(studied("4a", arm("lin", numbers, *cells, run=run)).doubts())


def test_a_measurement_below_the_certificate_is_a_doubt():
    numbers = Numbers(possible=0.3, lower=0.2, float32=0.3, bfloat16=0.1)
    found = doubts(numbers, learned(0.15, 0.1, 0.19, 10))
    assert [doubt.split()[1] for doubt in found] == ["learned", "bfloat16"]
    fair = dataclasses.replace(numbers, bfloat16=0.4)
    assert doubts(fair, learned(0.15, 0.1, 0.21, 10)) == []  # the interval still reaches the bound


def test_one_exact_seed_below_the_certificate_is_a_doubt():
    numbers = Numbers(possible=0.3, lower=0.2)
    low = dataclasses.replace(learned(0.21, 0.19, 0.23, 2), losses=(0.19, 0.23))
    assert ["learned 0.19" in doubt for doubt in doubts(numbers, low, run=EXACT)] == [True]
    assert doubts(numbers, low) == []  # a sampled loss has noise
    # the end of an interval is no seed
    seen = dataclasses.replace(low, losses=(0.2, 0.23))
    assert doubts(numbers, seen, run=EXACT) == []


def test_an_exact_loss_far_below_the_best_known_weights_is_a_doubt():
    numbers = Numbers(possible=0.1, float32=0.9)
    found = doubts(numbers, learned(0.4), run=EXACT)
    assert ["half of the best that was known, 0.9" in doubt for doubt in found] == [True]
    assert doubts(numbers, learned(0.5, 0.4, 0.6), run=EXACT) == []
    assert doubts(numbers, learned(0.4)) == []
    assert doubts(Numbers(possible=0.9, constant=True), learned(0.4), run=EXACT) == []


def test_rounded_curves_may_lie_a_rounding_below_the_certificate():
    numbers = Numbers(possible=0.2, lower=0.2, float32=0.2 * (1 - 1e-8), bfloat16=0.199)
    assert doubts(numbers, learned(0.5), run=EXACT) == []
    spoilt = dataclasses.replace(numbers, float32=0.199, bfloat16=0.19)
    assert len(doubts(spoilt, learned(0.5), run=EXACT)) == 2


def test_a_doubt_names_the_cell_where_there_are_several():
    numbers = Numbers(possible=0.3, lower=0.2)
    found = doubts(numbers, learned(0.1, cell="lr=1"), learned(0.3, cell="lr=2"))
    assert [doubt.partition(":")[0] for doubt in found] == ["lin (lr=1)"]


def test_equal_seeds_have_an_interval_around_their_mean():
    for loss in (0.1, 0.3, 1e-7, 7.3):
        found = summarised("c", [loss] * 3, ratio=True)
        assert found.low <= found.mean <= found.high


def record(steps, losses, diverged=False):
    metrics = {"step": list(steps), "eval_loss": list(losses)}
    return {"metrics": metrics, "final": {} if diverged else {"eval_loss": losses[-1]}}


def test_a_learning_curve_is_the_median_over_seeds():
    found = learning_curve(
        [record((1, 2), (5.0, 1.0)), record((1, 2), (4.0, 3.0)), record((1, 2), (6.0, 2.0))],
        "eval_loss",
    )
    assert found == LearningCurve((1, 2), (5.0, 2.0), (4.0, 1.0), (6.0, 3.0))
    assert learning_curve([], "eval_loss") == LearningCurve()


def test_a_run_that_diverged_is_infinite_from_there_and_one_that_stopped_keeps_its_loss():
    runs = [
        record((1, 2, 3), (5.0, 1.0, 0.5)),
        record((1,), (4.0,), diverged=True),
        record((1, 2), (6.0, 2.0)),
    ]
    found = learning_curve(runs, "eval_loss")
    assert found.median == (5.0, 2.0, 2.0)
    assert found.high == (6.0, math.inf, math.inf)
    nothing = learning_curve([record((), (), diverged=True), runs[0]], "eval_loss")
    assert nothing.low == (5.0, 1.0, 0.5)
    assert nothing.median == (math.inf,) * 3


def test_the_median_counts_runs_that_diverged():
    assert learned(0.5, seeds=5, diverged=2).median == 0.5
    assert learned(0.5, seeds=4, diverged=2).median == math.inf
    assert Learned("c", (), math.inf, math.inf, math.inf).median == math.inf


def test_a_loss_of_exactly_0_has_a_mean_and_an_interval():
    """float32 may underflow in an exact model; on a logarithmic scale that counts as `SMALLEST`."""
    found = summarised("", [0.0, 1e-9, 0.0, 2e-9, 3e-9], ratio=True)
    assert found.low <= found.mean <= found.high
    assert 0 < found.mean < 1e-9
    assert summarised("", [0.0, 0.0, 0.0, 0.0], ratio=True).mean == pytest.approx(SMALLEST)
