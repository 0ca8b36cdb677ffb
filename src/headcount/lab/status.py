"""How a store stands: what is finished, failed, damaged, being computed and still to do. Reads
only.
"""

import dataclasses
from pathlib import Path
from typing import Any

from headcount.lab.flat import labels
from headcount.lab.progress import cpu_of
from headcount.lab.rows import FAILED, FINISHED
from headcount.lab.store import Store
from headcount.lab.sweep import first_line


@dataclasses.dataclass(frozen=True)
class Failure:
    """A run that failed: what it is and why."""

    id: str
    label: str
    error: str


@dataclasses.dataclass(frozen=True)
class Status:
    """Counts over all runs that the store knows. `running` are claimed by a sweep whose process
    exists.
    """

    store: str
    runs: int
    finished: int
    failed: int
    running: int
    waiting: int
    damaged: list[str]
    outcomes: dict[str, int]
    cpu_seconds: float
    sweeps: list[str]
    failures: list[Failure]

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def status(path: str | Path) -> Status:
    """Look into a store, also while sweeps write to it."""
    with Store(path, read_only=True) as store:
        specs = store.specs()
        rows, damaged = store.rows()
        claims = store.at_work()
    ended = {row.id for row in rows}
    running = {id: owner for id, owner in claims.items() if id not in ended}
    named = dict(zip(specs, labels(list(specs.values())), strict=True))
    outcomes: dict[str, int] = {}
    for row in rows:
        name = str(row.record.get("outcome")) if row.status == FINISHED else FAILED
        outcomes[name] = outcomes.get(name, 0) + 1
    failures = [
        Failure(row.id, named.get(row.id, ""), first_line(row.error))
        for row in rows
        if row.status == FAILED
    ]
    return Status(
        store=str(path),
        runs=len({*specs, *ended}),
        finished=len(rows) - len(failures),
        failed=len(failures),
        running=len(running),
        waiting=len(set(specs) - ended - set(running)),
        damaged=[str(id) for id in damaged],
        outcomes=outcomes,
        cpu_seconds=sum(cpu_of(row.record) for row in rows),
        sweeps=sorted(
            {f"process {owner.pid} on {owner.place.split('/')[0]}" for owner in claims.values()}
        ),
        failures=failures,
    )
