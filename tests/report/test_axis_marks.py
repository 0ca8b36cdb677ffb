"""Ticks of logarithmic axes are few and inside; names at line ends are moved apart, no further than
needed.
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.report.axis_marks import MOST, spread, tick_values


@pytest.mark.parametrize(
    ("low", "high"),
    [(1e-12, 1e3), (0.3, 0.4), (1.0, 1.05), (2e-5, 3e-4), (1e-300, 1e300), (0.7, 80.0)],
)
def test_ticks(low, high):
    values = tick_values(low, high)
    assert 1 <= len(values) <= MOST
    assert values == sorted(values)
    assert all(low / 1.01 <= value <= high * 1.01 for value in values)


@given(st.lists(st.floats(-0.5, 1.5), max_size=7), st.floats(0.01, 0.4))
def test_apart_inside_and_in_order(wanted, gap):
    found = spread(wanted, gap, 0.0, 1.0)
    room = min(gap, 1.0 / max(1, len(wanted) - 1))
    assert all(-1e-6 <= place <= 1 + 1e-6 for place in found)
    assert all(b - a >= room - 1e-6 for a, b in itertools.pairwise(sorted(found)))
    by_place = sorted(range(len(wanted)), key=lambda i: found[i])
    assert [wanted[i] for i in by_place] == sorted(wanted)


def test_names_with_room_stay_where_they_are():
    assert spread([0.9, 0.1, 0.5], 0.2, 0.0, 1.0) == [0.9, 0.1, 0.5]
