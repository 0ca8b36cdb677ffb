"""Tables of sizes and readings: the right number in the right place, and marked only if it is the
paper's.
"""

import dataclasses
import math

import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.hypothesis import Reported
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Study, StudyRole, Variant
from headcount.lab.study_outcome import ArmOutcome, StudyOutcome, summarised
from headcount.report.document import Cell
from headcount.report.from_studies import study_figures
from headcount.report.study_tables import gives, reading_map, size_tables, study_tables
from tests.report import example


def test_sizes_stand_at_their_coordinates():
    (table,) = size_tables(example.size_table())
    assert table.columns == ("", "m = 16", "m = 256")
    assert [row[0] for row in table.rows] == ["H = 1", "H = 8"]
    assert [[cell.value for cell in row[1:]] for row in table.rows] == [
        [0.028, 0.0042],
        [0.0155, 0.0035],
    ]
    first = table.rows[0][1]
    assert (first.marked, first.note) == (True, "[0.0252, 0.0336], paper 0.03")
    assert not table.rows[0][2].marked
    assert study_figures(example.size_table()) == []


def test_a_size_that_was_not_run_is_a_gap_and_series_are_tables_of_their_own():
    made = example.size_table()
    apart = [
        dataclasses.replace(each, arm=dataclasses.replace(each.arm, series=f"L = {1 + i // 3}"))
        for i, each in enumerate(made.arms)
    ]
    one, two = size_tables(dataclasses.replace(made, arms=tuple(apart)))
    assert one.rows[1][2] is None
    assert "L = 1" in one.caption
    assert len(two.rows) == 1
    assert "not known" in two.note


def test_a_size_table_needs_two_coordinates():
    arms = (Arm("a", {}, at={"H": 1, "m": 2}), Arm("b", {}, at={"H": 1}))
    with pytest.raises(InputError, match="the same two coordinates"):
        Study("2a", Variant.FURTHER, "T", "Q?", arms, (1,), role=StudyRole.SIZE_TABLE)


def test_readings_by_learning_rate():
    table = reading_map(example.reading_map(), example.PAPER)
    assert table.columns == ("reading", "paper", "lr 0.0001", "lr 0.0003", "lr 0.001")
    assert [row[:2] for row in table.rows] == [
        ("lin-64 bare, softplus", "0.19"),
        ("lin-64 bare, abs", "0.19"),
        ("log-1 bare, softplus", "< 1e-5"),
    ]
    assert [[cell.marked for cell in row[2:]] for row in table.rows] == [
        [False, True, False],
        [False, False, False],
        [False, False, True],
    ]
    assert table.rows[1][-1] == Cell(None, "3 of 3 diverged")


def test_readings_by_arm():
    told = (("table", "H 1", 0.2), ("table", "H 8", 1e-4), ("lin", "H 8", math.inf))
    arms = tuple(
        ArmOutcome(
            Arm(f"{reading} {at}", {}, series=reading, at={"H": float(at[2:])}, paper=0.23),
            Numbers(),
            (summarised("tuned", [loss], True),),
            1,
        )
        for reading, at, loss in told
    )
    study = Study(
        "2b",
        Variant.AS_WRITTEN,
        "Readings",
        "Q?",
        tuple(a.arm for a in arms),
        (1,),
        role=StudyRole.READING_MAP,
    )
    (table,) = study_tables(StudyOutcome(study, arms))
    assert table.columns == ("reading", "H 1", "H 8")
    assert table.rows[0] == (
        "table",
        Cell(0.2, "paper 0.23", marked=True),
        Cell(1e-4, "paper 0.23"),
    )
    assert table.rows[1] == ("lin", None, Cell(None, "1 of 1 diverged, paper 0.23"))


@pytest.mark.parametrize(
    ("loss", "figure", "given"),
    [
        (0.0951, Reported("a", 0.19), True),
        (0.094, Reported("a", 0.19), False),
        (0.39, Reported("a", 0.19), False),
        (1e-12, Reported("a", 1e-5, "<"), True),
        (1e-5, Reported("a", 1e-5, "<"), False),
    ],
)
def test_a_published_number_is_given_within_a_factor_of_two_or_below_its_bound(loss, figure, given):
    assert gives(loss, figure) is given


def test_plain_studies_have_no_tables():
    assert study_tables(example.studied("4b")) == []
