"""The text alternative of a figure names every curve and its ends."""

import numpy as np
import pytest

from headcount.report.figure_data import Axis, Curve, FigureData
from headcount.report.wording import describe, exact, number
from tests.report import example


@pytest.mark.parametrize("figure", example.figures(), ids=lambda figure: figure.name)
def test_every_curve_is_told(figure):
    told = describe(figure)
    assert figure.title in told
    assert all(f"{curve.family}, {curve.kind}" in told for curve in figure.curves)


def test_ends_are_told():
    curve = Curve("lin", "measured", (4.0, 1.0), (0.02, 1.87))
    figure = FigureData(
        "f", "4a", "T", Axis("heads"), Axis("MSE"), (curve, Curve("none", "floor", (1.0,), (None,)))
    )
    assert (
        describe(figure)
        == "T. MSE (linear scale) against heads (linear scale). lin, measured: 1.87 at 1, 0.02 at"
        " 4. none, floor: no value."
    )


def test_numpy_numbers_are_written_as_numbers():
    assert exact(np.float64(0.1)) == "0.1"
    assert exact(np.int64(3)) == "3"
    assert number(np.float64(4e-8)) == "4e-8"
