"""Files and frames → `Sequences`.

.npy .npz      x: [T], [n, S] or [n, S, d]; .npz may hold y
.csv .parquet  one column per channel, with or without a header; a column of dates is time
.txt, folder   text, as bytes or words
.jsonl         one list of tokens or numbers per line, or {"x": …, "y": …}
frames         pandas or polars
"""

import collections
import csv
import dataclasses
import datetime
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.errors import InputError, nearest, require
from headcount.diagnose.arrays import ROWS_PER_SYMBOL, SHORTEST, coded, sequences_of
from headcount.diagnose.samples import Note, Sequences

LARGEST_FILE = 2**31
MISSING = {"", "na", "nan", "null", "none", "n/a", "?"}
TEXTS = (".txt", ".py", ".md", ".rst", ".text")
WORD = re.compile(r"\w+|[^\w\s]")
USUAL_WORDS = 512
OTHER = "<other>"
NEXT = "next:"


def read(
    path: Path, *, target: str | None = None, segments: str | None = None, tokens: str | None = None
) -> Sequences:
    """Sequences from a file or folder, whatever its kind."""
    require(path.exists(), f"{path} does not exist", "a file or folder", "check the path")
    if path.is_dir():
        return text_of(_texts(path), tokens)
    require(
        path.stat().st_size <= LARGEST_FILE,
        f"{path} has {path.stat().st_size:,} bytes",
        f"at most {LARGEST_FILE:,}",
        "pass a part of it",
    )
    require(path.stat().st_size > 0, f"{path} is empty", "some data", "check the file")
    kind = path.suffix.lower()
    if kind in (".npy", ".npz"):
        return _array_file(path, tokens)
    if kind == ".parquet":
        return from_columns(_parquet(path), target, segments, tokens)
    if kind in (".csv", ".tsv"):
        return from_columns(_csv(path), target, segments, tokens)
    if kind == ".jsonl":
        return _jsonl(path, tokens)
    require(
        kind in TEXTS,
        f"{path.name}: ending {kind or '(none)'}",
        ".npy, .npz, .csv, .tsv, .parquet, .jsonl, .txt or a folder of texts",
        "convert or rename it",
    )
    return text_of([path.read_bytes()], tokens)


def _array_file(path: Path, tokens: str | None) -> Sequences:
    try:
        # mapped, so that a header which promises more than the file holds is refused
        loaded = np.load(path, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise InputError(
            f"cannot read {path} ({' '.join(str(error).split())[:120]})",
            "numbers saved by numpy",
            "save them with numpy.save or numpy.savez",
        ) from None
    if isinstance(loaded, np.ndarray):
        return sequences_of(loaded, tokens=_asked(tokens))
    names = list(loaded)
    x = loaded["x"] if "x" in names else loaded[names[0]] if len(names) == 1 else None
    require(x is not None, f"{path.name} holds {', '.join(names)}", "x (and y)", "rename them")
    return sequences_of(x, loaded["y"] if "y" in names else None, tokens=_asked(tokens))


def _asked(tokens: str | None) -> bool | None:
    """For numbers: any wish about tokens means that they are tokens."""
    return None if tokens is None else True


def _csv(path: Path) -> dict[str, np.ndarray]:
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
    rows = [row for row in csv.reader(text.splitlines(), dialect) if any(c.strip() for c in row)]
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
    header = header or (len(rows) > 1 and _named(rows))
    names = [c.strip() or f"column{i}" for i, c in enumerate(rows[0])] if header else [
        f"column{i}" for i in range(width)
    ]  # fmt: skip
    require(len(set(names)) == width, f"columns {names}", "different names", "rename them")
    body = rows[1:] if header else rows
    return {name: _column([row[i] for row in body], name) for i, name in enumerate(names)}


def _named(rows: list[list[str]]) -> bool:
    """A first line of words above words that repeat below: a header of a column of symbols."""
    below = collections.Counter(row[0].strip() for row in rows[1:])
    return rows[0][0].strip() not in below and below.most_common(1)[0][1] > 1


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
    try:
        return np.array([datetime.datetime.fromisoformat(c) for c in cells], "datetime64[s]")
    except ValueError:
        return np.array(cells)


def _parquet(path: Path) -> dict[str, np.ndarray]:
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
    if values.dtype.kind in "OUS" and values.dtype.kind != "U":
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
        _named_column(left, wanted)
    for name in [n for n, values in left.items() if _is_time(n, values, left) and n != wanted]:
        del left[name]
        notes.append(Note("time column", {"name": name}))
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
        return _with_notes(symbols_of(parts, tokens), notes)
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
    return _with_notes(coded(_whole(flat), starts, answers, None, tuple(names), place), notes)


def _whole(flat: np.ndarray) -> np.ndarray:
    """Whole numbers as integers, so that few of them are read as symbols."""
    if flat.shape[1] == 1 and np.isfinite(flat).all() and (flat == flat.round()).all():
        few = len(np.unique(flat)) <= 64
        return flat.astype(np.int64) if few else flat
    return flat


def _with_notes(made: Sequences, notes: Iterable[Note]) -> Sequences:
    return dataclasses.replace(made, notes=(*made.notes, *notes))


def _named_column(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    require(
        name in columns,
        f"no column {name!r}{nearest(name, columns)}",
        f"one of {', '.join(columns)}",
        "check the spelling",
    )
    return columns[name]


def _is_time(name: str, values: np.ndarray, columns: Mapping[str, np.ndarray]) -> bool:
    """Dates, or an index that grows by equal steps beside other columns."""
    if values.dtype.kind == "M":
        return True
    if values.dtype.kind != "f" or len(columns) < 2 or len(values) < 3:
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() and np.allclose(steps, steps[0]))


def _texts(folder: Path) -> list[bytes]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix.lower() in TEXTS)
    require(files, f"{folder} holds no texts", f"files ending in {', '.join(TEXTS)}", "check it")
    total = sum(p.stat().st_size for p in files)
    require(
        total <= LARGEST_FILE, f"{total:,} bytes", f"at most {LARGEST_FILE:,}", "pass fewer files"
    )
    return [p.read_bytes() for p in files]


def text_of(texts: Sequence[bytes], tokens: str | None) -> Sequences:
    """Bytes, or words and signs; every text is a sequence."""
    if tokens in (None, "bytes"):
        parts = [np.frombuffer(text, np.uint8).astype(np.int64) for text in texts]
        parts = [part for part in parts if len(part) >= SHORTEST]
        require(parts, "texts without content", f"at least {SHORTEST} bytes", "check the files")
        made = sequences_of(parts if len(parts) > 1 else parts[0], tokens=True)
        return made
    try:
        words = [WORD.findall(text.decode("utf-8")) for text in texts]
    except UnicodeDecodeError:
        raise InputError("a text that is not UTF-8", "UTF-8 text", "use --tokens bytes") from None
    return symbols_of(words, tokens)


def symbols_of(parts: Sequence[Sequence[str]], tokens: str | None) -> Sequences:
    """Sequences of symbols; rare ones become one where the alphabet is too large."""
    kept = [part for part in parts if len(part) >= SHORTEST]
    require(kept, "sequences shorter than 8 symbols", "longer ones", "check the data")
    counts = collections.Counter(symbol for part in kept for symbol in part)
    total = sum(counts.values())
    most, notes = _most(tokens, total, len(counts)), []
    alphabet = sorted(symbol for symbol, _ in counts.most_common(most))
    if len(counts) > most:
        share = sum(counts[symbol] for symbol in alphabet) / total
        notes.append(Note("alphabet cut", {"kept": most, "share": share}))
        alphabet = [*alphabet, OTHER]
    if len(kept) < len(parts):
        notes.append(Note("sequences dropped", {"count": len(parts) - len(kept)}))
    number = {symbol: i for i, symbol in enumerate(alphabet)}
    rest = number.get(OTHER, 0)
    flat = np.array([number.get(symbol, rest) for part in kept for symbol in part], np.int64)
    require(len(np.unique(flat)) > 1, "one symbol only", "values that change", "check the data")
    starts = np.concatenate([[0], np.cumsum([len(part) for part in kept])])
    return Sequences(flat, starts, alphabet=tuple(alphabet), notes=tuple(notes))


def _most(tokens: str | None, total: int, size: int) -> int:
    """How many symbols are kept."""
    if tokens is not None and tokens.startswith("top-"):
        word = tokens.removeprefix("top-")
        require(
            word.isdigit() and int(word) >= 2, f"--tokens {tokens}", "top-k", "for example top-64"
        )
        return int(word)
    require(
        tokens in (None, "words", "bytes"),
        f"--tokens {tokens}",
        "words, bytes or top-k",
        "for example --tokens top-64",
    )
    if tokens == "words":
        return max(2, min(USUAL_WORDS, total // ROWS_PER_SYMBOL))
    require(
        size * ROWS_PER_SYMBOL <= total,
        f"{size} different tokens in {total} elements",
        f"at most {total // ROWS_PER_SYMBOL}",
        "keep the most frequent with --tokens top-k, for example --tokens top-64",
    )
    return size


def _jsonl(path: Path, tokens: str | None) -> Sequences:
    parts, answers = [], []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is no text", "one JSON list per line", "check it") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            raise InputError(
                f"{path.name} line {number} is no JSON", "a list per line", "correct the line"
            ) from None
        if isinstance(value, dict):
            answers += [value["y"]] if "y" in value else []
            value = value.get("x", value.get("tokens"))
        require(
            isinstance(value, list) and value,
            f"{path.name} line {number}: {type(value).__name__}",
            "a list of tokens or numbers",
            "write [..] or {\"x\": [..], \"y\": ..}",
        )  # fmt: skip
        parts.append(value)
    require(parts, f"{path.name} holds no lines", "one list per line", "check the file")
    require(
        len(answers) in (0, len(parts)),
        f"{len(answers)} answers for {len(parts)} lines",
        "y in all lines or none",
        "add the missing ones",
    )
    kinds = {type(item) for part in parts for item in part}
    if kinds == {str}:
        return symbols_of(parts, tokens)
    mixed = ", ".join(sorted(kind.__name__ for kind in kinds))
    require(
        kinds <= {int, float},
        f"{path.name} mixes {mixed}",
        "one kind of value",
        "make all elements numbers or all strings",
    )
    numbers = [np.array(part) for part in parts]
    return sequences_of(numbers, answers or None, tokens=_asked(tokens))
