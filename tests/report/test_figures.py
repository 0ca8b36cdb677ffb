"""Drawings: the same bytes each time, the same numbers as the data, nothing cut off, no name
over another.
"""

import csv
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.text import Text

from headcount.report import figures
from headcount.report.figure_data import Axis, Curve, FigureData
from headcount.report.palette import FAMILIES, LIGHT
from tests.report import example

FIGURES = (*example.figures(), *example.drawn())
ROOT = Path(__file__).parents[2]


def _hash(figure: FigureData) -> str:
    return hashlib.sha256(b"".join(figures.files(figure).values())).hexdigest()


def test_points_that_no_line_joins_have_markers_however_many():
    many = tuple(float(i) for i in range(40))
    curve = Curve("a learned", "measured", many, (0.5,) * 40, (0.4,) * 40, (0.6,) * 40, "a")
    names = tuple(f"arm {i}" for i in range(40))
    data = FigureData(
        "many", "bias", "Many", Axis("", "category", names), Axis("MSE", "log"), (curve,)
    )
    with figures.style("x"):
        axes = figures.draw(data).axes[0]
    marked = [line for line in axes.lines if line.get_marker() not in ("None", "", None)]
    assert len(marked) == 40


@pytest.mark.slow
def test_the_same_bytes_in_another_process():
    code = "from tests.report.test_figures import FIGURES, _hash; print(_hash(FIGURES[0]))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    assert done.stdout.strip() == _hash(FIGURES[0])


def test_another_number_gives_other_bytes():
    line = FigureData(
        "f", "4a", "t", Axis("x"), Axis("y"), (Curve("a", "measured", (1.0, 2.0), (1.0, 2.0)),)
    )
    other = FigureData(
        "f", "4a", "t", Axis("x"), Axis("y"), (Curve("a", "measured", (1.0, 2.0), (1.0, 2.5)),)
    )
    assert _hash(line) != _hash(other)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_the_csv_holds_the_figure_s_numbers(figure):
    rows = list(csv.DictReader(io.StringIO(figures.csv_text(figure))))
    points = [(curve, point) for curve in figure.curves for point in curve.rows()]
    assert len(rows) == len(points)
    for row, (curve, (x, *values)) in zip(rows, points, strict=True):
        assert (row["family"], row["kind"], row["series"]) == (curve.family, curve.kind, curve.name)
        place = figure.place_name(x)
        assert (row["x"] if isinstance(place, str) else float(row["x"])) == place
        assert [float(row[name]) if row[name] else None for name in ("y", "low", "high")] == values


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_nothing_is_cut_off_and_no_names_overlap(figure):
    with figures.style("test"):
        canvas = figures.draw(figure)
        canvas.canvas.draw()
        axes = canvas.axes[0]
        width, height = canvas.bbox.width, canvas.bbox.height
        texts = [*axes.texts, *canvas.texts, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            texts += [
                label
                for label, place in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)
                if low <= place <= high
            ]
        texts += [text for legend in canvas.legends for text in legend.get_texts()]
        boxes = [
            (text.get_text(), Text.get_window_extent(text))
            for text in texts
            if text.get_text() and text.get_visible()
        ]
    for text, box in boxes:
        assert box.x0 >= 0, text
        assert box.x1 <= width, text
        assert box.y0 >= 0, text
        assert box.y1 <= height, text
    assert figure.x.categories or sum(t in figure.families for t, _ in boxes) == len(
        figure.families
    )
    words = {*figure.families, *(curve.note for curve in figure.curves)}
    names = [box for text, box in boxes if text in words]
    for i, one in enumerate(names):
        assert not any(one.overlaps(other) for other in names[:i])


def test_a_family_keeps_its_colour_through_all_kinds():
    svg = figures.files(FIGURES[0])["svg"].decode()
    for colour in (LIGHT[FAMILIES[0]], LIGHT[FAMILIES[1]]):
        assert f"stroke: {colour}" in svg
    assert LIGHT[FAMILIES[2]] not in svg
    assert "stroke-dasharray" in svg  # the floors


def test_an_exact_zero_stands_at_a_tick_that_says_so():
    with figures.style("test"):
        axes = figures.draw(FIGURES[0]).axes[0]
        labels = {
            label.get_text(): place
            for label, place in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
        }
        assert axes.get_ylim()[0] < labels["0"] < 4e-8  # below the smallest positive value
        assert sorted(labels.values()) == list(labels.values())


def test_files_say_no_date_and_keep_text_as_text():
    drawn = figures.files(FIGURES[3])
    svg = drawn["svg"].decode()
    assert "dc:date" not in svg
    assert "a cliff &amp; &lt;not&gt; a slope, for $3" in svg
    assert drawn["png"].startswith(b"\x89PNG")
    assert b"Software" not in drawn["png"]


def test_one_point_and_gaps_can_be_drawn():
    gap = Curve(
        "gap", "measured", (1.0, 2.0, 4.0), (1.0, None, 3.0), (0.0, None, 2.0), (2.0, None, 4.0)
    )
    dot = Curve("dot", "measured", (2.0,), (2.5,), (1.0,), (3.0,))
    title = "A title that is so long that it does not fit into one line of a drawing of 700 pixels"
    figure = FigureData("small", "4a", title, Axis("x", "log"), Axis("y", "log"), (gap, dot))
    assert set(figures.files(figure)) == {"svg", "png", "csv"}


def test_floors_on_the_lower_edge_take_turns():
    points, edge = (1.0, 2.0), (1e-20, 1e-20)
    curves = tuple(
        curve
        for name in ("a", "b")
        for curve in (
            Curve(name, "measured", points, (1.0, 2.0), family=name),
            Curve(f"{name} floor", "floor", points, edge, family=name, note=f"{name}: 1e-20"),
        )
    )
    made = FigureData("f", "4a", "t", Axis("x", "log"), Axis("y", "log", least=1e-3), curves)
    with figures.style("test"):
        axes = figures.draw(made).axes[0]
        floors = [line for line in axes.lines if line.get_linestyle() == "--"]
        assert axes.get_yticklabels()[0].get_text() == "< 10⁻³"
    assert len({line._dash_pattern[0] for line in floors}) == 2
    assert {y for line in floors for y in line.get_ydata()} == {1e-3 / 3}
