"""Strict frozen specs, canonical JSON and the content hash that identifies a run."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Self, get_args

import numpy as np
import pydantic

from headcount.core.errors import InputError, nearest, require, shown

Positive = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, pydantic.Field(ge=0, lt=1)]
Count = Annotated[int, pydantic.Field(ge=1)]
Number = Annotated[int, pydantic.Field(ge=0)]
DEEPEST = 32  # levels of lists in lists
LARGEST_WHOLE = 2**63  # beyond, arrays and loops have no such size


class Options(pydantic.BaseModel):
    """Strict and frozen, with no name of its own that an option could shadow.

    True is no number, NaN and infinity are none either, and a whole number has at most 63 bits.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def _before(cls, value: Any, info: pydantic.ValidationInfo) -> Any:
        hint = cls.model_fields[str(info.field_name)].annotation
        return value if _admits(hint, Any) else _number_is_no_bool(value, _admits(hint, bool))

    @pydantic.field_validator("*", mode="after")
    @classmethod
    def _after(cls, value: Any) -> Any:
        _sane_numbers(value)
        return value


def _admits(hint: Any, kind: Any) -> bool:
    return hint is kind or any(_admits(member, kind) for member in get_args(hint))


def _number_is_no_bool(value: Any, wanted: bool, depth: int = 0) -> Any:
    """Plain Python values of NumPy's; True and False only where they are asked for."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        require(depth < DEEPEST, shown(value), f"at most {DEEPEST} levels", "nest less deeply")
        return [_number_is_no_bool(item, wanted, depth + 1) for item in value]
    if isinstance(value, bool) and not wanted:
        raise InputError(f"{value}", "no truth value", "write a number or a name")
    return value


def _sane_numbers(value: Any) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _sane_numbers(item)
    elif isinstance(value, int):
        require(
            abs(value) < LARGEST_WHOLE, shown(value), "a number below 2**63", "choose a smaller one"
        )
    elif isinstance(value, float):
        require(math.isfinite(value), f"{value}", "a finite number", "choose another")


class SpecError(InputError):
    """Faults of one spec, all of them; `expected` lists its keys."""


class Spec(Options):
    """A frozen record of plain values. An unknown key is an error that names the nearest one."""

    def __init__(self, /, *places: Any, **values: Any):
        names = list(type(self).model_fields)
        require(
            not places,
            f"{type(self).__name__} with {len(places)} values that have no name",
            f"keys {', '.join(names) or '(none)'}",
            "write name=value",
        )
        try:
            super().__init__(**values)
        except pydantic.ValidationError as error:
            raise faults(error, type(self).__name__, names) from None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Validate a mapping (JSON, YAML, TOML, command line); all faults at once, on one line."""
        require(
            isinstance(values, Mapping) and all(isinstance(key, str) for key in values),
            f"{cls.__name__} from {shown(values)}",
            "a mapping with names as keys",
            "write it like {'name': value}",
        )
        return cls(**dict(values))

    def to_plain(self) -> dict[str, Any]:
        """The fields as JSON can hold them."""
        return {name: plain(getattr(self, name)) for name in type(self).model_fields}


def faults(error: pydantic.ValidationError, noun: str, keys: list[str]) -> SpecError:
    """Every fault of a failed validation as one `InputError`; `keys` are the top-level names."""
    reasons = []
    for fault in error.errors():
        where = ".".join(str(part) for part in fault["loc"])
        if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            reasons.append(f"unknown key {shown(where)}{nearest(where.rsplit('.')[-1], keys)}")
        elif fault["type"] in ("missing", "missing_argument"):
            reasons.append(f"{where!r} is missing")
        elif fault["type"] == "value_error":
            inner = fault["ctx"]["error"]
            said = (
                f"{inner.got} (expected {inner.expected})"
                if isinstance(inner, InputError)
                else str(inner)
            )
            reasons.append(f"{where}: {said}" if where else said)
        else:
            message = fault["msg"]
            reasons.append(f"{where} is {shown(fault['input'])}: {message[0].lower()}{message[1:]}")
    return SpecError(
        f"{noun}: {', and '.join(reasons)}",
        f"keys {', '.join(keys) or '(none)'}",
        "correct these and run again",
    )


def plain(value: Any) -> Any:
    """A value as JSON can hold it: specs, records and registered parts become mappings with
    their `kind`.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return {"float": repr(value)}  # JSON has no inf; a budget may be one
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, Spec):
        return value.to_plain()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = getattr(type(value), "kind", None)
        options = {
            f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init
        }
        return {"kind": kind, **options} if kind else options
    raise InputError(
        f"a {type(value).__name__} cannot be written to a spec",
        "numbers, text, lists, specs or registered parts",
        "register a named part for it, or keep it out of stored specs",
    )


def canonical_json(value: Any) -> str:
    """Sorted keys, no spaces: equal specs give equal text, in whatever order they were written."""
    try:
        return json.dumps(
            plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
    except RecursionError:
        raise InputError(
            "a value that holds itself, or is nested too deeply", "plain values", "flatten it"
        ) from None


def content_hash(value: Any) -> str:
    """The first 16 hex digits of SHA-256 over the canonical JSON: the identity of a spec."""
    return hash_of_text(canonical_json(value))


def hash_of_text(canonical: str) -> str:
    """The same of a text that is canonical JSON already."""
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
