"""What `headcount study` refuses (one line, exit code 2, no files), and what it says first."""

from types import SimpleNamespace

import pytest

from headcount.cli.study import told
from headcount.lab.study import Profile
from headcount.report.study_page import StudyKind, StudyPage
from tests.command import run

FINITE = ["finite-sample", "essential:kernel=exp:0.3"]


@pytest.mark.parametrize("dry", [["--dry-run"], []])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rivals", "--equal", "foo"], "unknown measure 'foo'"),
        (["rivals", "--profile", "foo"], "unknown profile 'foo'"),
        (["rivals", "--model", "grru", "--profile", "smoke"], "grru"),
        ([*FINITE, "--over", "heads", "--error", "0.01"], "use --over n"),
        ([*FINITE, "--model", "filter:taps=8", "--set", "heads=4"], "one of them"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, message, dry, tmp_path):
    done = run("study", *words, *dry, folder=tmp_path)
    assert not done.faults()
    assert done.code == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_smoke_study_says_first_that_it_judges_nothing(tmp_path, capsys):
    page = StudyPage(StudyKind.ZOO, "Zoo", ["gru reaches 0 of 2 memories."], None, "", ("memory",),
                     [("lag-5",)], profile=Profile.SMOKE)  # fmt: skip
    told(SimpleNamespace(to_json=dict), page, tmp_path / "zoo", json=False)
    said = capsys.readouterr().out
    assert said.index("Profile smoke") < said.index("gru reaches")


def test_a_report_of_another_question_is_replaced_with_a_note(tmp_path, capsys):
    for target, noted in (("fixed:lags=1", ""), ("fixed:lags=1", ""), ("fixed:lags=2", "lags=1")):
        page = StudyPage(StudyKind.FINITE_SAMPLE, "Curve", ["Said."], None, "", ("n",), [("1",)])
        found = SimpleNamespace(to_json=lambda target=target: {"target": target})
        told(found, page, tmp_path / "fs", json=True)
        said = capsys.readouterr()
        assert ("is replaced; its runs stay" in said.err) == bool(noted)
        assert noted in said.err


def test_a_place_that_holds_another_file_is_refused_before_any_run(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "result.json").write_text("{}")
    done = run("study", "mad", "memorising", "--profile", "smoke", "-o", "mine", folder=tmp_path)
    assert done.code == 2
    assert "result.json exists and is not from an earlier report" in done.stderr
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["result.json"]


def test_without_a_study_its_help_is_shown(tmp_path):
    done = run("study", folder=tmp_path)
    assert done.code == 0
    assert "finite-sample" in done.stdout


def test_a_dry_run_says_what_it_counts_and_knows_stored_runs(tmp_path):
    words = ["study", "finite-sample", "fixed:lags=1", "--profile", "smoke", "--model",
             "filter:taps=4", "--dry-run", "-o", "fs"]  # fmt: skip
    said = run(*words, folder=tmp_path).stdout
    assert "at most" in said
    assert "of CPU" in said
    assert not (tmp_path / "fs").exists()
