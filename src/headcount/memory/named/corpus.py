"""A byte corpus from a folder of Python sources: which files, in which order, and which of them are kept for testing.

Everything is decided by the hash of a file's relative path, so the same folder gives the same corpus on any machine,
a smaller corpus is nearly a part of a larger one, and no file is in both splits.
"""

import dataclasses
import functools
import hashlib
import os
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
    """Bytes of both splits, each file closed by `END_OF_FILE`; relative paths of the files; one hash over all bytes."""

    train: np.ndarray  # [bytes] uint8
    test: np.ndarray  # [bytes] uint8
    train_files: tuple[str, ...]
    test_files: tuple[str, ...]
    sha256: str


def _sources(root: Path) -> list[str]:
    """Relative paths of the sources below `root`, in the order of their hashes."""
    found = []
    for folder, below, files in os.walk(root):
        below[:] = [name for name in below if name not in SKIPPED_FOLDERS and not name.startswith(SKIPPED_PREFIXES)]
        sources = (name for name in files if name.endswith(".py") and not name.startswith(SKIPPED_PREFIXES))
        found += [(Path(folder) / name).relative_to(root).as_posix() for name in sources]
    return sorted(found, key=lambda path: hashlib.sha256(path.encode()).digest())


@functools.lru_cache(maxsize=4)
def python_corpus(root: Path, megabytes: float) -> Corpus:
    """Sources below `root`, at most `megabytes` in all: every tenth file, in hash order, is for testing."""
    require(megabytes > 0, f"{megabytes} megabytes", "more than 0", "ask for a larger corpus")
    room = int(megabytes * 1e6)
    pieces: list[tuple[str, np.ndarray]] = []
    for path in _sources(root):
        try:
            data = (root / path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path} ({error.strerror})", "readable *.py files", "check the installation of Python") from None
        if 0 < len(data) < room:  # a file too large for what is left is passed over
            pieces.append((path, np.append(np.minimum(np.frombuffer(data, np.uint8), LARGEST_BYTE), np.uint8(END_OF_FILE))))
            room -= len(data) + 1
    require(
        len(pieces) >= 2,
        f"{len(pieces)} usable *.py files for {megabytes} megabytes",
        "at least 2 (one for training, one for testing)",
        "install the sources of the standard library, or ask for more megabytes",
    )
    for_test = pieces[::ONE_IN]
    for_train = [piece for i, piece in enumerate(pieces) if i % ONE_IN]
    train, test = (np.concatenate([data for _, data in split]) for split in (for_train, for_test))
    digest = hashlib.sha256(train.tobytes() + test.tobytes()).hexdigest()
    return Corpus(train, test, tuple(path for path, _ in for_train), tuple(path for path, _ in for_test), digest)
