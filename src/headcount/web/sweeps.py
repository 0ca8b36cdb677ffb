"""Sweeps that the explorer itself has started: at most one, ended with the server.

To stop a sweep, whoever started it, is a wish in its store (`Store.ask_to_stop`): the explorer ends
no process that it did not start. The child ends by itself when its standard input is closed, so
that a server that was killed leaves none behind.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from headcount.core.children import SAFE_FLAG, SAFE_PATH
from headcount.web.guard import Refused

GRACE_SECONDS = 5.0
WATCHED = "watched"  # tells the child that its standard input is held open for it
LONGEST_REASON = 500  # letters


class Sweeps:
    """The one child process."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._store: Path | None = None
        self._said: IO[bytes] | None = None

    @property
    def busy(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self, store: Path) -> None:
        """Continue a store; a second one at a time is refused."""
        if self.busy:
            raise Refused(503, "the explorer continues another store; stop that one first")
        if self._said is not None:
            self._said.close()
        self._store, self._said = store, tempfile.TemporaryFile()  # noqa: SIM115 — closed by the next, or `close`
        self._child = subprocess.Popen(
            [sys.executable, SAFE_FLAG, "-m", "headcount.web.continue_sweep", str(store), WATCHED],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            env={**os.environ, **SAFE_PATH},
            start_new_session=True,  # ^C in the terminal is for the server, which ends its child
        )

    def failure(self, store: Path) -> str | None:
        """Why the continuation of this store ended badly; None where it did not."""
        if self._child is None or self._said is None or store != self._store:
            return None
        if self._child.poll() in (None, 0):
            return None
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        told = [line.strip() for line in lines if line.strip()]
        code = f"it ended with code {self._child.returncode}"
        return told[-1].removeprefix("error: ")[:LONGEST_REASON] if told else code

    def close(self) -> None:
        """End it in order, then at once."""
        if self._child is not None:
            assert self._child.stdin is not None
            self._child.stdin.close()
            try:
                self._child.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        if self._said is not None:
            self._said.close()
        self._said = None
