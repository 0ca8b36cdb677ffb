import pytest

import headcount as hc
from headcount.core.errors import InputError
from headcount.core.picture import line_plot


def test_missing_and_infinite_values_are_left_out():
    lines = {"a": [1.0, None, 3.0], "b": [float("inf"), 0.0, -1.0]}
    axes = line_plot([1, 2, 3], lines, ("x", "y")).axes[0]
    assert [line.get_label() for line in axes.lines] == ["a"]
    assert list(axes.lines[0].get_xdata()) == [1, 3]
    assert axes.get_yscale() == "log"
    assert not line_plot([], {}, ("x", "y")).axes[0].lines


def test_the_numbers_of_a_kernel_family():
    told = []
    made = hc.plot.four_numbers("lag", 1, 2, heads=2, learned={2: 0.5}, progress=told.append)
    assert told == ["lag:1", "lag:2"]
    axes = made.axes[0]
    names = [line.get_label() for line in axes.lines]
    assert "possible (best heads found)" in names
    assert names[-1] == "learned"


def test_ranges_and_names_are_checked():
    with pytest.raises(InputError, match="kernel 'lug'"):
        hc.plot.four_numbers("lug", 1, 2)
    with pytest.raises(InputError, match="at most 64 values"):
        hc.plot.four_numbers("lag", 1, 1000)
