"""Bad input on the command line: one clear line, exit code 2, nothing written."""

import pytest

from tests.cli.test_cli import run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fti", "lag:3"), "fti"),
        (("list", "bais"), "nearest: 'bias'"),
        (("fit", "lagg:3", "--heads", "2"), "nearest: 'lag'"),
        (("fit", "lag:3"), "heads"),
        (("fit", "lag:3", "--heads", "0"), "heads"),
        (("fit", "lag:3", "--heads", "two"), "two"),
        (("fit", "lag:3", "--heads", "2", "--budget", "-1"), "budget"),
        (("fit", "lag:30", "--heads", "2", "--window", "10"), "window"),
        (("fit", "missing.npy", "--heads", "2"), "missing.npy"),
        (("fit", "exp:-1", "--heads", "2"), "rate"),
        (("fit", "lag:3", "--heads", "2", "--bias", "lni"), "lni"),
        (("reproduce", "--profile", "smok"), "nearest: 'smoke'"),
        (("doctor", "--jsn"), "--jsn"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, words, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    last = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(last) == 1
    assert words in last[0]
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
