"""Results by axis: for every setting that varies in a store, how the runs of each value ended.

>>> table = {"id": ["a", "b"], "model.heads": [1, 2], "status": ["finished"] * 2,
...          "outcome": ["finished"] * 2, "final.eval_loss": [0.5, 0.25]}
>>> [(row.axis, row.value, row.runs, row.median) for row in by_axis(table)]
[('model.heads', '1', 1, 0.5), ('model.heads', '2', 1, 0.25)]
"""

import dataclasses
import math
import statistics
from typing import Any

from headcount.lab.sweep.results import Table

LOSS = "final.eval_loss"
# columns that tell how a run ended, not what it was
OUTCOMES = ("id", "status", "outcome", "outcome_step", "peak_memory_bytes", "error")
ENDINGS = ("final.", "seconds.")


@dataclasses.dataclass(frozen=True)
class AxisRow:
    """The runs of one value of one axis: how many, how many have a loss, its spread."""

    axis: str
    value: str
    runs: int
    finished: int
    smallest: float | None
    median: float | None
    largest: float | None

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def axes(table: Table) -> list[str]:
    """The settings that differ between runs; the seed is repetition, not an axis."""
    settings = [
        name
        for name in table
        if name not in OUTCOMES and not name.startswith(ENDINGS) and name != "seed"
    ]
    return [name for name in settings if len(set(map(str, table[name]))) > 1]


def by_axis(table: Table) -> list[AxisRow]:
    """One row per axis and value, in the order of the plan; one for all if nothing varies."""
    count = len(table.get("id", []))
    names = axes(table)
    if not names:
        return [_row("all runs", "", table, list(range(count)))] if count else []
    found = []
    for name in names:
        values = [str(value) for value in table[name]]
        for value in dict.fromkeys(values):
            own = [i for i in range(count) if values[i] == value]
            found.append(_row(name, value, table, own))
    return found


def _row(axis: str, value: str, table: Table, rows: list[int]) -> AxisRow:
    column = table.get(LOSS, [None] * len(table["id"]))
    losses = [
        column[i] for i in rows if isinstance(column[i], int | float) and math.isfinite(column[i])
    ]
    spread = (min(losses), statistics.median(losses), max(losses)) if losses else (None,) * 3
    return AxisRow(axis, value, len(rows), len(losses), *spread)
