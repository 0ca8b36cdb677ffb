"""Errors that teach: what was got, what was expected, how to fix it."""

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

LONGEST = 2000  # letters of one part of a message


class HeadcountError(Exception):
    """Base of everything raised on purpose; `exit_code` is what the command line returns."""

    exit_code = 1


class InputError(HeadcountError, ValueError):
    """Bad input. One line: *got*, then *expected*, then the *fix* (exit code 2, never a traceback).

    >>> print(InputError("heads is 0", "at least 1", "pass heads=1 or more"))
    heads is 0; expected at least 1; pass heads=1 or more
    """

    exit_code = 2

    def __init__(self, got: str, expected: str, fix: str):
        got, expected, fix = (_cut(part) for part in (got, expected, fix))
        super().__init__("; ".join([got, f"expected {expected}", fix]).replace("\n", " "))
        self.got, self.expected, self.fix = got, expected, fix

    def __reduce__(self):  # so that a worker process can send it back whole
        return InputError, (self.got, self.expected, self.fix)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class _Short(reprlib.Repr):
    """A repr whose cost does not grow with the value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple = 3, 4, 6, 6
        self.maxset, self.maxfrozenset = 6, 6
        self.maxstring, self.maxother = 120, 120

    def repr_int(self, x: int, level: int) -> str:
        # Python writes at most 4300 digits, and nobody reads forty
        return repr(x) if abs(x) < 10**30 else f"a number of {x.bit_length()} bits"


_SHORT = _Short()


def shown(value: Any) -> str:
    """A value in a message: its repr, cut short before it is made.

    >>> shown([7] * 10**6)
    '[7, 7, 7, 7, 7, 7, ...]'
    """
    return _SHORT.repr(value)


class CheckFailed(HeadcountError):
    """A number that was checked did not hold (exit code 1); nothing has been written."""


def machine_fault(error: BaseException) -> str | None:
    """One line for what the machine refuses (memory, disk, permissions), None for anything else."""
    said = str(error)[:LONGEST]
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in said or "Out of memory" in said:
        return "the machine ran out of memory; expected a job that fits; ask for smaller sizes"
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename is not None else ""
        return (
            f"the system refuses{where} ({error.strerror or error}); expected room and permission;"
            " check the disk and the path"
        )
    return None


def nearest(name: str, choices: Iterable[str]) -> str:
    """' (nearest: x)' for a misspelt name, or '' when nothing is close."""
    close = difflib.get_close_matches(str(name)[:LONGEST], list(choices), n=1, cutoff=0.5)
    return f" (nearest: {close[0]!r})" if close else ""


def unknown(noun: str, name: str, choices: Iterable[str]) -> InputError:
    """The one way in which an unknown name is refused."""
    choices = sorted(choices)
    return InputError(
        f"unknown {noun} {shown(name)}{nearest(name, choices)}",
        f"one of {', '.join(choices) or '(none)'}",
        "check the spelling",
    )


def require(condition: object, got: str, expected: str, fix: str) -> None:
    """Raise `InputError` unless the condition holds."""
    if not condition:
        raise InputError(got, expected, fix)
