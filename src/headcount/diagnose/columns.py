"""Columns of a file or a frame → `Sequences`: the target, channels, borders of sequences, time."""

import collections
import csv
import dataclasses
import datetime
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.errors import InputError, nearest, require
from headcount.diagnose.arrays import coded
from headcount.diagnose.samples import Note, Sequences
from headcount.diagnose.symbols import symbols_of, with_notes

MISSING = {"", "na", "nan", "null", "none", "n/a", "?"}
DATES = ("%Y-%m", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%b %Y", "%Y-%m-%d %H:%M")
NEXT = "next:"
UNEVEN = 1.5  # times the usual step: longer ones are gaps
MOST_CELLS = 10_000_000  # of a text file: a cell takes some 150 bytes until it is a number


def csv_columns(path: Path) -> dict[str, np.ndarray]:
    _check_size(path)
    raw = path.read_bytes()
    try:
        require(b"\x00" not in raw[:65536], "", "", "")
        text = raw.decode("utf-8-sig")
    except (InputError, UnicodeDecodeError):
        raise InputError(
            f"{path.name} is no text", "comma separated values", "check the file"
        ) from None
    try:
        dialect: Any = csv.Sniffer().sniff(text[:4096], delimiters=",;\t ")
    except csv.Error:
        dialect = csv.excel
    rows = _rows(text, dialect, path.name)
    require(rows, f"{path.name} holds no rows", "some data", "check the file")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        require(
            len(row) == width,
            f"{path.name} line {number} has {len(row)} cells",
            f"{width}, as in the first line",
            "make all lines alike",
        )
    header = len(rows) > 1 and not any(_is_number(c) for c in rows[0]) and any(
        _is_number(c) for c in rows[1]
    )  # fmt: skip
    header = header or (len(rows) > 1 and (_named(rows) or _above_dates(rows)))
    names = [c.strip() or f"column{i}" for i, c in enumerate(rows[0])] if header else [
        f"column{i}" for i in range(width)
    ]  # fmt: skip
    require(len(set(names)) == width, f"columns {names}", "different names", "rename them")
    body = rows[1:] if header else rows
    require(len(rows) > 1, f"{path.name} holds one line", "a value per line", "check the file")
    return {name: _column([row[i] for row in body], name) for i, name in enumerate(names)}


def _rows(text: str, dialect: Any, name: str) -> list[list[str]]:
    """The rows that hold something; a cell in quotes may hold a line break."""
    try:
        lines = csv.reader(io.StringIO(text, newline=""), dialect)
        return [row for row in lines if any(c.strip() for c in row)]
    except csv.Error as error:
        raise InputError(
            f"{name} cannot be read ({error})", "comma separated values", "correct the file"
        ) from None


def _check_size(path: Path) -> None:
    """How many cells there will be, by the first of them."""
    with path.open("rb") as file:
        head = file.read(65536)
    lines = head.count(b"\n") or 1
    cells = max(head.count(mark) for mark in (b",", b";", b"\t")) + lines
    total, rows = (round(path.stat().st_size / len(head) * count) for count in (cells, lines))
    require(
        total <= MOST_CELLS,
        f"{path.name} holds about {rows:,} lines, {total:,} cells",
        f"at most {MOST_CELLS:,} cells",
        "pass a part of it, or .npy or .parquet",
    )


def _named(rows: list[list[str]]) -> bool:
    """A first line of words above words that repeat below: a header of a column of symbols."""
    below = collections.Counter(row[0].strip() for row in rows[1:])
    return rows[0][0].strip() not in below and below.most_common(1)[0][1] > 1


def _above_dates(rows: list[list[str]]) -> bool:
    """A first line of other words than the dates below it."""
    first, second = (_dates([row[0].strip()]).dtype.kind == "M" for row in rows[:2])
    return second and not first


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _column(cells: Sequence[str], name: str) -> np.ndarray:
    """Numbers, dates (as datetime64), or symbols (as text); a mixture is refused."""
    cells = [cell.strip() for cell in cells]
    numeric = [cell.lower() in MISSING or _is_number(cell) for cell in cells]
    if all(numeric):
        return np.array([np.nan if c.lower() in MISSING else float(c) for c in cells])
    if not any(n and c.lower() not in MISSING for n, c in zip(numeric, cells, strict=True)):
        return _dates(cells)
    if (dates := _dates(cells)).dtype.kind == "M":
        return dates
    line = numeric.index(False)
    raise InputError(
        f"column {name} holds numbers and {cells[line]!r} (row {line + 1})",
        "one kind of value",
        "correct the column, or leave it out",
    )


def _dates(cells: Sequence[str]) -> np.ndarray:
    """Dates in one of the usual forms, the same in all cells; else the cells as they are."""
    for form in (None, *DATES):
        try:
            read = [
                datetime.datetime.strptime(c, form) if form else datetime.datetime.fromisoformat(c)
                for c in cells
            ]
        except ValueError:
            continue
        return np.array([moment.replace(tzinfo=None) for moment in read], "datetime64[s]")
    return np.array(cells)


def parquet_columns(path: Path) -> dict[str, np.ndarray]:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise InputError(
            f"{path.name}", "the extra `data`", "pip install 'headcount[data]'"
        ) from None
    try:
        table = pyarrow.parquet.read_table(path)
    except Exception as error:
        raise InputError(
            f"cannot read {path.name} ({' '.join(str(error).split())[:120]})",
            "a parquet file",
            "check the file",
        ) from None
    return {name: _plain(table[name].to_numpy(), name) for name in table.column_names}


def from_frame(
    frame: Any, target: str | None = None, segments: str | None = None, tokens: str | None = None
) -> Sequences:
    """A pandas or polars frame."""
    columns = {str(name): _plain(np.asarray(frame[name]), str(name)) for name in frame.columns}
    return from_columns(columns, target, segments, tokens)


def _plain(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype.kind == "O":
        lists = any(isinstance(value, (list, dict, np.ndarray)) for value in values)
        require(not lists, f"lists in column {name}", "one value per cell", "write .jsonl instead")
    if values.dtype.kind in "OS":
        return _column(["" if v is None else str(v) for v in values], name)
    return values.astype(float) if values.dtype.kind in "iufb" else values


def from_columns(
    columns: Mapping[str, np.ndarray], target: str | None, segments: str | None, tokens: str | None
) -> Sequences:
    """Channels from columns: the target, a column that separates sequences, and time apart."""
    left, notes = dict(columns), []
    starts = None
    if segments is not None:
        order = _named_column(left, segments)
        starts = np.flatnonzero(np.concatenate([[True], order[1:] != order[:-1]]))
        del left[segments]
    ahead = target is not None and target.startswith(NEXT)
    wanted = target.removeprefix(NEXT) if target is not None else None
    if wanted is not None:
        kind = _named_column(left, wanted).dtype.kind
        require(kind != "M", f"dates in column {wanted}", "values", "choose another target")
    for name in [n for n, values in left.items() if _is_time(n, values, left) and n != wanted]:
        notes += [Note("time column", {"name": name}), *_order(name, left.pop(name), starts)]
    for name in [n for n, values in left.items() if _is_empty(values) and n != wanted]:
        del left[name]
        notes.append(Note("empty column", {"name": name}))
    require(left, "no column of values", "at least one", "check the file")
    length = len(next(iter(left.values())))
    starts = np.append(starts if starts is not None else [0], length)
    if wanted is None:
        require(
            len(left) == 1,
            f"columns {', '.join(left)}",
            "one column, or a target",
            "--target COL explains COL by the others, --target next:COL predicts the next COL",
        )
        wanted, ahead = next(iter(left)), True
    if left[wanted].dtype.kind == "U" or tokens is not None:
        require(
            len(left) == 1,
            f"symbols in {wanted} beside other columns",
            "one column of symbols",
            "drop the other columns",
        )
        parts = [left[wanted][a:b].astype(str).tolist() for a, b in itertools.pairwise(starts)]
        return with_notes(symbols_of(parts, tokens), notes)
    names = [n for n in left if ahead or n != wanted] or [wanted]
    ahead = ahead or names == [wanted]
    for name in names:
        require(
            left[name].dtype.kind == "f",
            f"column {name} holds text",
            "numbers",
            "drop it or name it with --segments",
        )
    flat = np.stack([left[name] for name in names], axis=1)
    answers = None if ahead else left[wanted].astype(float)
    place = names.index(wanted) if ahead else 0
    made = coded(_whole(flat), starts, answers, None, tuple(names), place)
    if len(left) > 1:
        made = dataclasses.replace(made, answer=wanted)
    return with_notes(made, notes)


def last_values(columns: Mapping[str, np.ndarray]) -> str | None:
    """The last of several columns of values; None where there is at most one."""
    found = value_columns(columns)
    return found[-1] if len(found) > 1 else None


def value_columns(columns: Mapping[str, np.ndarray]) -> list[str]:
    """All but those that hold time, or nothing."""
    return [
        name
        for name, values in columns.items()
        if not _is_time(name, values, columns) and not _is_empty(values)
    ]


def _whole(flat: np.ndarray) -> np.ndarray:
    """Whole numbers as integers, so that few of them are read as symbols."""
    few = flat.shape[1] == 1 and bool((np.abs(flat) < 2**53).all())
    if few and (flat == flat.round()).all():
        few = len(np.unique(flat)) <= 64
        return flat.astype(np.int64) if few else flat
    return flat


def _named_column(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    require(
        name in columns,
        f"no column {name!r}{nearest(name, columns)}",
        f"one of {', '.join(columns)}",
        "check the spelling",
    )
    return columns[name]


def _is_empty(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).all())


def _order(name: str, time: np.ndarray, starts: np.ndarray | None) -> list[Note]:
    """What is odd about the steps of a time column, inside sequences."""
    inside = np.ones(len(time) - 1, bool)
    inside[(starts[1:] if starts is not None else np.empty(0, int)) - 1] = False
    steps = np.diff(time)[inside].astype(float)
    back = steps < 0
    require(
        not (back.any() and (steps <= 0).all()),
        f"column {name} runs back in time",
        "rows in the order of time",
        "turn the rows round",
    )
    if back.any():
        row = int(np.flatnonzero(inside)[back.argmax()]) + 2
        return [Note("time goes back", {"name": name, "row": row})]
    uneven = len(steps) > 0 and steps.max() > UNEVEN * np.median(steps)
    return [Note("time uneven", {"name": name})] if uneven else []


def _is_time(name: str, values: np.ndarray, columns: Mapping[str, np.ndarray]) -> bool:
    """Dates, or an index that grows by equal steps beside other columns."""
    if values.dtype.kind == "M":
        return True
    if values.dtype.kind != "f" or len(columns) < 2 or len(values) < 3:
        return False
    if not np.isfinite(values).all():
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() and np.allclose(steps, steps[0]))
