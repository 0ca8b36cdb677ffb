"""Steps are doubled until doubling no longer matters; what is not enough says so."""

import numpy as np
import pytest

from headcount.studies.enough_effort import enough_effort

SPREAD = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def trained(remainder, asked):
    """Risks of 0.1 with a spread of 1% between seeds and c/S on top."""

    def risks(arms, effort):
        asked.append(effort.steps)
        return {arm: 0.1 + 1e-3 * SPREAD + remainder / effort.steps for arm in arms}

    return risks


def test_steps_grow_until_the_remainder_is_small():
    asked = []
    found = enough_effort(
        [(30, 0), (30, 30)], trained(2.0, asked), 1e-2, (100, 6400), None, 4.0, {}
    )
    assert found.enough
    assert asked == [50, 100, 200, 400]  # 2/200 is above 5% of the risk, 2/400 below
    assert found.effort.steps == 400
    assert "400 steps are enough" in found.sentence()


def test_an_effort_that_is_not_enough_is_told():
    found = enough_effort([(30, 0)], trained(2.0, []), 1e-2, (100, 200), None, 4.0, {})
    assert not found.enough
    assert found.effort.steps == 200
    assert "200 steps are not enough: from half as many the risk with fresh data" in (
        found.sentence()
    )
    document = found.to_json()
    assert document["enough"] is False
    assert document["changes"][0]["value"] == pytest.approx(-0.01)


def test_an_error_asked_for_allows_a_tenth_of_itself():
    found = enough_effort([(30, 0)], trained(2.0, []), 1e-2, (100, 6400), 0.2, 4.0, {})
    assert found.effort.steps == 100  # 2/100 changes the answer by a tenth of 0.2


def test_training_that_stands_still_far_above_the_floor_goes_on_and_is_not_called_enough():
    asked = []
    found = enough_effort([(30, 0)], trained(0.0, asked), 1e-2, (100, 400), None, 1.0, {})
    assert asked == [50, 100, 200, 400]  # nothing changes, and 10% of the risk is left
    assert (found.settled, found.enough) == (True, False)
    assert "400 steps may not be enough" in found.sentence()
    assert "10% of the best constant" in found.sentence()
    known = enough_effort([(30, 0)], trained(0.0, []), 1e-2, (100, 400), None, 1.0, {30: 0.1})
    assert (known.enough, known.effort.steps) == (True, 100)


def test_training_that_leaps_late_is_followed():
    def risks(arms, effort):
        leapt = effort.steps >= 400
        return {arm: (1e-3 if leapt else 1.0) * (1 + 1e-3 * SPREAD) for arm in arms}

    found = enough_effort([(30, 0)], risks, 1e-2, (100, 6400), None, 3.0, {})
    assert found.enough
    assert found.effort.steps == 800  # 400 differs from 200, 800 does not from 400
