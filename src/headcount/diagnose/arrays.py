"""Arrays in memory → `Sequences`, with every refusal in one line."""

from typing import Any

import numpy as np

from headcount.core.errors import InputError, require
from headcount.diagnose.samples import Note, Sequences

FEW_VALUES = 16  # floats with so few different values are symbols
ROWS_PER_SYMBOL = 20
MOST_MISSING = 0.2
SHORTEST = 8
SMALLEST = 1e-100  # size of values
LARGEST = 200_000_000  # numbers


def sequences_of(x: Any, y: Any = None, *, tokens: bool | None = None) -> Sequences:
    """x [T] is one series; [n, S] are n sequences, [n, S, d] with d channels; a list may hold
    sequences of different lengths. y is one answer per element or per sequence; None: the next
    element is the answer. `tokens` True or False overrules the guess by type.
    """
    parts = _parts(x)
    lengths = np.array([len(part) for part in parts])
    one = len(parts) == 1
    require(
        one or lengths.min() >= SHORTEST,
        f"a sequence of {lengths.min()} elements",
        f"at least {SHORTEST} in each",
        "drop the short ones",
    )
    flat = np.concatenate(parts)
    require(
        flat.size <= LARGEST,
        f"{flat.size:,} numbers",
        f"at most {LARGEST:,}",
        "pass a part of the data",
    )
    starts = np.concatenate([[0], np.cumsum(lengths)])
    answers = None if y is None else _answers(y, lengths)
    return coded(flat, starts, answers, tokens)


def coded(
    flat: np.ndarray,
    starts: np.ndarray,
    answers: np.ndarray | None,
    tokens: bool | None,
    channels: tuple[str, ...] | None = None,
    target: int = 0,
) -> Sequences:
    """Tokens where values are symbols, else real values; constants and holes are refused."""
    notes: list[Note] = []
    flat = flat if flat.ndim == 2 else flat[:, None]
    require(flat.shape[1] > 0, "data without columns", "at least one", "check the file")
    flat = _filled(flat, notes)
    if answers is not None:
        finite = not np.isinf(answers).any()
        require(finite, "infinite answers", "finite numbers", "remove or replace them")
        _check_range(answers, "answers")
        _check_constant(answers[~np.isnan(answers)], "the answers")
        require(
            not _equals(flat, answers),
            "answers that equal the input at the same place (lag 0)",
            "a target that is not among the inputs",
            "leave y out to predict the next element, or choose another target",
        )
    else:
        _check_constant(flat[:, target], "the series")
    names = channels or tuple("x" if flat.shape[1] == 1 else f"x{c}" for c in range(flat.shape[1]))
    as_tokens = _symbols(flat, answers, len(flat)) if tokens is None else tokens
    if not as_tokens or flat.shape[1] > 1:
        return Sequences(flat, starts, answers, names, target, notes=tuple(notes))
    values, codes = np.unique(flat[:, 0], return_inverse=True)
    _check_alphabet(len(values), len(flat))
    if flat.dtype.kind == "f" and tokens is None:
        notes.append(Note("read as tokens", {"values": len(values)}))
    labels: tuple[str, ...] = ()
    if answers is not None:
        given = ~np.isnan(answers)
        kinds = np.unique(answers[given])
        if np.isin(kinds, values).all():
            kinds = values  # the same symbols: an answer may repeat what was seen
        numbers = np.searchsorted(kinds, answers[given])
        answers = np.full(len(flat), -1, np.int64)
        answers[given] = numbers
        labels = tuple(f"{kind:g}" for kind in kinds)
    alphabet = tuple(f"{value:g}" for value in values)
    return Sequences(
        codes.astype(np.int64), starts, answers, names, 0, alphabet, labels, tuple(notes)
    )


def _check_alphabet(size: int, rows: int) -> None:
    require(
        size * ROWS_PER_SYMBOL <= rows,
        f"{size} different tokens in {rows} elements",
        f"at most {rows // ROWS_PER_SYMBOL} (20 elements per token)",
        "keep the most frequent with --tokens top-k, for example --tokens top-64",
    )


def _parts(x: Any) -> list[np.ndarray]:
    """The sequences, each [T, d]."""
    ragged = isinstance(x, (list, tuple)) and x and isinstance(x[0], (list, tuple, np.ndarray))
    if ragged and len({len(item) for item in x}) > 1:
        return [_numbers(item, f"sequence {i}") for i, item in enumerate(x)]
    array = np.asarray(x) if not isinstance(x, np.ndarray) else x
    require(
        array.ndim in (1, 2, 3),
        f"x of shape {array.shape}",
        "[T], [n, S] or [n, S, d]",
        "reshape it",
    )
    require(array.size > 0, "x without elements", "some data", "check the file")
    if array.ndim == 1:
        return [_numbers(array, "x")]
    return [_numbers(part, "x") for part in array]


def _numbers(value: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind in "cMm":  # NumPy would drop the imaginary part, and number dates
            raise TypeError
        if array.dtype.kind not in "iufb":
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError):  # whole numbers beyond any float
        raise InputError(
            f"{name} holds something else than real numbers", "numbers", "convert or remove it"
        ) from None
    require(array.ndim in (1, 2), f"{name} of shape {array.shape}", "[T] or [T, d]", "reshape it")
    return (array if array.ndim == 2 else array[:, None]).astype(
        np.int64 if array.dtype.kind in "iub" else np.float64
    )


def _answers(y: Any, lengths: np.ndarray) -> np.ndarray:
    """[T] floats, NaN where there is no answer."""
    if isinstance(y, (list, tuple)) and y and isinstance(y[0], (list, tuple, np.ndarray)):
        flat = np.concatenate([_floats(item) for item in y])
    else:
        flat = _floats(y)
    total, ends = int(lengths.sum()), np.cumsum(lengths) - 1
    if flat.size == total:
        return flat.reshape(-1).copy()
    require(
        flat.size == len(lengths),
        f"{flat.size} answers for {len(lengths)} sequences of {total} elements",
        "one per sequence or one per element",
        "match x and y",
    )
    answers = np.full(total, np.nan)
    answers[ends] = flat.reshape(-1)
    return answers


def _floats(y: Any) -> np.ndarray:
    try:
        flat = np.asarray(y)
        flat = flat.astype(complex if flat.dtype.kind == "c" else float)
    except (TypeError, ValueError, OverflowError):
        flat = np.zeros(1, complex)
    require(
        flat.dtype.kind != "c", "y holds something else than real numbers", "numbers", "code it"
    )
    return np.atleast_1d(flat)


def _filled(flat: np.ndarray, notes: list[Note]) -> np.ndarray:
    """Holes interpolated, if they are few."""
    if flat.dtype.kind != "f":
        return flat
    require(not np.isinf(flat).any(), "infinite values", "finite numbers", "remove or replace them")
    _check_range(flat, "values")
    missing = np.isnan(flat)
    if not missing.any():
        return flat
    share = float(missing.mean())
    require(
        share <= MOST_MISSING,
        f"{100 * share:.0f} % of the values missing",
        f"at most {100 * MOST_MISSING:.0f} %",
        "fill them in or pass a part without holes",
    )
    flat, places = flat.copy(), np.arange(len(flat))
    for c in range(flat.shape[1]):
        hole = missing[:, c]
        if hole.any() and not hole.all():
            flat[hole, c] = np.interp(places[hole], places[~hole], flat[~hole, c])
    notes.append(Note("holes interpolated", {"count": int(missing.sum())}))
    return flat


def _check_range(values: np.ndarray, name: str) -> None:
    """Squares must be numbers too."""
    size = float(np.nanmax(np.abs(values), initial=0.0))
    require(
        size == 0 or SMALLEST <= size <= 1 / SMALLEST,
        f"{name} of size {size:.3g}",
        f"from {SMALLEST:g} to {1 / SMALLEST:g}",
        "change the unit",
    )


def _check_constant(values: np.ndarray, name: str) -> None:
    require(len(values) > 0, f"{name}: no values", "some", "check the data")
    require(
        values.min() < values.max(),
        f"{name}: the constant {values[0]:g}",
        "values that change",
        "there is nothing to explain",
    )


def _equals(flat: np.ndarray, answers: np.ndarray) -> bool:
    given = ~np.isnan(answers)
    here = flat[given]
    return bool(
        len(here) > 2
        and any(
            here[:, c].std() > 0 and abs(np.corrcoef(here[:, c], answers[given])[0, 1]) > 1 - 1e-12
            for c in range(here.shape[1])
        )
    )


def _symbols(flat: np.ndarray, answers: np.ndarray | None, rows: int) -> bool:
    """Integers with few different values, or floats with very few; and answers of the same kind."""
    if flat.shape[1] > 1:
        return False
    most = rows // ROWS_PER_SYMBOL if flat.dtype.kind == "i" else min(FEW_VALUES, rows // 40)
    sample = np.unique(flat)
    if len(sample) > most:
        return False
    if answers is None:
        return True
    given = answers[~np.isnan(answers)]
    if np.isin(given, sample).all():
        return True
    return len(np.unique(given)) <= min(rows // ROWS_PER_SYMBOL, len(given) // 20)
