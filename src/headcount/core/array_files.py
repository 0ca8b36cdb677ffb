"""Arrays from files that others wrote: refused in one line, whatever is wrong with them."""

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
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"cannot read {path} ({said})", wanted, fix) from None


def read_array(path: str | os.PathLike[str], wanted: str, fix: str) -> np.ndarray:
    """The array of an .npy file."""
    held = read_arrays(path, wanted, fix)
    require("" in held, f"{path} holds {', '.join(held) or 'nothing'}", wanted, fix)
    return held[""]


def _refuse_large(file: Path) -> None:
    with zipfile.ZipFile(file) as members:
        size = sum(member.file_size for member in members.infolist())
    require_memory(size, f"{file} unpacked", "save fewer numbers")
