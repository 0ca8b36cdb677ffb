"""What every verb shares: where output goes, and how errors end."""

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from headcount.lab.sweep.progress import Say

# a file or a pipe has no width: tables get room
_known = sys.stdout.isatty() or "COLUMNS" in os.environ
# human output: stdout
console = Console(highlight=False, soft_wrap=True, width=None if _known else 140)
progress_console = Console(stderr=True, highlight=False)
QUIET_SECONDS = 2.0  # without a terminal, a line of progress no more often than this


@contextmanager
def progress(seconds: float = QUIET_SECONDS) -> Iterator["Say"]:
    """The one watcher of long jobs, on stderr: a changing line on a terminal, else a line no more
    often than every so many `seconds`; what is to be told `now` at once in both.
    """
    if progress_console.is_terminal:
        with progress_console.status("…") as status:

            def show(message: str, now: bool = False) -> None:
                status.update(escape(message))
                if now:
                    progress_console.print(escape(message))

            yield show
        return
    last, when = "", time.monotonic()

    def say(message: str, now: bool = False) -> None:
        nonlocal last, when
        due = now or time.monotonic() - when >= seconds
        if due and message != last:
            last, when = message, time.monotonic()
            print(message, file=sys.stderr, flush=True)

    yield say


def printable(text: str) -> str:
    """Text for a terminal: control characters and broken letters are written out, not obeyed.

    >>> printable("a\\x1b[31m")
    'a\\\\x1b[31m'
    """
    seen = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )
    encoding = sys.stderr.encoding or "utf-8"
    return seen.encode(encoding, "backslashreplace").decode(encoding)


def safe(text: str) -> str:
    """Text of a user or a file inside ours: neither markup nor control characters act."""
    return escape(printable(text))


def tell(text: str) -> None:
    """A sentence: on a terminal it breaks between words, in a file or a pipe it is one line."""
    console.print(safe(text), soft_wrap=not _known)


def number(value: float | None) -> str:
    """Three digits, or a dash for none."""
    return "–" if value is None else f"{value:.3g}"


def print_json(value: Any) -> None:
    """Exactly one JSON document on stdout; infinite and undefined numbers become null."""
    sys.stdout.write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
