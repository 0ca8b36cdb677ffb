"""Files and frames → `Sequences`.

.npy .npz      x: [T], [n, S] or [n, S, d]; .npz may hold y
.csv .parquet  one column per channel, with or without a header; a column of dates is time
.txt, folder   text, as bytes or words
.jsonl         one list of tokens or numbers per line, or {"x": …, "y": …}
frames         pandas or polars
"""

import json
from pathlib import Path

import numpy as np

from headcount.core.array_files import read_arrays
from headcount.core.errors import InputError, require
from headcount.diagnose.arrays import sequences_of
from headcount.diagnose.columns import csv_columns, from_columns, parquet_columns
from headcount.diagnose.samples import Sequences
from headcount.diagnose.symbols import symbols_of, text_of, with_answers

LARGEST_FILE, LARGEST_LINES = 2**31, 2**28  # bytes; of lists in JSON, which take far more
COLUMNS = (".csv", ".tsv", ".parquet")
TEXTS = (".txt", ".py", ".md", ".rst", ".text")


def read(
    path: Path, *, target: str | None = None, segments: str | None = None, tokens: str | None = None
) -> Sequences:
    """Sequences from a file or folder, whatever its kind."""
    require(path.exists(), f"{path} does not exist", "a file or folder", "check the path")
    if path.is_dir():
        _check_wish(tokens)
        return text_of(_texts(path), tokens)
    require(
        path.stat().st_size <= LARGEST_FILE,
        f"{path} has {path.stat().st_size:,} bytes",
        f"at most {LARGEST_FILE:,}",
        "pass a part of it",
    )
    require(path.stat().st_size > 0, f"{path} is empty", "some data", "check the file")
    kind = path.suffix.lower()
    if kind not in COLUMNS:
        for option, value in (("--target", target), ("--segments", segments)):
            require(
                value is None,
                f"{option} {value} for {path.name}",
                f"{' '.join(COLUMNS)}: only these have columns",
                f"leave {option} out",
            )
    _check_wish(tokens)
    if kind in (".npy", ".npz"):
        return _array_file(path, tokens)
    if kind == ".parquet":
        return from_columns(parquet_columns(path), target, segments, tokens)
    if kind in (".csv", ".tsv"):
        return from_columns(csv_columns(path), target, segments, tokens)
    if kind == ".jsonl":
        return _jsonl(path, tokens)
    require(
        kind in TEXTS,
        f"{path.name}: ending {kind or '(none)'}",
        ".npy, .npz, .csv, .tsv, .parquet, .jsonl, .txt or a folder of texts",
        "convert or rename it",
    )
    return text_of([path.read_bytes()], tokens)


def _check_wish(tokens: str | None) -> None:
    """--tokens, whatever the file."""
    top = tokens is not None and tokens.removeprefix("top-")
    number = top and top != tokens and top.isdigit() and int(top) >= 2
    require(
        tokens in (None, "words", "bytes") or number,
        f"--tokens {tokens}",
        "words, bytes or top-k",
        "for example --tokens top-64",
    )


def _array_file(path: Path, tokens: str | None) -> Sequences:
    loaded = read_arrays(path, "numbers saved by numpy", "save them with numpy.save or numpy.savez")
    if "" in loaded:
        return sequences_of(loaded[""], tokens=_asked(tokens))
    names = list(loaded)
    x = loaded["x"] if "x" in names else loaded[names[0]] if len(names) == 1 else None
    require(
        x is not None,
        f"{path.name} holds {', '.join(names) or 'nothing'}",
        "x (and y)",
        "rename them",
    )
    return sequences_of(x, loaded["y"] if "y" in names else None, tokens=_asked(tokens))


def _asked(tokens: str | None) -> bool | None:
    """For numbers: any wish about tokens means that they are tokens."""
    return None if tokens is None else True


def _texts(folder: Path) -> list[bytes]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix.lower() in TEXTS)
    require(files, f"{folder} holds no texts", f"files ending in {', '.join(TEXTS)}", "check it")
    total = sum(p.stat().st_size for p in files)
    require(
        total <= LARGEST_FILE, f"{total:,} bytes", f"at most {LARGEST_FILE:,}", "pass fewer files"
    )
    return [p.read_bytes() for p in files]


def _jsonl(path: Path, tokens: str | None) -> Sequences:
    parts, answers = [], []
    size = path.stat().st_size
    require(
        size <= LARGEST_LINES,
        f"{path.name} has {size:,} bytes",
        f"at most {LARGEST_LINES:,} of JSON",
        "pass a part of it, or .npy",
    )
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # other breaks are letters of a text
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is no text", "one JSON list per line", "check it") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
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
        return with_answers(symbols_of(parts, tokens), parts, answers, path.name)
    mixed = ", ".join(sorted(kind.__name__ for kind in kinds))
    require(
        kinds <= {int, float},
        f"{path.name} mixes {mixed}",
        "one kind of value",
        "make all elements numbers or all strings",
    )
    numbers = [np.array(part) for part in parts]
    return sequences_of(numbers, answers or None, tokens=_asked(tokens))
