"""Figures refuse what cannot be drawn truthfully."""

import math

import pytest

from headcount.core.errors import InputError
from headcount.report.figure_data import Axis, Curve, FigureData

LINE = Curve("lin", "measured", (1.0, 2.0), (3.0, 4.0))


HEADS, MSE = Axis("heads"), Axis("MSE")


def _figure(curves=(LINE,), x=HEADS, y=MSE, name="f"):
    return FigureData(name, "4a", "title", x, y, curves)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "measuerd"}, "nearest: 'measured'"),
        ({"y": (1.0,)}, "as many of both"),
        ({"low": (1.0, 1.0)}, "2 low, 0 high"),
        ({"low": (5.0, 1.0), "high": (6.0, 6.0)}, "low <= y <= high"),
        ({"y": (math.nan, 1.0)}, "finite number, or None"),
        ({"x": (math.inf, 1.0)}, "finite number, or None"),
    ],
)
def test_curves_that_cannot_be_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Curve(**{"name": "lin", "kind": "measured", "x": (1.0, 2.0), "y": (3.0, 4.0), **values})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"curves": ()}, "without curves"),
        ({"curves": (Curve("a", "floor", (1.0,), (None,)),)}, "without a point"),
        ({"curves": (LINE, LINE)}, "given twice"),
        (
            {"curves": tuple(Curve(f"{i}", "floor", (1.0,), (1.0,)) for i in range(8))},
            "at most 7 colours",
        ),
        ({"name": "../x"}, "file name"),
        ({"x": Axis("arm", "category", ("a", "b"))}, r"indices 0\.\.1"),
        (
            {"x": Axis("H", "log"), "curves": (Curve("a", "floor", (0.0,), (1.0,)),)},
            "on a log axis",
        ),
        (
            {"y": Axis("MSE", "log"), "curves": (Curve("a", "floor", (1.0,), (-1.0,)),)},
            "on a log axis",
        ),
        ({"y": Axis("arm", "category", ("a",))}, "categories on x"),
    ],
)
def test_figures_that_cannot_be_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        _figure(**values)


def test_an_axis_has_names_only_as_categories():
    with pytest.raises(InputError, match="scale category"):
        Axis("arm", "category")
    with pytest.raises(InputError, match="scale category"):
        Axis("arm", "linear", ("a",))


def test_zero_is_allowed_on_a_log_axis():
    assert _figure((Curve("exact", "floor", (1.0,), (0.0,)),), y=Axis("MSE", "log")).families == (
        "exact",
    )
