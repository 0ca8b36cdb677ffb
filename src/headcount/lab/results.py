"""The results of a store as tables: one row a run, or one row a run, metric and logged step. Reads
only.

Columns are `id`, the spec by dotted names, `status`, `outcome`, `step`, the final figures and the
timings. CSV holds every digit of a float; Parquet has typed columns. A damaged row is left out and
told.
"""

import csv
import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headcount.core.errors import require
from headcount.lab.flat import flatten
from headcount.lab.rows import Row
from headcount.lab.store import Store
from headcount.lab.sweep import first_line

Table = dict[str, list[Any]]  # column name → values


def results(path: str | Path, curves: bool = False) -> tuple[Table, list[str]]:
    """The table of a store's results, in the order of the plan, and the ids of damaged rows."""
    with Store(path, read_only=True) as store:
        specs = store.specs()
        rows, damaged = store.rows()
    place = {id: i for i, id in enumerate(specs)}
    rows.sort(key=lambda row: (place.get(row.id, len(place)), row.id))
    lines = [
        line
        for row in rows
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
            for step, value in zip(metrics["step"], values, strict=False):
                yield {"id": row.id, "metric": name, "step": step, "value": value}


def to_csv(table: Table) -> str:
    """RFC 4180 text, a header line first; floats with every digit, nothing for what is not
    there.
    """
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
