"""Strict frozen specs, canonical JSON and the content hash that identifies a run."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Self

import pydantic

from headcount.core.errors import InputError, nearest


class Options(pydantic.BaseModel):
    """Strict and frozen, with no name of its own that an option could shadow."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class SpecError(InputError):
    """Faults of one spec, all of them; `expected` lists its keys."""


class Spec(Options):
    """A frozen record of plain values. An unknown key is an error that names the nearest one."""

    def __init__(self, **values: Any):
        try:
            super().__init__(**values)
        except pydantic.ValidationError as error:
            raise faults(error, type(self).__name__, list(type(self).model_fields)) from None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Validate a mapping (JSON, YAML, TOML, command line); all faults at once, on one line."""
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
            reasons.append(f"unknown key {where!r}{nearest(where.rsplit('.')[-1], keys)}")
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
            reasons.append(f"{where} is {fault['input']!r}: {message[0].lower()}{message[1:]}")
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
    return json.dumps(
        plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def content_hash(value: Any) -> str:
    """The first 16 hex digits of SHA-256 over the canonical JSON: the identity of a spec."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]
