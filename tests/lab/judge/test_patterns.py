"""Patterns are plain arrays that cannot be what they say they are not."""

import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.patterns import FloorPattern, HopPattern, LagPattern, LengthPattern

FLOORS = {"loss": 0.2, "trivial": 1.0, "floor": 0.1, "more_heads": 0.05, "other_bias": 0.0}
HOPS = {"accuracy": [1.0, 0.5], "chance": 0.2, "samples": 100, "layers": 1}
LAGS = {"lags": [1, 5], "error": [0.0, 1.0], "heads": 2}
LENGTHS = {"lengths": [64, 128], "loss": [0.1, 0.2], "reach": 10, "trivial": 1.0}


@pytest.mark.parametrize(
    ("record", "good", "change", "message"),
    [
        (FloorPattern, FLOORS, {"loss": math.inf}, "no pattern"),
        (FloorPattern, FLOORS, {"trivial": 0.0}, "trivial loss 0"),
        (FloorPattern, FLOORS, {"floor": math.nan}, "floors"),
        (FloorPattern, FLOORS, {"more_heads": 0.2}, "0.2 with more heads, 0.1 with fewer"),
        (HopPattern, HOPS, {"accuracy": [1.0]}, "at least 2"),
        (HopPattern, HOPS, {"accuracy": [1.0, 50.0]}, "fractions"),
        (HopPattern, HOPS, {"accuracy": [1.0, math.nan]}, "finite"),
        (HopPattern, HOPS, {"chance": 1.0}, "chance 1"),
        (HopPattern, HOPS, {"samples": 0}, "0 samples"),
        (HopPattern, HOPS, {"layers": 0}, "0 layers"),
        (HopPattern, HOPS, {"deeper": [1.0, 0.9, 0.8]}, "3 accuracies of deeper models"),
        (LagPattern, LAGS, {"lags": [5, 1]}, "sort them"),
        (LagPattern, LAGS, {"error": [0.0]}, "one error per lag"),
        (LagPattern, LAGS, {"error": [0.0, -1.0]}, "numbers >= 0"),
        (LagPattern, LAGS, {"heads": 0}, "0 heads"),
        (LengthPattern, LENGTHS, {"lengths": [128, 64]}, "trained first"),
        (LengthPattern, LENGTHS, {"loss": [0.1, 0.0]}, "numbers > 0"),
        (LengthPattern, LENGTHS, {"loss": [0.1, 0.1, 0.1]}, "one loss per length"),
        (LengthPattern, LENGTHS, {"reach": -1}, "reach -1"),
        (LengthPattern, LENGTHS, {"trivial": math.inf}, "trivial loss inf"),
    ],
)
def test_refusals(record, good, change, message):
    record(**good)
    with pytest.raises(InputError, match=message):
        record(**{**good, **change})


def test_arrays_are_copied_and_fixed():
    given = np.array([1.0, 0.5])
    pattern = HopPattern(**{**HOPS, "accuracy": given})
    given[0] = 0.0
    assert pattern.accuracy[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        pattern.accuracy[0] = 0.0


def test_skill_is_zero_for_guessing_and_one_for_always_right():
    pattern = HopPattern([1.0, 0.25, 0.625], chance=0.25, samples=100, layers=1)
    assert pattern.skill == pytest.approx([1.0, 0.0, 0.5])
    assert pattern.error[2] == pytest.approx(np.sqrt(0.625 * 0.375 / 100) / 0.75, rel=0.01)
    assert pattern.error[0] > 0


def test_lengths_from_positions():
    """Trained on 4, tested on 13: positions 2..4, then 5..8, then 9..13; the first has no lag 1
    behind it.
    """
    loss = np.array([100, 1, 2, 3, *[10] * 4, *[20] * 5])
    pattern = LengthPattern.from_positions(loss, trained=4, reach=1, trivial=50)
    assert pattern.lengths.tolist() == [4, 8, 13]
    assert pattern.loss.tolist() == [2, 10, 20]
    with pytest.raises(InputError, match="trained length 13 of 13"):
        LengthPattern.from_positions(loss, trained=13, reach=1, trivial=50)
    with pytest.raises(InputError, match="between 4 and N"):
        LengthPattern.from_positions(loss, trained=4, reach=4, trivial=50)
    with pytest.raises(InputError, match="one loss per position"):
        LengthPattern.from_positions(loss[None], trained=4, reach=1, trivial=50)
