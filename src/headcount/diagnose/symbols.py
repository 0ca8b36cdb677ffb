"""Texts and lists of symbols → `Sequences` of tokens."""

import collections
import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headcount.core.errors import InputError, require
from headcount.diagnose.arrays import ROWS_PER_SYMBOL, SHORTEST, sequences_of
from headcount.diagnose.samples import Note, Sequences

WORD = re.compile(r"\w+|[^\w\s]")
USUAL_WORDS = 512
OTHER = "<other>"


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


def with_answers(
    made: Sequences, parts: Sequence[Sequence[str]], answers: Sequence[Any], name: str
) -> Sequences:
    """Sequences of symbols, each with an answer: a symbol of the same alphabet, or a label."""
    if not answers:
        return made
    require(
        len(made.starts) == len(parts) + 1,
        f"{name}: sequences shorter than {SHORTEST}",
        "longer ones, where each has an answer",
        "drop the short lines",
    )
    words = [str(answer) for answer in answers]
    same = set(words) <= set(made.alphabet)
    kinds = made.alphabet if same else tuple(sorted(set(words)))
    require(
        len(set(words)) > 1, f"{name}: one answer only", "answers that change", "check the file"
    )
    number = {kind: i for i, kind in enumerate(kinds)}
    placed = np.full(len(made.values), -1, np.int64)
    placed[made.starts[1:] - 1] = [number[word] for word in words]
    return dataclasses.replace(made, answers=placed, labels=kinds)


def _most(tokens: str | None, total: int, size: int) -> int:
    """How many symbols are kept."""
    if tokens is not None and tokens.startswith("top-"):
        return int(tokens.removeprefix("top-"))
    if tokens == "words":
        return max(2, min(USUAL_WORDS, total // ROWS_PER_SYMBOL))
    require(
        size * ROWS_PER_SYMBOL <= total,
        f"{size} different tokens in {total} elements",
        f"at most {total // ROWS_PER_SYMBOL}",
        "keep the most frequent with --tokens top-k, for example --tokens top-64",
    )
    return size


def with_notes(made: Sequences, notes: Iterable[Note]) -> Sequences:
    return dataclasses.replace(made, notes=(*made.notes, *notes))
