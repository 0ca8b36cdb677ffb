"""Errors that teach: what was got, what was expected, how to fix it."""

import difflib
from collections.abc import Iterable


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
        super().__init__("; ".join([got, f"expected {expected}", fix]).replace("\n", " "))
        self.got, self.expected, self.fix = got, expected, fix

    def __reduce__(self):  # so that a worker process can send it back whole
        return InputError, (self.got, self.expected, self.fix)


class CheckFailed(HeadcountError):
    """A number that was checked did not hold (exit code 1); nothing has been written."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """' (nearest: x)' for a misspelt name, or '' when nothing is close."""
    close = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.5)
    return f" (nearest: {close[0]!r})" if close else ""


def unknown(noun: str, name: str, choices: Iterable[str]) -> InputError:
    """The one way in which an unknown name is refused."""
    choices = sorted(choices)
    return InputError(
        f"unknown {noun} {name!r}{nearest(name, choices)}",
        f"one of {', '.join(choices) or '(none)'}",
        "check the spelling",
    )


def require(condition: object, got: str, expected: str, fix: str) -> None:
    """Raise `InputError` unless the condition holds."""
    if not condition:
        raise InputError(got, expected, fix)
