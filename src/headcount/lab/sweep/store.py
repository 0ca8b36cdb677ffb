"""The store of a sweep: a SQLite file with every run's spec and result, by the spec's hash.

A result is one row, written in one transaction together with the end of its claim: it is there
whole or not at all, and once (the first row stays). Only the driver writes; reports open the file
read-only at any time. Model weights, where asked for, lie beside it in `<store>.weights/<id>/`,
written before the row that vouches for them.
"""

import dataclasses
import datetime
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import InputError
from headcount.core.files import whole_folder
from headcount.core.spec import content_hash, hash_of_text
from headcount.lab.sweep.owners import Owner, Watch
from headcount.lab.sweep.schema import (
    COLUMNS,
    FAILED,
    Row,
    StoreError,
    connect,
    connect_read_only,
    loads,
    readable_errors,
    transaction,
)

OWNER = (str, str, int, str, int)  # a row of other types is damaged: nobody is there
STOP = "stop"  # of `computed`: the sweeps that are asked to end


@dataclasses.dataclass(frozen=True)
class Claimed:
    """The answer to a claim: what is ours now, what another sweep has stored, what another one
    is at work on.
    """

    mine: list[str]
    done: list[str]
    elsewhere: list[str]


@checked
class Store:
    """An open store. `Store(path)` creates it where there is none; `Store(path, read_only=True)`
    never writes.
    """

    def __init__(self, path: str | Path, read_only: bool = False):
        self.path, self._read_only = Path(path), read_only
        self._connection = connect_read_only(self.path) if read_only else connect(self.path)
        self._watch = Watch()
        self.owner: Owner | None = None

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End this sweep's claims, where it has any, and close the file. Never fails: the claims
        of the dead lapse anyhow.
        """
        try:
            if self.owner is not None:
                with transaction(self._connection):
                    self._connection.execute(
                        "DELETE FROM claims WHERE owner = ?", (self.owner.owner,)
                    )
                    self._connection.execute(
                        "DELETE FROM owners WHERE owner = ?", (self.owner.owner,)
                    )
            # the last one to leave takes the side files away, so that one file is the whole store
            if not self._read_only:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.DatabaseError:
            pass
        finally:
            self.owner = None
            self._connection.close()

    # --- specs ------------------------------------------------------------------------------------

    def add(self, specs: Mapping[str, str]) -> None:
        """Make runs known: id → canonical JSON of the spec. Those already known stay; a damaged
        spec is mended.
        """
        with readable_errors(self.path), transaction(self._connection):
            self._connection.executemany(
                "INSERT INTO runs VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET spec ="
                " excluded.spec",
                specs.items(),
            )

    def specs(self) -> dict[str, dict[str, Any]]:
        """Every known run: id → plain spec, in the order in which they were added. A damaged one
        is left out.
        """
        with readable_errors(self.path):
            found = self._connection.execute("SELECT id, spec FROM runs ORDER BY rowid").fetchall()
        return {id: spec for id, text in found if (spec := _intact(id, text)) is not None}

    # --- what is computed beside the runs ---------------------------------------------------------

    def computed(self, key: str) -> str | None:
        """What was kept under a key."""
        with readable_errors(self.path):
            found = self._connection.execute(
                "SELECT value FROM computed WHERE key = ?", (key,)
            ).fetchone()
        return found[0] if found is not None and isinstance(found[0], str) else None

    def keep(self, key: str, value: str) -> None:
        """Keep a value under the hash of what it depends on."""
        with readable_errors(self.path), transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO computed VALUES (?, ?)", (key, value))

    # --- results ----------------------------------------------------------------------------------

    def rows(self, ids: Collection[str] | None = None) -> tuple[list[Row], list[str]]:
        """The results in the order in which they were stored, and the ids of rows whose checksum
        does not fit.
        """
        wanted = None if ids is None else set(ids)
        good, damaged = [], []
        with readable_errors(self.path):
            for values in self._connection.execute(
                f"SELECT {', '.join(COLUMNS)} FROM results ORDER BY rowid"
            ):
                if wanted is None or values[0] in wanted:
                    row = Row.from_columns(values)
                    good.append(row) if row is not None else damaged.append(values[0])
        return good, damaged

    def present(self) -> dict[str, str]:
        """id → status of every stored result, unchecked and quick."""
        with readable_errors(self.path):
            return dict(self._connection.execute("SELECT id, status FROM results").fetchall())

    def put(self, row: Row) -> bool:
        """Store a result and end its claim, in one transaction. False where the run is stored
        already: that row stays.
        """
        row = dataclasses.replace(
            row, stored=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        )
        marks = ", ".join("?" * len(COLUMNS))
        with readable_errors(self.path), transaction(self._connection):
            done = self._connection.execute(
                f"INSERT OR IGNORE INTO results VALUES ({marks})", row.to_columns()
            )
            self._connection.execute("DELETE FROM claims WHERE id = ?", (row.id,))
        return done.rowcount == 1

    def drop(self, ids: Iterable[str]) -> int:
        """Forget results, so that their runs are computed again; how many there were."""
        with readable_errors(self.path), transaction(self._connection):
            before = self._connection.total_changes
            for id in ids:
                # bytes that are no text are stored as text all the same
                place = "CAST(id AS BLOB)" if isinstance(id, bytes) else "id"
                self._connection.execute(f"DELETE FROM results WHERE {place} IS ?", (id,))
            return self._connection.total_changes - before

    def drop_failed(self, ids: Iterable[str]) -> int:
        """Forget the failures among these runs."""
        present = self.present()
        return self.drop(id for id in ids if present.get(id) == FAILED)

    def keep_weights(self, id: str, files: Mapping[str, bytes]) -> Path:
        """Write a run's model beside the store; the folder appears whole."""
        folder = self.weights / id
        try:
            with whole_folder(folder) as work:
                for name, content in files.items():
                    (work / name).write_bytes(content)
        except (OSError, InputError) as error:
            raise StoreError(
                f"the weights {folder} cannot be written ({error}); make room, then run the same"
                " command again"
            ) from None
        return folder

    @property
    def weights(self) -> Path:
        """The folder of model weights beside the store."""
        return self.path.with_name(self.path.name + ".weights")

    # --- claims -----------------------------------------------------------------------------------

    def enter(self) -> Owner:
        """Begin a sweep on this store: from now on it may claim runs."""
        self.owner = Owner.this()
        self.beat()
        return self.owner

    def beat(self) -> None:
        """Show the other sweeps that this one is alive (anew, if one had taken it for dead)."""
        assert self.owner is not None
        values = dataclasses.astuple(self.owner)
        with readable_errors(self.path), transaction(self._connection):
            self._connection.execute(
                "INSERT INTO owners VALUES (?, ?, ?, ?, ?) ON CONFLICT (owner) DO UPDATE SET beat ="
                " beat + 1",
                values,
            )

    def claim(self, ids: Collection[str]) -> Claimed:
        """Take runs that nobody has stored or is at work on; the claims of dead sweeps are swept
        away first.
        """
        assert self.owner is not None
        found = Claimed([], [], [])
        with readable_errors(self.path), transaction(self._connection):
            self._bury(self.owner.owner)
            for id in ids:
                if self._connection.execute("SELECT 1 FROM results WHERE id = ?", (id,)).fetchone():
                    found.done.append(id)
                    continue
                taken = (
                    self._connection.execute(
                        "INSERT OR IGNORE INTO claims VALUES (?, ?)", (id, self.owner.owner)
                    ).rowcount
                    == 1
                )
                held = self._connection.execute(
                    "SELECT owner FROM claims WHERE id = ?", (id,)
                ).fetchone()[0]
                (found.mine if taken or held == self.owner.owner else found.elsewhere).append(id)
        return found

    def _bury(self, me: str) -> None:
        for other in self._owners():
            if other.owner != me and not self._watch.alive(other):
                self._connection.execute("DELETE FROM owners WHERE owner = ?", (other.owner,))
        self._connection.execute(
            "DELETE FROM claims WHERE owner <> ? AND owner NOT IN (SELECT owner FROM owners)", (me,)
        )

    def release(self, ids: Iterable[str]) -> None:
        """Give back runs that this sweep will not compute."""
        assert self.owner is not None
        with readable_errors(self.path), transaction(self._connection):
            self._connection.executemany(
                "DELETE FROM claims WHERE id = ? AND owner = ?",
                [(id, self.owner.owner) for id in ids],
            )

    def at_work(self) -> dict[str, Owner]:
        """Run id → the sweep that is at work on it, as far as its process is known to exist."""
        with readable_errors(self.path):
            owners = {owner.owner: owner for owner in self._owners() if owner.exists}
            claims = self._connection.execute("SELECT id, owner FROM claims").fetchall()
        return {id: owners[name] for id, name in claims if name in owners}

    def ask_to_stop(self) -> int:
        """Ask the sweeps that are at work now to end as on ^C; how many there are. One that begins
        later is not meant.
        """
        with readable_errors(self.path):
            named = [owner.owner for owner in self._owners() if owner.exists]
        self.keep(STOP, json.dumps(named))
        return len(named)

    def asked_to_stop(self) -> bool:
        """Has somebody asked this sweep to end?"""
        told = self.computed(STOP)
        try:
            named = [] if told is None else json.loads(told)
        except (ValueError, RecursionError):
            return False
        return isinstance(named, list) and self.owner is not None and self.owner.owner in named

    def _owners(self) -> list[Owner]:
        found = self._connection.execute("SELECT owner, place, pid, started, beat FROM owners")
        return [Owner(*values) for values in found if tuple(map(type, values)) == OWNER]


def _intact(id: str, text: Any) -> dict[str, Any] | None:
    """The plain spec of a row of `runs`, or None where it does not hash to its id."""
    try:
        spec = loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    if not isinstance(spec, dict):
        return None
    # as a rule the text is canonical: to write it anew takes longer than all else here
    same = (isinstance(text, str) and hash_of_text(text) == id) or content_hash(spec) == id
    return spec if same else None
