"""The code that runs, as a hash: what was computed by other code is computed anew.

Answers on disk (`core.cache`) and figures in a store (`experiments.computed`) are kept under it.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import time
from pathlib import Path

import headcount

PACKAGE = Path(headcount.__file__).parent
COMPUTING = ("numpy", "scipy", "python-flint", "jax", "jaxlib")
RACY_NS = 2_000_000_000  # a file that changed this lately may change again within its timestamp


class Changed(Exception):
    """A source file changed after this process began: what runs is not what a hash would say."""


def source_hash() -> str:
    """The hash of this package's sources. Files are looked at each time, and read only where one of
    them is not as it was.
    """
    seen, latest = _look()
    if latest >= _began():
        raise Changed
    return _hash_of(seen)


@functools.cache
def computing() -> tuple[str, ...]:
    """The packages whose numbers are in an answer, and what they run on."""
    found = [f"python {platform.python_version()} {platform.machine()}"]
    for package in COMPUTING:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{package} {importlib.metadata.version(package)}")
    return tuple(found)


def _look() -> tuple[tuple[tuple[str, int, int, int, int], ...], int]:
    """Name, size, inode and both times of every source file, and the latest of these times."""
    seen, latest = [], 0
    for folder, folders, names in os.walk(PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            info = os.stat(path)
            times = info.st_mtime_ns, info.st_ctime_ns
            seen.append((os.path.relpath(path, PACKAGE), info.st_size, info.st_ino, *times))
            latest = max(latest, *times)
    return tuple(seen), latest


@functools.lru_cache(maxsize=2)
def _hash_of(seen: tuple[tuple[str, int, int, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for name, *_ in seen:
        data = (PACKAGE / name).read_bytes()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


_IMPORTED_NS = time.time_ns()


@functools.cache
def _began() -> int:
    """When this process began, in ns of the clock that files use; where that is not told, when this
    module was loaded.
    """
    try:
        ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        up = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        age = up - ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        return time.time_ns() - age - RACY_NS // 100
    except (OSError, ValueError, IndexError, AttributeError):
        return _IMPORTED_NS - RACY_NS
