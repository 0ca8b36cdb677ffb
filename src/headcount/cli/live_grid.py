"""The grid of verdicts while a reproduction runs: a table on a terminal, lines elsewhere.

         exists      trained           contrast
    1a   supported   …                 …
    4a   refuted     supported (10)    undecided (20)
    120/217 runs, 2 running, about 4 min left

A number in brackets are the seeds behind a verdict; "…" is open. Lines above the table tell every
verdict in a sentence when it is decided.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headcount.cli import common
from headcount.lab.judge.verdict import Verdict
from headcount.lab.sweep.progress import Say
from headcount.report.grid import COLUMNS, grid

OPEN = "…"
Told = Callable[[Sequence[Verdict]], None]  # hears all verdicts so far


@contextmanager
def watcher() -> Iterator[tuple[Say, Told | None]]:
    """Who is told how far a reproduction is, and who hears its verdicts: nobody without a
    terminal, where the lines say all.
    """
    if not common.progress_console.is_terminal:
        with common.progress() as say:
            yield say, None
        return
    screen = _Screen()
    with Live(screen.shown(), console=common.progress_console, transient=True) as live:
        screen.live = live
        yield screen.say, screen.tell


class _Screen:
    """What is shown: verdicts so far, and the line of progress."""

    live: Live

    def __init__(self) -> None:
        self._verdicts: Sequence[Verdict] = ()
        self._line = OPEN

    def say(self, message: str, now: bool = False) -> None:
        self._line = message
        if now:
            self.live.console.print(escape(message))
        self.live.update(self.shown())

    def tell(self, verdicts: Sequence[Verdict]) -> None:
        self._verdicts = verdicts
        self.live.update(self.shown())

    def shown(self) -> Group:
        return Group(table(self._verdicts), Text(self._line))


def table(verdicts: Sequence[Verdict]) -> Table:
    """The paper's claims so far, one line per insight."""
    made = Table("", *(name.lower() for name in COLUMNS.values()), box=None)
    for row in grid(verdicts):
        made.add_row(row.insight, *(_cell(verdict) for verdict in row.cells))
    return made


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return OPEN
    seeds = f" ({verdict.seeds})" if verdict.seeds else ""
    return f"{verdict.outcome}{seeds}"
