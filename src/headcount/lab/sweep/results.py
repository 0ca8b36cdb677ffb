"""What a store holds, for people and programs: how it stands, its results as tables. Read only.

One row is one run, or one run, metric and logged step. Columns are `id`, the spec by dotted names,
`status`, `outcome`, `step`, the final figures and the timings. CSV holds every digit of a float;
Parquet has typed columns. A damaged row is left out and told.

>>> flatten({"model": {"heads": 2, "bias": {"kind": "lin"}}, "seed": 0})
{'model.heads': 2, 'model.bias.kind': 'lin', 'seed': 0}
"""

import csv
import dataclasses
import importlib.util
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import require
from headcount.core.overrides import leaves
from headcount.core.spec import plain
from headcount.lab.sweep.driver import first_line
from headcount.lab.sweep.progress import cpu_of
from headcount.lab.sweep.schema import FAILED, FINISHED, Row
from headcount.lab.sweep.store import Store

Table = dict[str, list[Any]]  # column name → values


@checked
def results(
    path: str | Path, curves: bool = False, most: int | None = None
) -> tuple[Table, list[str]]:
    """The table of a store's results (the first `most` of them), in the order of the plan, and the
    ids of damaged rows.
    """
    with Store(path, read_only=True) as store:
        specs = store.specs()
        rows, damaged = store.rows()
    place = {id: i for i, id in enumerate(specs)}
    rows.sort(key=lambda row: (place.get(row.id, len(place)), row.id))
    lines = [
        line
        for row in rows[:most]
        for line in (_curves(row) if curves else [_line(row, specs.get(row.id, {}))])
    ]
    names = list(dict.fromkeys(name for line in lines for name in line))
    return {name: [line.get(name) for line in lines] for name in names}, [str(id) for id in damaged]


def _line(row: Row, spec: dict[str, Any]) -> dict[str, Any]:
    record = row.record
    return {
        "id": row.id,
        **flatten(spec),
        "status": row.status,
        "outcome": record.get("outcome"),
        "outcome_step": record.get("step"),
        **flatten({"final": record.get("final", {}), "seconds": record.get("seconds", {})}),
        "peak_memory_bytes": record.get("peak_memory_bytes"),
        "error": first_line(row.error) if row.error else None,
    }


def _curves(row: Row) -> Iterator[dict[str, Any]]:
    metrics = row.record.get("metrics", {})
    for name, values in metrics.items():
        if name != "step":
            for step, value in zip(metrics.get("step", ()), values, strict=False):
                yield {"id": row.id, "metric": name, "step": step, "value": value}


def to_csv(table: Table) -> str:
    """RFC 4180 text, a header line first; floats with every digit, nothing for what is missing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue()


def to_parquet(table: Table) -> bytes:
    """A Parquet file; a column of mixed types becomes text."""
    require(
        importlib.util.find_spec("pyarrow") is not None,
        "Parquet, but pyarrow is not installed",
        "pyarrow",
        "pip install 'headcount[data]'",
    )
    import pyarrow
    import pyarrow.parquet

    def column(values: list[Any]) -> Any:
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int, float} or len(kinds) <= 1:
            wide = float in kinds
            return pyarrow.array([float(v) if wide and v is not None else v for v in values])
        return pyarrow.array([None if value is None else str(value) for value in values])

    out = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        pyarrow.table({name: column(values) for name, values in table.items()}), out
    )
    return out.getvalue().to_pybytes()


@dataclasses.dataclass(frozen=True)
class FailedRun:
    """A run that failed: what it is and why."""

    id: str
    label: str
    error: str


@dataclasses.dataclass(frozen=True)
class StoreStatus:
    """Counts over all runs that the store knows. `running`: claimed by a living sweep."""

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
    failures: list[FailedRun]

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@checked
def status(path: str | Path) -> StoreStatus:
    """Look into a store, also while sweeps write to it."""
    with Store(path, read_only=True) as store:
        specs = store.specs()
        rows, damaged = store.rows()
        claims = store.at_work()
    ended = {row.id for row in rows}
    running = {id: owner for id, owner in claims.items() if id not in ended}
    outcomes: dict[str, int] = {}
    for row in rows:
        name = str(row.record.get("outcome")) if row.status == FINISHED else FAILED
        outcomes[name] = outcomes.get(name, 0) + 1
    fallen = [row for row in rows if row.status == FAILED]
    # what tells a run from the others takes a look at all of them
    named = dict(zip(specs, labels(list(specs.values())), strict=True)) if fallen else {}
    failures = [FailedRun(row.id, named.get(row.id, ""), first_line(row.error)) for row in fallen]
    return StoreStatus(
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


def flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted name → number, text or None; a list becomes JSON text, an empty mapping nothing."""
    return {
        ".".join(path): json.dumps(plain(value)) if isinstance(value, list | tuple) else value
        for path, value in leaves(values)
    }


def labels(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each spec what tells it from the others: 'model.heads=2 seed=0'; a lone one is told by
    its memory and seed.

    >>> labels([{"a": {"b": 1}, "seed": 0}, {"a": {"b": 2}, "seed": 0}])
    ['a.b=1', 'a.b=2']
    """
    flat = [flatten(spec) for spec in specs]
    names = list(dict.fromkeys(name for spec in flat for name in spec))
    varied = [
        name for name in names if len({json.dumps(plain(spec.get(name))) for spec in flat}) > 1
    ]
    shown = varied or [name for name in ("memory.kind", "seed") if name in names]
    return [" ".join(f"{name}={spec[name]}" for name in shown if name in spec) for spec in flat]
