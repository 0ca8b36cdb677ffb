"""One stored run: its spec, what came out, and a checksum over both.

Numbers are written as JSON with every digit, so that a figure read back is the figure computed, bit
for bit; JSON has no NaN or infinity, which are written as {"float": "nan"}. The checksum covers
every column: a row whose bytes changed on the disk is recognised, reported and computed again,
never shown.
"""

import dataclasses
import hashlib
import json
from typing import Any

from headcount.core.spec import plain

FINISHED, FAILED = "finished", "failed"
PARTS = ("metrics", "final", "seconds", "versions")  # of a record, each a JSON column of its own
COLUMNS = (
    "id",
    "status",
    "outcome",
    "step",
    "sentence",
    *PARTS,
    "other",
    "error",
    "stored",
    "checksum",
)


@dataclasses.dataclass(frozen=True)
class Row:
    """What the store knows of one run that ended. `record` is the trainer's, empty where the run
    failed.
    """

    id: str
    # finished (also when training diverged: that is an outcome) or failed (an error, a dead worker)
    status: str
    record: dict[str, Any]
    error: str = ""
    stored: str = ""  # for people: no decision depends on a clock

    @property
    def figures(self) -> dict[str, Any]:
        """What must be the same however often, wherever and in whatever order the run is
        computed.
        """
        names = ("outcome", "step", "metrics", "final")
        return {
            "id": self.id,
            "status": self.status,
            **{name: self.record.get(name) for name in names},
        }

    def to_columns(self) -> tuple[Any, ...]:
        """The values of COLUMNS."""
        record = dict(self.record)
        head = [
            self.id,
            self.status,
            record.pop("outcome", None),
            record.pop("step", None),
            record.pop("sentence", None),
        ]
        parts = [_dumps(record.pop(name, {})) for name in PARTS]
        values = [*head, *parts, _dumps(record), self.error, self.stored]
        return (*values, checksum(values))

    @classmethod
    def from_columns(cls, values: tuple[Any, ...]) -> "Row | None":
        """The row, or None where the checksum does not fit."""
        if checksum(list(values[:-1])) != values[-1]:
            return None
        named = dict(zip(COLUMNS, values, strict=True))
        record = {name: named[name] for name in ("outcome", "step", "sentence")}
        record |= {name: loads(named[name]) for name in PARTS} | loads(named["other"])
        return cls(
            named["id"],
            named["status"],
            record if named["status"] == FINISHED else {},
            named["error"],
            named["stored"],
        )


def checksum(values: list[Any]) -> str:
    """SHA-256 over the columns; a value that SQLite could not have been given (bytes after a
    flipped type) counts by its repr.
    """
    return hashlib.sha256(
        json.dumps(values, default=repr, separators=(",", ":")).encode()
    ).hexdigest()[:32]


def _dumps(value: Any) -> str:
    return json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


def loads(text: str) -> Any:
    """JSON as this store writes it."""
    return json.loads(
        text, object_hook=lambda found: float(found["float"]) if set(found) == {"float"} else found
    )
