"""What `headcount study` refuses: one line, exit code 2, nothing written."""

import pytest

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
