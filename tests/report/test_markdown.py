"""The Markdown twin tells what the page tells, and the same each time."""

import re

from headcount.report.grid import grid, opening
from headcount.report.markdown import markdown, rows, text
from tests.report import example


def test_it_has_every_verdict_arm_and_erratum():
    report = example.report()
    made = markdown(report)
    assert text(" ".join(opening(report.verdicts, report.profile))) in made
    for row in grid(report.verdicts):
        assert f"| {row.insight} |" in made
    for outcome in report.outcomes:
        for each in outcome.arms:
            assert f"| {text(each.arm.name)}" in made
    for item, _ in report.errata:
        assert f"| {item.id} | {text(item.where)} |" in made
    for name in re.findall(r"\]\(figures/(.+?)\.svg\)", made):
        assert name in [figure.name for figure in report.figures]


def test_it_is_the_same_each_time_and_tells_no_time():
    assert markdown(example.report()) == markdown(example.report())
    assert "83.4" not in markdown(example.report())


def test_text_cannot_become_markup():
    assert text("<b>|x|*") == "\\<b\\>\\|x\\|\\*"
    assert rows(("a", "b"), [("1|2", "c\nd")]).count("\n") == 2
    assert rows(("a",), []) == ""
