"""Widths that make contenders equal, and how equal they are."""

import pytest

from headcount.studies.collection import by_name
from headcount.studies.contenders import CONTENDERS, NEAR, Measure, amount, near, sized
from headcount.studies.rivals import budget


def of(name, memory, measure):
    task = by_name(memory)
    found = sized(name, task, measure, budget(task, measure))
    assert found.share == pytest.approx(amount(found.cost, measure) / budget(task, measure))
    return found


@pytest.mark.parametrize("measure", [Measure.PARAMETERS, Measure.WORK])
@pytest.mark.parametrize("name", CONTENDERS)
def test_contenders_come_near_the_budget(name, measure):
    assert near(of(name, "two-hops", measure).share)


@pytest.mark.parametrize(
    ("name", "memory", "measure"),
    [("convolution", "power-heavy", Measure.PARAMETERS), ("gru", "boolean-choice", Measure.WORK)],
)
def test_odd_widths_come_near_where_even_ones_do_not(name, memory, measure):
    found = of(name, memory, measure)
    assert found.model["width"] % 2
    assert abs(found.share - 1) <= NEAR


def test_at_equal_state_a_window_is_wider_than_a_transformer_that_keeps_all_tokens():
    whole, window = (of(name, "lag-30", Measure.STATE) for name in ("transformer", "local"))
    assert (whole.model["width"], whole.cost.state) == (8, 48 * 4 * (2 + 2))
    assert (window.model["width"], window.cost.state) == (24, 16 * 4 * (6 + 6))


@pytest.mark.parametrize("name", ["transformer", "dp-free", "local", "convolution"])
def test_what_is_no_recurrence_has_the_state_of_attention_on_a_long_memory(name):
    assert near(of(name, "power-heavy", Measure.STATE).share)


@pytest.mark.parametrize("name", ["ssm", "gated"])
def test_linear_recurrences_have_it_on_a_memory_of_middle_length(name):
    assert near(of(name, "lag-30", Measure.STATE).share)
    found = of(name, "power-heavy", Measure.STATE)
    assert found.model["width"] == Measure.STATE.widest(name)
    assert found.share < 1 - NEAR


def test_a_gru_is_stopped_below_it_and_says_so():
    found = of("gru", "lag-30", Measure.STATE)
    assert found.model["width"] == Measure.STATE.widest("gru") < 48 * 16
    assert not near(found.share)
