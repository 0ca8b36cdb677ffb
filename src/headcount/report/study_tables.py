"""Studies that are shown as tables: sizes against sizes, and the reading map."""

import math
from collections.abc import Sequence

from headcount.lab.judge.hypothesis import Reported
from headcount.lab.judge.statistics import Interval
from headcount.lab.study import Arm, StudyRole
from headcount.lab.study_outcome import ArmOutcome, Learned, StudyOutcome
from headcount.report.document import Cell, Table, TableRow
from headcount.report.headline import published
from headcount.report.wording import interval, number, plural

NEAR = 2.0  # a loss within this factor of the published one gives it
MOST_SHOWN = 6  # readings on the page; longer maps are opened by who wants them


def study_tables(outcome: StudyOutcome, reported: Sequence[Reported] = ()) -> list[Table]:
    """The tables of a study by its role; none for the plain."""
    if outcome.study.role is StudyRole.SIZE_TABLE:
        return size_tables(outcome, reported)
    if outcome.study.role is StudyRole.READING_MAP:
        return [reading_map(outcome, reported)]
    return []


def size_tables(outcome: StudyOutcome, reported: Sequence[Reported] = ()) -> list[Table]:
    """One table per series: the first coordinate down, the second across."""
    study = outcome.study
    tables = []
    for series in dict.fromkeys(each.arm.series for each in outcome.arms):
        mine = [each for each in outcome.arms if each.arm.series == series]
        down, across = mine[0].arm.at
        rows = sorted({each.arm.at[down] for each in mine})
        columns = sorted({each.arm.at[across] for each in mine})
        at = {(each.arm.at[down], each.arm.at[across]): each for each in mine}
        tables.append(
            Table(
                study.id,
                f"{plural(study.title)}{f', {plural(series)}' if series else ''}:"
                f" {study.loss_name(mine[0].arm)}",
                ("", *(f"{across} = {number(value)}" for value in columns)),
                tuple(
                    (
                        f"{down} = {number(row)}",
                        *(_cell(at.get((row, column)), reported) for column in columns),
                    )
                    for row in rows
                ),
                _note(mine),
            )
        )
    return tables


def reading_map(outcome: StudyOutcome, reported: Sequence[Reported] = ()) -> Table:
    """Readings down. Across: the cells where there are several (arms are the readings), else the
    places of the arms of each series.
    """
    study = outcome.study
    rows: list[TableRow]
    columns: tuple[str, ...]
    if len(study.cells) > 1:
        columns = ("paper", *study.cells)
        rows = [
            (
                plural(each.arm.name),
                _said(published(each.arm.paper, reported)),
                *(_filled(each, learned, reported, told=False) for learned in each.learned),
            )
            for each in outcome.arms
        ]
    else:
        found: dict[str, dict[str, Cell]] = {}
        for each in outcome.arms:
            row = found.setdefault(plural(each.arm.series or each.arm.name), {})
            row[_column(each.arm, study.x_label)] = _filled(each, each.learned[0], reported)
        columns = tuple(dict.fromkeys(column for row in found.values() for column in row))
        rows = [(name, *(row.get(column) for column in columns)) for name, row in found.items()]
    return Table(
        study.id,
        f"{plural(study.title)}: which reading gives which published number",
        ("reading", *columns),
        tuple(rows),
        _note(outcome.arms),
        folded=len(rows) > MOST_SHOWN,
    )


def gives(loss: float, figure: Reported) -> bool:
    """Is this loss the published number? Within a factor of two, or below where it is a bound.

    >>> gives(0.15, Reported("lin", 0.19)), gives(1e-7, Reported("log", 1e-5, "<"))
    (True, True)
    """
    if figure.relation == "<":
        return loss < figure.value
    return 1 / NEAR <= loss / figure.value <= NEAR


def _column(arm: Arm, x_label: str) -> str:
    if arm.at:
        return ", ".join(f"{name} {number(value)}" for name, value in arm.at.items())
    return arm.name if arm.x is None else f"{x_label} {number(arm.x)}".strip()


def _cell(each: ArmOutcome | None, reported: Sequence[Reported]) -> Cell | None:
    return None if each is None else _filled(each, each.learned[0], reported)


def _filled(
    each: ArmOutcome, learned: Learned, reported: Sequence[Reported], told: bool = True
) -> Cell:
    """The median; below it the range of the seeds, and the paper's number if it is to be told."""
    figure = published(each.arm.paper, reported)
    notes = []
    if learned.diverged:
        notes.append(f"{learned.diverged} of {len(learned.losses)} diverged")
    elif len(learned.losses) > 1:
        notes.append(interval(Interval(min(learned.losses), max(learned.losses))))
    if figure is not None and told:
        notes.append(f"paper {_said(figure)}")
    median = learned.median
    if not math.isfinite(median):
        return Cell(None, ", ".join(notes))
    return Cell(median, ", ".join(notes), figure is not None and gives(median, figure))


def _said(figure: Reported | None) -> str:
    if figure is None:
        return ""
    relation = "" if figure.relation == "=" else f"{figure.relation} "
    return f"{relation}{number(figure.value)}"


def _note(arms: Sequence[ArmOutcome]) -> str:
    told = ["Median over seeds, below it the smallest and the largest."]
    if any(each.arm.paper is not None for each in arms):
        told.append(
            f"Set off: the paper's number comes out, within a factor of {NEAR:g} (or below it,"
            " where the paper gives a bound)."
        )
    else:
        told.append("The paper's own numbers for these sizes are not known.")
    return " ".join(told)
