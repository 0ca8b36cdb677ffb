"""The output folder as a whole: what is in it, and what does not change from run to run."""

import csv
import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from headcount.lab.study import Profile
from headcount.pipeline import Reproduction
from headcount.report.figures import csv_text
from headcount.report.write import arms_csv, verdicts_json, write
from tests.report import example


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    report = example.report()
    page = write(report, out)
    return report, out, page


def test_every_file_is_there(made):
    report, out, page = made
    assert page == out / "report.html"
    found = {
        path.relative_to(out).as_posix()
        for path in out.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    drawn = {
        f"figures/{figure.name}.{ending}"
        for figure in report.figures
        for ending in ("svg", "png", "csv")
    }
    assert found == {
        "report.html",
        "report.md",
        "verdicts.json",
        "arms.csv",
        "specs/4a.json",
        *drawn,
    }
    assert (out / "figures/4a-heads.csv").read_text() == csv_text(report.figures[0])
    assert json.loads((out / "specs/4a.json").read_text())["heads"] == [1, 4, 16]


def test_verdicts_do_not_depend_on_time_or_versions(made):
    report, out, _ = made
    later = dataclasses.replace(report, versions=(("numpy", "9"),), notes=())
    assert verdicts_json(later).encode() == (out / "verdicts.json").read_bytes()
    assert verdicts_json(dataclasses.replace(report, profile="full")) != verdicts_json(report)


def test_the_document_has_the_fields_asked_for(made):
    report, out, page = made
    done = Reproduction(Profile.SMOKE, report.outcomes, (), 83.4, page)
    document = json.loads(json.dumps(done.to_json(), allow_nan=False))
    assert list(document) == ["profile", "verdicts", "seconds", "report"]
    assert document["seconds"] == 83.4
    stored = json.loads((out / "verdicts.json").read_text())
    assert list(stored) == ["profile", "verdicts", "report", "experiments"]
    assert stored["verdicts"] == document["verdicts"]
    assert str(out) not in (out / "verdicts.json").read_text()


def test_arms_are_a_table_with_named_columns(made):
    report, _, _ = made
    rows = list(csv.DictReader(arms_csv(report).splitlines()))
    arms = [each for outcome in report.outcomes for each in outcome.arms]
    assert len(rows) == sum(len(each.learned) for each in arms)
    heavy = [row for row in rows if (row["experiment"], row["variant"]) == ("4a", "as meant")]
    assert float(heavy[0]["possible"]) == 4.02e-8
    assert heavy[0]["promised"] == ""
    assert (heavy[1]["diverged"], heavy[1]["learned_median"]) == ("1", "6.3e-06")
    assert (rows[-1]["arm"], rows[-1]["learned"], rows[-1]["diverged"]) == ("diverging", "", "5")
    assert arms_csv(dataclasses.replace(report, outcomes=())).startswith(
        "experiment,variant,arm,cell,metric,promised,"
    )


def test_reporting_does_not_load_jax():
    code = "import sys, headcount.report.write; sys.exit('jax' in sys.modules)"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, cwd=Path(__file__).parents[2]
    )
