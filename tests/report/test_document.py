"""The page's own records refuse what cannot be; verdicts of the lab pass through unchanged."""

import dataclasses
import json

import pytest

from headcount.core.errors import InputError
from headcount.experiments.errata import Erratum, Severity
from headcount.lab.judge.hypothesis import Kind
from headcount.lab.judge.verdict import Outcome
from headcount.report.document import Report, Section, SpecFile, Table
from headcount.report.write import verdict_rows
from tests.lab.verdict_keys import VERDICT_KEYS
from tests.report import example


def test_verdicts_of_the_lab_pass_through_unchanged():
    report = example.report()
    assert {verdict.outcome for verdict in report.verdicts} == set(Outcome)
    assert {verdict.kind for verdict in report.verdicts} == set(Kind)
    rows = verdict_rows(report.outcomes, "smoke")
    assert list(rows) == ["profile", "verdicts"]
    for verdict, row in zip(report.verdicts, rows["verdicts"], strict=True):
        assert json.loads(json.dumps(row, allow_nan=False)) == json.loads(
            json.dumps(verdict.to_json())
        )
        assert list(row)[: len(VERDICT_KEYS)] == VERDICT_KEYS


def test_an_erratum_needs_evidence():
    point = Erratum(
        "18", Severity.CONCLUSION, "Section 6", "printed", "found", "does", seen="Section 6"
    )
    base = Report("title", "smoke", "headcount reproduce", ())
    with pytest.raises(InputError, match="evidence is empty"):
        dataclasses.replace(base, errata=((point, " "),))
    with pytest.raises(InputError, match="erratum 18 given twice"):
        dataclasses.replace(base, errata=((point, "seen"),) * 2)


@pytest.mark.parametrize("name", ["../x.json", "a/b.json", "", ".hidden"])
def test_a_spec_file_is_a_plain_name(name):
    with pytest.raises(InputError, match="plain file name"):
        SpecFile(name, "{}")


def test_a_row_of_another_length_is_refused():
    with pytest.raises(InputError, match="a row of 1; expected 2 cells"):
        Table("rates", "slopes", ("a", "b"), ((1.0,),))


def test_a_report_knows_its_sections():
    base = Report("title", "smoke", "headcount reproduce", (Section("4a", "tails"),))
    with pytest.raises(InputError, match="unknown section '4b'"):
        dataclasses.replace(base, outcomes=(example.studied("4b"),))
    with pytest.raises(InputError, match="study 4a-as-meant given twice"):
        dataclasses.replace(base, outcomes=(example.studied("4a"),) * 2)
