"""The report as Markdown: the same sentences, verdicts and numbers, for a pull request or a mail.

Figures are links to the files beside it. Like `verdicts.json` it holds nothing that changes from
one run of the same command to the next.
"""

from collections.abc import Iterable, Sequence

from headcount.lab.study_outcome import ArmOutcome, StudyOutcome
from headcount.report.document import Cell, Report, Table
from headcount.report.grid import COLUMNS, amount, amount_of_work, grid, judges_training, opening
from headcount.report.wording import number, plural, spread

ESCAPED = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|#"} | {"\n": " "})


def markdown(report: Report) -> str:
    """The whole document."""
    parts = [
        f"# {text(report.title)}",
        f"Profile {text(report.profile)}. `{report.command}`",
        *_summary(report),
        *(part for section in report.sections for part in _section(report, section.id)),
        *_errata(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def text(value: object) -> str:
    """Any text as Markdown shows it literally."""
    return str(value).translate(ESCAPED)


def rows(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table; '' without lines."""
    made = ["| " + " | ".join(map(text, line)) + " |" for line in lines]
    head = ["| " + " | ".join(map(text, columns)) + " |", "|" + " --- |" * len(columns)]
    return "\n".join([*head, *made]) if made else ""


def _summary(report: Report) -> list[str]:
    verdicts, lead, work = report.verdicts, report.headline, amount_of_work(report.outcomes)
    banner = (
        ""
        if judges_training(verdicts) or not (verdicts or work)
        else "> **Nothing trained is judged in this run.** For verdicts use profile laptop or full."
    )
    kinds = ["insight", "claim", *COLUMNS.values()]
    shown = [
        (
            row.insight,
            row.claim,
            *("no such claim" if cell is None else str(cell.outcome) for cell in row.cells),
        )
        for row in grid(verdicts)
    ]
    further = [(v.insight, v.claim, v.outcome, amount(v)) for v in verdicts if v.further]
    return [
        banner,
        text(" ".join(opening(verdicts, report.profile, work))),
        "" if lead is None else f"![{text(lead.title)}](figures/{lead.name}.svg)",
        rows(kinds, shown),
        rows(("insight", "further claim", "outcome", "how much"), further),
    ]


def _section(report: Report, section: str) -> list[str]:
    outcomes = [outcome for outcome in report.outcomes if outcome.study.id == section]
    title = next(each.title for each in report.sections if each.id == section)
    return [
        f"## {text(section)} · {text(title)}",
        *(
            f"- **{text(v.kind)}, {text(v.outcome)}:** {text(v.claim)} {text(plural(v.sentence))}"
            for outcome in outcomes
            for v in outcome.verdicts
        ),
        *(_arms(outcome) for outcome in outcomes),
        *(_table(table) for table in report.tables if table.section == section),
        *(
            f"![{text(figure.title)}](figures/{figure.name}.svg)"
            for figure in report.figures
            if figure.section == section and figure is not report.headline
        ),
    ]


def _arms(outcome: StudyOutcome) -> str:
    columns = ("arm", "promised", "possible", "lower bound", "float32", "learned", "over seeds")
    return rows(columns, (line for each in outcome.arms for line in _arm(each)))


def _arm(each: ArmOutcome) -> list[tuple[str, ...]]:
    known = each.numbers
    values = (known.promised, known.possible, known.lower, known.float32)
    several = len(each.learned) > 1
    return [
        (
            f"{each.arm.name}, {found.cell}" if several else each.arm.name,
            *map(number, values),
            number(found.mean),
            spread(found.low, found.high, len(found.losses)) if found.finished else "diverged",
        )
        for found in each.learned
    ]


def _table(table: Table) -> str:
    def shown(cell: object) -> str:
        if isinstance(cell, Cell):
            return " ".join(filter(None, (number(cell.value), cell.note)))
        return number(cell)  # type: ignore[arg-type]

    made = rows(table.columns, (tuple(map(shown, row)) for row in table.rows))
    return f"**{text(table.caption)}**\n\n{made}" if made else ""


def _errata(report: Report) -> list[str]:
    if not report.errata:
        return []
    columns = ("point", "where", "severity", "printed", "found", "evidence")
    parts = ["## Errata"]
    for title, errata in (
        ("About these experiments", report.own_errata),
        ("About theorems, proofs and other experiments", report.other_errata),
    ):
        lines = [
            (item.id, item.where, item.severity, item.printed, item.found, evidence)
            for item, evidence in errata
        ]
        parts += [f"### {title}", rows(columns, lines)] if lines else []
    return parts
