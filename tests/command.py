"""The command line for tests: in this process (thousands of commands for the price of one start),
or in a process of its own, as a script meets it.
"""

import contextlib
import io
import os
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

CODES = (0, 1, 2, 130)


@dataclass(frozen=True)
class Done:
    """How a command ended. `crash` is the traceback of what nobody expected, else empty."""

    arguments: tuple[str, ...]
    code: int
    stdout: str
    stderr: str
    crash: str = ""

    def faults(self) -> list[str]:
        """What a user should never meet."""
        found = []
        if self.crash or "Traceback" in self.stderr:
            found.append(f"a traceback: {self.crash[-1500:] or self.stderr[-1500:]}")
        if self.code not in CODES:
            found.append(f"exit code {self.code}")
        lines = [line for line in self.stderr.splitlines() if line.startswith("error: ")]
        if self.code == 2 and len(lines) != 1:
            found.append(f"{len(lines)} error lines: {self.stderr[-500:]!r}")
        if self.code == 2 and self.stdout:
            found.append(f"output before the refusal: {self.stdout[:200]!r}")
        strange = [c for c in self.stdout + self.stderr if not c.isprintable() and c not in "\n\t"]
        if strange:
            found.append(f"control characters {strange[:5]!r}")
        return found


class _Bytes(io.StringIO):
    """Text that also takes bytes, as a terminal's stream does."""

    @property
    def buffer(self) -> io.BytesIO:
        return io.BytesIO()


def run_alone(*arguments: str, folder: Path | None = None) -> Done:
    """One command in `folder`, in a process of its own: two seconds for the start."""
    done = subprocess.run(
        [sys.executable, "-m", "headcount.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": "150"},
    )
    return Done(arguments, done.returncode, done.stdout, done.stderr)


def run(*arguments: str, folder: Path | None = None) -> Done:
    """One command in `folder`, in this process."""
    from headcount.cli import main

    out, err = _Bytes(), _Bytes()
    here, code, crash = Path.cwd(), 0, ""
    if folder is not None:
        os.chdir(folder)
    try:
        with (
            mock.patch.object(sys, "argv", ["headcount", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        code, crash = 1, traceback.format_exc()
    finally:
        os.chdir(here)
    return Done(arguments, code, out.getvalue(), err.getvalue(), crash)
