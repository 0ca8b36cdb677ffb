"""Stored answers beside today's: which leaves differ, and whether each difference is told.

An answer is a tree of JSON values; a leaf has a path such as `error.l1` or
`rows[lin/dp-free/fixed].reachable`. Rows of tables are named by what they are about, so that a row
that moved is no difference. A field that did not exist before is none either; a row is.
"""

import dataclasses
import enum
import fnmatch
import math
import re
import tomllib
from pathlib import Path
from typing import Any

# How far numbers may be apart, relative to the larger one, and at all: below the second they are
# nothing but rounding.
EXACT = (1e-6, 1e-12)
SEARCHED = 1e-5  # a search that rests where it began from: relative
NEAR = 0.01  # searches that end in neighbouring optima
# Rounding to a short format is a step function of the weights: equal weights round alike, weights
# that differ in the ninth digit do not. So up to twice as much, and a few units of float32.
ROUNDED, COARSE = {"error_float32", "error_bfloat16", "rounding"}, (0.5, 1e-6)
# What names a row of a table.
ROW_NAMES = (("experiment", "variant", "id"), ("part", "cell"),
             ("layer", "part", "space"), ("name",))  # fmt: skip
SIZES = ("layers", "heads", "parameters")  # of a row of a plan
MISSING = "(missing)"


class Kind(enum.StrEnum):
    """Why an answer may differ from the stored one."""

    FALSE_BEFORE = "false before"  # what was said was wrong
    SMALLER_NOW = "smaller now"  # a number that is better the smaller it is
    SCOPE_SAID = "scope said"  # the same fact, with what it holds for
    RENAMED = "renamed"  # the same value under another path, `to`
    REWORDED = "reworded"  # a text that says the same
    # other heads or weights whose error, in the norm (and format) asked for, is no larger: checked
    AS_GOOD = "as good"
    # all of a search among many near optima, which ends where the processor's rounding leads; the
    # error asked for is at most `NEAR` larger: checked
    PROCESSOR = "processor"
    # a certified bound and what it is called: the value is no smaller: checked
    PROVES_MORE = "proves more"
    # a search that ends elsewhere: a certified bound, larger or smaller than before, or a fit whose
    # error in the norm asked for agrees to four digits
    SEARCH = "search"


@dataclasses.dataclass(frozen=True)
class Difference:
    """A leaf that is not what it was."""

    case: str
    path: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.case!r} {self.path}: {self.before!r} before, {self.now!r} now"


@dataclasses.dataclass(frozen=True)
class Told:
    """A line of `differences.toml`: which leaves (with * and ? as in file names), and why."""

    case: str
    path: str
    kind: Kind
    why: str
    to: str = ""

    def __post_init__(self):
        assert (self.kind is Kind.RENAMED) == bool(self.to), f"{self}: `to` is for renamed fields"
        assert self.why, f"{self}: say why"
        assert "\n" not in self.why, f"{self}: one line"

    def matches_case(self, case: str) -> bool:
        return _like(case, self.case)

    def covers(
        self, difference: Difference, now: dict[str, Any], stored: dict[str, Any] | None = None
    ) -> bool:
        """Is this the difference that was told? `now`, `stored`: all leaves of the case."""
        if not (self.matches_case(difference.case) and _like(difference.path, self.path)):
            return False
        before = difference.before
        if self.kind is Kind.RENAMED:
            return _same(before, now.get(self.to, MISSING), self.to)
        if self.kind is Kind.SMALLER_NOW:
            return _number(before) and _number(difference.now) and difference.now < before
        if self.kind is Kind.REWORDED:
            return isinstance(before, str) and isinstance(difference.now, str)
        if self.kind is Kind.AS_GOOD:
            return _no_worse(_asked_error(difference.case, now), stored or {}, now)
        if self.kind is Kind.PROCESSOR:
            return _no_worse(_asked_error(difference.case, now), stored or {}, now, NEAR)
        if self.kind is Kind.PROVES_MORE:
            return _no_worse(_bound(now), now, stored or {})
        return True


def _asked_error(case: str, now: dict[str, Any]) -> str:
    """The leaf of a fit that the search makes small; nothing for other answers. With a tolerance
    it is the number of heads."""
    if "norm" not in now:
        return ""
    if "--tol" in case:
        return "heads"
    short = re.search(r"--dtype (\w+)", case)
    return f"rounding.{short[1]}.{now['norm']}" if short else f"error.{now['norm']}"


def _bound(now: dict[str, Any]) -> str:
    return "lower_bound.value" if "lower_bound.value" in now else "value"


def _no_worse(
    leaf: str, most: dict[str, Any], value: dict[str, Any], slack: float = SEARCHED
) -> bool:
    """Is the leaf of `value` at most that of `most`, but for a share (a search's last digits)?"""
    a, b = value.get(leaf), most.get(leaf)
    if not (_number(a) and _number(b)):
        return not leaf
    assert a is not None
    assert b is not None
    return a <= b * (1 + slack) + EXACT[1]


def by_bias(plan: dict[str, Any], biases: set[str] | None = None) -> dict[str, Any]:
    """A plan by what was asked: for each bias whether it is reachable, and the smallest sizes.
    Which construction does it, with which scores, is no part of that: newer ones join, and where
    one serves a bias dearer ones are not drafted. `biases`: of these alone."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in plan["rows"]:
        rows.setdefault(row["bias"], []).append(row)
    found = []
    for bias in sorted(rows if biases is None else biases & set(rows)):
        said = [row["reachable"] for row in rows[bias]]
        reached = [row for row in rows[bias] if row["reachable"]]
        sizes = {name: min((row[name] for row in reached), default=None) for name in SIZES}
        reachable = True if reached else (None if None in said else False)
        found.append({"name": bias, "reachable": reachable, **sizes})
    asked = {name: plan[name] for name in ("target", "tol", "dtype", "length")}
    return {**asked, "biases": found, "recommends": plan["recommended"] is not None}


def biases_of(plan: dict[str, Any]) -> set[str]:
    """Of every row."""
    return {row["bias"] for row in plan["rows"]}


def read_told(path: Path) -> list[Told]:
    """The list of differences; an unknown key or kind is an error."""
    rows = tomllib.loads(path.read_text()).get("difference", [])
    return [Told(**{**row, "kind": Kind(row["kind"])}) for row in rows]


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Path → plain value. Empty lists and mappings are leaves too."""
    if isinstance(value, dict) and value:
        parts = {f"{path}.{key}" if path else str(key): item for key, item in value.items()}
    elif isinstance(value, list) and value:
        parts = {f"{path}[{name}]": item for name, item in zip(_names(value), value, strict=True)}
    else:
        return {path: value}
    return {leaf: v for name, item in parts.items() for leaf, v in leaves(item, name).items()}


def _names(rows: list[Any]) -> list[str]:
    """What a row is about where that tells rows apart, else its place."""
    for keys in ROW_NAMES:
        if all(isinstance(row, dict) and all(key in row for key in keys) for row in rows):
            names = ["/".join(str(row[key]) for key in keys) for row in rows]
            if len(set(names)) == len(names):
                return names
    return [str(i) for i in range(len(rows))]


def differences(case: str, before: Any, now: Any) -> list[Difference]:
    """Every leaf that is gone or another, and every row or item that is new."""
    old, new = leaves(before), leaves(now)
    found = [
        Difference(case, path, value, new.get(path, MISSING))
        for path, value in old.items()
        if not _same(value, new.get(path, MISSING), path)
    ]
    for path, value in new.items():
        if path not in old and _in_new_row(path, old):
            found.append(Difference(case, path, MISSING, value))
    return found


def _in_new_row(path: str, old: dict[str, Any]) -> bool:
    """Is the leaf part of a row that a stored table does not have?"""
    for end, letter in enumerate(path):
        if letter == "]":
            row, table = path[: end + 1], path[: path.rfind("[", 0, end)]
            stood = any(known == table or known.startswith(f"{table}[") for known in old)
            if stood and not any(known.startswith(row) for known in old):
                return True
    return False


def _same(before: Any, now: Any, path: str) -> bool:
    if not (_number(before) and _number(now)):
        return type(before) is type(now) and before == now
    relative, absolute = COARSE if ROUNDED & set(path.split(".")) else EXACT
    return math.isclose(before, now, rel_tol=relative, abs_tol=absolute)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _like(text: str, pattern: str) -> bool:
    """As for file names; brackets stand for themselves."""
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))
