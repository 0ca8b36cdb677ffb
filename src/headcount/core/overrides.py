"""Changes to nested mappings: as they are typed (`train.lr=0.003`, `train.log=[10,100]`), by dotted
names, or as a mapping of the same form. Values are replaced, mappings on the way are kept.

>>> base = {"memory": "exp-1b:seed=1", "train": {"lr": 0.1}}
>>> with_changes(base, ["train.lr=0.003", "memory.position=1000"])
{'memory': {'kind': 'exp-1b', 'seed': '1', 'position': 1000}, 'train': {'lr': 0.003}}
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcount.core.errors import InputError, require, shown
from headcount.core.text import split_part


def with_changes(values: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """A copy with every change made; values are JSON where they can be read as such, else text."""
    made = dict(values)
    for change in changes:
        name, equals, value = change.partition("=")
        good = equals and re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name)
        require(
            good,
            f"the change {shown(change)}",
            "name=value with dots between levels",
            "write it like train.lr=0.003",
        )
        made = _with(made, name.split("."), _value(value), change)
    return made


def with_values(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with the values of dotted names replaced.

    >>> with_values({"model": {"heads": 1, "width": 8}}, {"model.heads": 2, "seed": 1})
    {'model': {'heads': 2, 'width': 8}, 'seed': 1}
    """
    made = dict(values)
    for name, value in changes.items():
        made = _with(made, name.split("."), value, name)
    return made


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with the changes on top, level by level.

    >>> merged({"train": {"lr": 1, "steps": 2}}, {"train": {"lr": 3}})
    {'train': {'lr': 3, 'steps': 2}}
    """
    made = dict(base)
    for path, value in leaves(changes):
        made = _with(made, path, value, ".".join(path))
    return made


def leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Every value that is no mapping, with the names that lead to it."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _with(values: dict[str, Any], path: Sequence[str], value: Any, change: str) -> dict[str, Any]:
    """The one nested update."""
    first, *rest = path
    if not rest:
        return {**values, first: value}
    inner = values.get(first, {})
    if isinstance(inner, str):  # a part in its short form: its options become keys
        kind, positional, named = split_part(inner)
        fix = f"write {first} as a mapping, or with its options named"
        require(
            not positional,
            f"the change {shown(change)} to {first}: {shown(inner)}",
            "options by name",
            fix,
        )
        inner = {"kind": kind, **named}
    if not isinstance(inner, Mapping):
        raise InputError(
            f"the change {shown(change)}: {first} is {shown(inner)}",
            "a mapping at this level",
            "check the name",
        )
    return {**values, first: _with(dict(inner), rest, value, change)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or too deep
        return text
