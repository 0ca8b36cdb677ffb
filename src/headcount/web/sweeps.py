"""Sweeps that the explorer itself has started: at most one, ended with the server.

To stop a sweep, whoever started it, is a wish in its store (`Store.ask_to_stop`): the explorer ends
no process that it did not start.
"""

import subprocess
import sys
from pathlib import Path

from headcount.web.guard import Refused

GRACE_SECONDS = 5.0


class Sweeps:
    """The one child process."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def busy(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self, store: Path) -> None:
        """Continue a store; a second one at a time is refused."""
        if self.busy:
            raise Refused(503, "the explorer continues another store; stop that one first")
        self._child = subprocess.Popen(
            [sys.executable, "-m", "headcount.web.continue_sweep", str(store)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def close(self) -> None:
        """End it in order, then at once."""
        if self._child is None or self._child.poll() is not None:
            return
        self._child.terminate()
        try:
            self._child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
