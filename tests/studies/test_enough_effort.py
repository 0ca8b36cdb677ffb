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
    found = enough_effort([(30, 0), (30, 30)], trained(2.0, asked), 1e-2, (100, 6400), None, 1.0)
    assert found.enough
    assert asked == [50, 100, 200, 400]  # 2/200 is above 5% of the risk, 2/400 below
    assert found.effort.steps == 400
    assert "400 steps are enough" in found.sentence()


def test_an_effort_that_is_not_enough_is_told():
    found = enough_effort([(30, 0)], trained(2.0, []), 1e-2, (100, 200), None, 1.0)
    assert not found.enough
    assert found.effort.steps == 200
    assert "200 steps are not enough: from half as many the risk with fresh data" in (
        found.sentence()
    )
    document = found.to_json()
    assert document["enough"] is False
    assert document["changes"][0]["value"] == pytest.approx(-0.01)


def test_an_error_asked_for_allows_a_tenth_of_itself():
    found = enough_effort([(30, 0)], trained(2.0, []), 1e-2, (100, 6400), 0.2, 1.0)
    assert found.effort.steps == 100  # 2/100 changes the answer by a tenth of 0.2
