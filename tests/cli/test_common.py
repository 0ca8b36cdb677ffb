import json

import pytest
from rich.console import Console

from headcount.cli import common


def test_json_has_no_infinity(capsys):
    common.print_json({"a": [float("inf"), 1.5], "b": float("nan")})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": None}


@pytest.mark.parametrize(("quiet", "lines"), [(0.0, 3), (60.0, 0)])
def test_without_a_terminal_progress_is_a_line_now_and_then(monkeypatch, capsys, quiet, lines):
    monkeypatch.setattr(common, "progress_console", Console(stderr=True))
    with common.progress(quiet) as say:
        for step in range(3):
            say(f"step {step}")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == lines
