"""The store's tables and how they came to be; a row of results and its checksum; opening a file.

`STEPS[v]` takes a store from version v to v + 1: a new store is an empty file that goes through all
of them, so the road of a new store and that of an old one are the same, in one transaction each. A
newer store, or a file that is none, is refused before anything is written. WAL mode: readers never
wait for the writer, and a row is there whole or not at all after any crash.

Numbers are written as JSON with every digit, so that a figure read back is the figure computed, bit
for bit; JSON has no NaN or infinity, which are written as {"float": "nan"}. The checksum covers
every column: a row whose bytes changed on the disk is recognised, reported and computed again,
never shown.
"""

import contextlib
import contextvars
import dataclasses
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headcount.core.errors import HeadcountError, InputError, require
from headcount.core.spec import plain
from headcount.lab.sweep.sound_row import sound_head, sound_parts

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
    """What the store knows of one run that ended. `record`: the trainer's, empty if it failed."""

    id: str
    # finished (also when training diverged: that is an outcome) or failed (an error, a dead worker)
    status: str
    record: dict[str, Any]
    error: str = ""
    stored: str = ""  # for people: no decision depends on a clock

    @property
    def figures(self) -> dict[str, Any]:
        """What must be the same however often, wherever and in whatever order a run is made."""
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
        """The row, or None where the checksum does not fit, or it fits and what it vouches for is
        none of what a sweep writes.
        """
        if checksum(list(values[:-1])) != values[-1]:
            return None
        named = dict(zip(COLUMNS, values, strict=True))
        head = {name: named[name] for name in ("outcome", "step", "sentence")}
        try:
            parts = {name: loads(named[name]) for name in PARTS}
            other = loads(named["other"])
        except (TypeError, ValueError, RecursionError):
            return None
        if named["status"] not in (FINISHED, FAILED):
            return None
        if not (sound_head(named) and sound_parts(parts) and isinstance(other, dict)):
            return None
        record = {**other, **head, **parts}
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


APPLICATION = 0x48434E54  # "HCNT" in the file's header: how a store is told from any other database
BUSY_SECONDS = 30.0
_PATIENCE = contextvars.ContextVar("patience", default=BUSY_SECONDS)
# A writer died in the middle of making the store: SQLite undoes that as soon as the file is opened
# for writing, and not before.
UNFINISHED = ("SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY")

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # A run is known by its spec before it is computed; the id is the hash of the spec, so the
        # pair checks itself.
        "CREATE TABLE runs (id TEXT PRIMARY KEY, spec TEXT NOT NULL)",
        """CREATE TABLE results (
            id TEXT PRIMARY KEY, status TEXT NOT NULL, outcome TEXT, step INTEGER, sentence TEXT,
            metrics TEXT NOT NULL, final TEXT NOT NULL, seconds TEXT NOT NULL,
            versions TEXT NOT NULL, other TEXT NOT NULL,
            error TEXT NOT NULL, stored TEXT NOT NULL, checksum TEXT NOT NULL)""",
        # Who works on what, so that two sweeps share the work; see owners.py.
        (
            "CREATE TABLE owners (owner TEXT PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT"
            " NULL, started TEXT NOT NULL, beat INTEGER NOT NULL)"
        ),
        "CREATE TABLE claims (id TEXT PRIMARY KEY, owner TEXT NOT NULL)",
        # For people with SQL: one line per run, metric and logged step.
        """CREATE VIEW curves AS
            SELECT results.id AS id, named.key AS metric, steps.value AS step, points.value AS value
            FROM results, json_each(results.metrics) AS named, json_each(named.value) AS points
            JOIN json_each(results.metrics, '$.step') AS steps ON steps.key = points.key
            WHERE named.key <> 'step'""",
    ),
    # What is computed beside the runs (floors, evidence), under the hash of what it depends on.
    ("CREATE TABLE computed (key TEXT PRIMARY KEY, value TEXT NOT NULL)",),
)


class StoreError(HeadcountError):
    """The store cannot be written (disk full, locked, vanished). Nothing half-written is left."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Inside the block a store that another program holds is waited for so long."""
    before = _PATIENCE.set(seconds)
    try:
        yield
    finally:
        _PATIENCE.reset(before)


@contextlib.contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as one line that says what to do."""
    try:
        yield
    except UnicodeDecodeError:  # of a table's own description
        raise InputError(
            f"{path} is damaged (text that is no UTF-8)",
            "a store written by headcount",
            "move it away or give another",
        ) from None
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise InputError(
                f"{path} is damaged or not a store ({error})",
                "a store written by headcount",
                "move it away or give another",
            ) from None
        if name.startswith("SQLITE_BUSY"):
            fix = "end the other program that holds it, then run the same command again"
        elif name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
            fix = "give a file in a folder that can be written to"
        elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            fix = "make room on the disk, then run the same command again: finished runs are kept"
        else:
            fix = "finished runs are kept; run the same command again"
        raise StoreError(f"the store {path} cannot be used ({error}); {fix}") from None


def connect(path: Path, steps: Sequence[Sequence[str]] = STEPS) -> sqlite3.Connection:
    """Open for writing: create, or bring up to date, or refuse."""
    require(
        path.parent.is_dir(),
        f"store {path}",
        "a file in an existing folder",
        "create the folder first",
    )
    _refuse_name(path)
    if path.exists():
        _refuse(path, steps, _version(path))
    with readable_errors(path):
        connection = _connection(str(path))
        try:
            _switch_to_wal(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            _upgrade(connection, steps)
        except BaseException:
            connection.close()
            raise
    return connection


def connect_read_only(path: Path, steps: Sequence[Sequence[str]] = STEPS) -> sqlite3.Connection:
    """Open for reading, also while a sweep writes."""
    _refuse_name(path)
    require(
        path.is_file(),
        f"there is no store {path}",
        "a file written by headcount sweep",
        "check the path",
    )
    found = _version(path)
    _refuse(path, steps, found)
    require(
        found == len(steps),
        f"{path} has schema {found}",
        f"schema {len(steps)}",
        "bring it up to date: run headcount sweep on it once",
    )
    return _reading(path)


def _refuse_name(path: Path) -> None:
    """A name that no file can have: too long, with a null byte, a link to itself."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise InputError(
            f"store {path} ({getattr(error, 'strerror', None) or error})",
            "a file that can be opened",
            "give another name",
        ) from None


def _version(path: Path) -> int:
    """The schema version of a file: 0 if empty, -1 if it is no store. Nothing is written."""
    require(
        path.is_file(),
        f"{path} is no file",
        "a store written by headcount sweep",
        "give a file name",
    )
    with open(path, "rb") as file:
        start = file.read(16)
    if start not in (b"", b"SQLite format 3\x00"):
        return -1
    with readable_errors(path):
        connection = _readable(path)
        try:
            application, version, tables = (
                connection.execute(question).fetchone()[0]
                for question in (
                    "PRAGMA application_id",
                    "PRAGMA user_version",
                    "SELECT count(*) FROM sqlite_master",
                )
            )
        finally:
            connection.close()
    if application == APPLICATION:
        return int(version)
    return 0 if application == 0 and version == 0 and tables == 0 else -1


def _address(path: Path) -> str:
    return f"file:{str(path.resolve()).replace('%', '%25').replace('?', '%3f').replace('#', '%23')}"


def _reading(path: Path) -> sqlite3.Connection:
    """A store that is only read. SQLite lets no read-only connection take WAL's side files away
    when the last one leaves, so this one could write, and is told not to.
    """
    try:
        connection = _looked_at(f"{_address(path)}?mode=rw")
        connection.execute("PRAGMA query_only=ON")
        return connection
    except sqlite3.DatabaseError:  # a folder or a disk that takes no files
        return _readable(path)


def _readable(path: Path) -> sqlite3.Connection:
    """Read-only; where the folder cannot be written to and nobody writes, WAL's side files are
    done without.
    """
    address = _address(path)
    with readable_errors(path):
        try:
            return _looked_at(f"{address}?mode=ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname in UNFINISHED:
                _looked_at(f"{address}?mode=rw").close()
                return _looked_at(f"{address}?mode=ro")
            if (
                not error.sqlite_errorname.startswith("SQLITE_CANTOPEN")
                or path.with_name(path.name + "-wal").exists()
            ):
                raise
            return _looked_at(f"{address}?mode=ro&immutable=1")


def _connection(address: str, uri: bool = False) -> sqlite3.Connection:
    made = sqlite3.connect(address, uri=uri, timeout=_PATIENCE.get(), isolation_level=None)
    made.text_factory = _text
    return made


def _text(stored: bytes) -> str | bytes:
    """Text; bytes that are none stay what they are, so that their row is damaged and no other."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def _looked_at(address: str) -> sqlite3.Connection:
    """A connection that has read something: before that SQLite opens no file."""
    connection = _connection(address, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse(path: Path, steps: Sequence[Sequence[str]], found: int) -> None:
    require(
        found >= 0,
        f"{path} is not a store",
        "a file written by headcount, or a new name",
        "move it away or give another",
    )
    require(
        found <= len(steps),
        f"{path} has schema {found}, newer than this program",
        f"schema {len(steps)} or older",
        "upgrade headcount",
    )


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Needs the file for itself for a moment, and SQLite does not wait for that on its own."""
    until = time.monotonic() + _PATIENCE.get()
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing; the write lock is taken first, so that what was read is still
    true when it is written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("ROLLBACK")
        raise


def _upgrade(connection: sqlite3.Connection, steps: Sequence[Sequence[str]]) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] == len(steps):
        return
    with transaction(connection):
        # another sweep may have been quicker
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        for step in steps[found:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION}")
        connection.execute(f"PRAGMA user_version={len(steps)}")
