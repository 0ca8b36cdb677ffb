"""The headline: learning rates as they ran, floors in view, the paper's numbers at no learning
rate.
"""

import dataclasses
import math

import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.hypothesis import Reported
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Study, StudyRole, Variant
from headcount.lab.study_outcome import ArmOutcome, StudyOutcome, summarised
from headcount.report.figure_data import Place
from headcount.report.figures import csv_text
from headcount.report.from_studies import study_figures
from headcount.report.headline import HeadlineSeries, Point, headline_figure, headline_series
from tests.report import example


def by_arms(*told, **changes):
    """One arm per learning rate: (name, series, lr, losses)."""
    arms = tuple(
        ArmOutcome(
            Arm(name, {"train": {"lr": lr}}, series=series, **changes),
            Numbers(),
            (summarised("tuned", losses, True),),
            1,
        )
        for name, series, lr, losses in told
    )
    study = Study(
        "4a", Variant.FURTHER, "T", "Q?", tuple(a.arm for a in arms), (1,), role=StudyRole.HEADLINE
    )
    return StudyOutcome(study, arms)


def figure(*series):
    return headline_figure(series, name="f", section="4a", title="T", y_label="loss")


def test_arms_or_cells_may_differ_by_the_learning_rate():
    cells = next(o for o in example.outcomes() if o.study.role is StudyRole.HEADLINE)
    found = headline_series(cells, example.PAPER)
    assert [each.name for each in found] == [
        "log, 1 head",
        "lin, 1 head",
        "lin, 8 heads",
        "lin, 64 heads",
    ]
    assert [point.lr for point in found[0].points] == list(example.RATES_TRIED)
    arms = by_arms(("b", "lin", 0.1, [2.0]), ("a", "lin", 0.01, [1.0, 3.0, 9.0]))
    (lin,) = headline_series(arms)
    assert [(p.lr, p.median, p.low, p.high) for p in lin.points] == [
        (0.01, 3.0, 1.0, 9.0),
        (0.1, 2.0, 2.0, 2.0),
    ]


def test_arms_of_a_series_at_one_learning_rate_are_lines_of_their_own():
    found = headline_series(by_arms(("lin-1", "lin", 0.1, [2.0]), ("lin-8", "lin", 0.1, [1.0])))
    assert [each.name for each in found] == ["lin-1", "lin-8"]


def test_a_run_without_a_learning_rate_is_refused():
    made = by_arms(("a", "lin", 0.1, [2.0]))
    bare = dataclasses.replace(made.arms[0], arm=Arm("a", {}))
    with pytest.raises(InputError, match="no learning rate"):
        headline_series(dataclasses.replace(made, arms=(bare,)))


def test_the_papers_numbers_stand_at_no_learning_rate():
    made = next(
        f
        for o in example.outcomes()
        if o.study.role is StudyRole.HEADLINE
        for f in study_figures(o, example.PAPER)
    )
    assert made.place is Place.HEADLINE
    papers = {c.family: c for c in made.curves if c.kind == "paper"}
    assert {name: (c.y, c.note) for name, c in papers.items()} == {
        "log, 1 head": ((1e-5,), "< 1e-5"),
        "lin, 64 heads": ((0.19,), "0.19"),
    }
    rows = [row for row in csv_text(made).splitlines() if ",paper," in row]
    assert all(",not stated," in row for row in rows)
    assert "it does not state its learning rate" in made.caption
    assert "1 of 72 runs diverged" in made.caption


def test_floors_far_below_are_drawn_at_the_edge_and_near_ones_in_their_place():
    points = (Point(0.1, 1e-3, 1e-3, 1e-3, 3), Point(0.2, 1e-2, 1e-2, 1e-2, 3))
    near, far = HeadlineSeries("near", points, 4e-5), HeadlineSeries("far", points, 1e-20)
    assert figure(near).y.least is None
    assert figure(near, far).y.least == pytest.approx(1e-5)  # no empty decades
    notes = {c.family: c.note for c in figure(near, far).curves if c.kind == "floor"}
    assert notes == {"near": "floor of near: 4e-5", "far": "floor of far: 1e-20"}
    high = HeadlineSeries("high", points, 5e-3)
    assert [c.note for c in figure(high).curves if c.kind == "floor"] == [""]


def test_nothing_is_drawn_where_half_of_the_seeds_diverged():
    gone = Point(0.1, math.inf, 1.0, 2.0, 4, 2)
    assert figure(HeadlineSeries("a", (gone,))) is None
    some = HeadlineSeries("a", (gone, Point(0.2, 1.0, 1.0, 1.0, 4)), paper=Reported("a", 0.5))
    (measured,) = [c for c in figure(some).curves if c.kind == "measured"]
    assert measured.x == (0.2,)
