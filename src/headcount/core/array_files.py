"""Arrays from files that others wrote: refused in one line, whatever is wrong with them."""

import contextlib
import os
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np

from headcount.core.errors import InputError, require
from headcount.core.files import refuse_endless
from headcount.core.sizes import require_memory

# What numpy and the zip reader raise for a file that is none of theirs: the header is parsed as
# Python, the members are unpacked.
DAMAGE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    MemoryError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


BEGINNINGS = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")  # of .npy, .npz, an empty .npz


def read_arrays(path: str | os.PathLike[str], wanted: str, fix: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz by name; the one of an .npy under the name ''.

    An .npy is mapped, so that a header which promises more than the file holds is refused before
    anything is read; the members of an .npz are read where they fit in memory.
    """
    file = Path(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of old versions are told by a warning
            refuse_endless(file)
            loaded = np.load(file, allow_pickle=False, mmap_mode="r")
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            with loaded:
                _refuse_large(file)
                return {name: np.asarray(loaded[name]) for name in loaded.files}
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(f"cannot read {path} ({_fault(file, error)})", wanted, fix) from None


def _fault(file: Path, error: BaseException) -> str:
    """What is wrong, in our words: numpy's give advice that is none, such as to allow pickles."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    with contextlib.suppress(OSError), file.open("rb") as begun:
        if not begun.read(max(map(len, BEGINNINGS))).startswith(BEGINNINGS):
            return "not in numpy's format"
    return "damaged, cut short, or of Python objects"


def read_array(path: str | os.PathLike[str], wanted: str, fix: str) -> np.ndarray:
    """The array of an .npy file."""
    held = read_arrays(path, wanted, fix)
    require("" in held, f"{path} holds {', '.join(held) or 'nothing'}", wanted, fix)
    return held[""]


def _refuse_large(file: Path) -> None:
    with zipfile.ZipFile(file) as members:
        size = sum(member.file_size for member in members.infolist())
    require_memory(size, f"{file} unpacked", "save fewer numbers")
