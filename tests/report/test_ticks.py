"""Ticks of logarithmic axes are few and inside."""

import pytest

from headcount.report.ticks import MOST, tick_values


@pytest.mark.parametrize(
    ("low", "high"),
    [(1e-12, 1e3), (0.3, 0.4), (1.0, 1.05), (2e-5, 3e-4), (1e-300, 1e300), (0.7, 80.0)],
)
def test_ticks(low, high):
    values = tick_values(low, high)
    assert 1 <= len(values) <= MOST
    assert values == sorted(values)
    assert all(low / 1.01 <= value <= high * 1.01 for value in values)
