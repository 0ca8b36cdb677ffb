import io

from rich.console import Console

from headcount.cli import common, live_grid
from headcount.lab.judge.hypothesis import Kind
from headcount.lab.judge.verdict import Outcome, Verdict


def verdict(insight: str, kind: Kind, outcome: Outcome, seeds: int = 0, further=False) -> Verdict:
    return Verdict(insight, kind, "a claim", outcome, "a sentence", further, seeds=seeds)


VERDICTS = (
    verdict("1a", Kind.EXISTS, Outcome.SUPPORTED),
    verdict("4a", Kind.EXISTS, Outcome.REFUTED),
    verdict("4a", Kind.CONTRAST, Outcome.UNDECIDED, 20),
    verdict("4a", Kind.TRAINED, Outcome.SUPPORTED, 10, further=True),
)


def test_a_cell_is_a_verdict_with_its_seeds_or_open():
    shown = io.StringIO()
    Console(file=shown, width=80).print(live_grid.table(VERDICTS))
    lines = [line.split() for line in shown.getvalue().splitlines() if line.strip()]
    assert lines[0] == ["exists", "trained", "contrast"]
    assert lines[1] == ["1a", "supported", "…", "…"]
    assert lines[2] == ["4a", "refuted", "…", "undecided", "(20)"]  # no further claim


def test_on_a_terminal_the_table_fills_and_sentences_stay(monkeypatch):
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=80, _environ={"TERM": "xterm"})
    monkeypatch.setattr(common, "progress_console", terminal)
    with live_grid.watcher() as (say, told):
        say("1a exists: yes", now=True)
        assert told is not None
        told(VERDICTS)
        say("3/10 runs [bold]")
    text = shown.getvalue()
    assert "1a exists: yes" in text
    assert "refuted" in text
    assert "3/10 runs [bold]" in text  # a message is no markup


def test_without_a_terminal_there_are_lines_alone(monkeypatch, capsys):
    monkeypatch.setattr(common, "progress_console", Console(stderr=True))
    with live_grid.watcher() as (say, told):
        say("1a exists: yes", now=True)
    assert told is None
    assert capsys.readouterr().err == "1a exists: yes\n"
