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
