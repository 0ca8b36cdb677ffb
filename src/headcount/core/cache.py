"""Answers kept on disk: what was asked before is read again instead of computed.

    @cached
    def answer(problem: Problem, heads: int) -> Answer: ...

Key. The hash of the question (the function's name and all its arguments, defaults filled in), of
the code (every source file of this package), of the packages that compute, and of the precision
that jax is set to. Whatever changes one of them asks anew, so that no answer is stale. The question
is stored beside its answer and compared, so that two questions never share one.

What is not kept. Arguments that are not plain values, arrays, enums, or records of this package
(a user's own class may change without our seeing it): such a call computes as if there were no
cache. The same where a source file changed after this process began: what runs is then not what
the hash would say. Exceptions are not kept either, nor answers that `keep` refuses.

Place. `$HEADCOUNT_CACHE`, or `$XDG_CACHE_HOME/headcount`, or `~/.cache/headcount`; `off` is none.
Values are pickled: they come back exactly, whatever their type. Reading a pickle runs what its
writer chose, so the folder must belong to the user alone (0700); another one is not used.

Many processes. An entry is one file, written beside its place and renamed: readers see a whole one
or none. It holds the digest of its own bytes; a damaged entry is a miss and is removed. Beyond
`HEADCOUNT_CACHE_MB` (256) the entries that were not read for longest go.
"""

import contextlib
import dataclasses
import enum
import functools
import hashlib
import inspect
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from headcount.core.errors import InputError, require
from headcount.core.source_code import PACKAGE, Changed, computing, source_hash

P = ParamSpec("P")
R = TypeVar("R")

SWITCH, LIMIT = "HEADCOUNT_CACHE", "HEADCOUNT_CACHE_MB"
MEGABYTES = 256
LEFT_AFTER_TRIM = 0.9  # of the limit
STORES_PER_TRIM = 32  # the folder's size is looked at no more often than that
MAGIC = b"headcount answer 1\n"
DIGEST = 32


class Uncached(Exception):
    """A question that has no key."""


@dataclasses.dataclass(frozen=True)
class Contents:
    """What the cache holds: `folder` is None where it is switched off or unusable."""

    folder: Path | None
    entries: int
    size: int  # bytes
    limit: int  # bytes


@overload
def cached(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def cached(
    *, ignore: tuple[str, ...] = (), keep: Callable[[Any], bool] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def cached(
    function: Any = None, *, ignore: tuple[str, ...] = (), keep: Callable[[Any], bool] | None = None
) -> Any:
    """A pure function whose answers are kept on disk.

    ignore: arguments that do not change the answer (a progress callback), not part of the key.
    keep: whether an answer is worth keeping (not one that ^C cut short). `function.uncached` is
    the function itself; `function.kept(…)` says whether there is an answer, and which.
    """
    if function is None:
        return functools.partial(cached, ignore=ignore, keep=keep)
    signature = inspect.signature(function)
    name = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def answer(*args: Any, **kwargs: Any) -> Any:
        store = _Store.open()
        asked = _question(name, signature, args, kwargs, ignore) if store else None
        if store is None or asked is None:
            return function(*args, **kwargs)
        found, value = store.read(asked)
        if not found:
            value = function(*args, **kwargs)
            if keep is None or keep(value):
                store.write(asked, value)
        return value

    def kept(*args: Any, **kwargs: Any) -> tuple[bool, Any]:
        store = _Store.open()
        asked = _question(name, signature, args, kwargs, ignore) if store else None
        return (False, None) if store is None or asked is None else store.read(asked)

    answer.uncached = function  # type: ignore[attr-defined]
    answer.kept = kept  # type: ignore[attr-defined]
    return answer


def contents() -> Contents:
    """How much the cache holds, and where."""
    folder, limit = _folder(), _limit()
    if folder is None or not folder.is_dir():
        return Contents(folder, 0, 0, limit)
    sizes = [size for _, size, _ in _entries(folder)]
    return Contents(folder, len(sizes), sum(sizes), limit)


def clear() -> Contents:
    """Remove every entry; what was there is returned."""
    before = contents()
    if before.folder is not None:
        for path, _, _ in _entries(before.folder):
            path.unlink(missing_ok=True)
    return before


# The question


def _question(
    name: str,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ignore: tuple[str, ...],
) -> bytes | None:
    """Everything that the answer depends on, as bytes; None where that cannot be said."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None  # the function itself says what is wrong
    bound.apply_defaults()
    given = {k: v for k, v in bound.arguments.items() if k not in ignore}
    try:
        asked = (name, source_hash(), computing(), _precision(), given)
        return "\n".join(_written(asked)).encode("utf-8", "surrogatepass")
    except (Uncached, Changed):
        return None


def _written(value: Any) -> Iterator[str]:
    """A value as words that no other value is written as: types are told apart (1, 1.0, True), and
    every sequence says its length.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes, Fraction):
        yield f"{kind.__name__} {value!r}"
    elif isinstance(value, enum.Enum) and _ours(kind):
        yield f"{_name(kind)} {value.name}"
    elif kind in (tuple, list):
        yield f"{kind.__name__} {len(value)}"
        for item in value:
            yield from _written(item)
    elif kind in (set, frozenset):
        yield f"{kind.__name__} {len(value)}"
        yield from sorted("\x00".join(_written(item)) for item in value)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}"
        pairs = [("\x00".join(_written(k)), item) for k, item in value.items()]
        for key, item in sorted(pairs, key=lambda pair: pair[0]):
            yield key
            yield from _written(item)
    elif kind.__module__ == "numpy" and hasattr(value, "tobytes"):
        if value.dtype.hasobject:
            raise Uncached
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        yield f"array {value.dtype.str} {value.shape} {digest}"
    elif kind.__module__.startswith("flint"):
        yield f"flint {kind.__name__} {value!r}"
    elif _ours(kind):
        yield _name(kind)
        yield from _written(_fields(value))
    else:
        raise Uncached(f"a {kind.__name__}")


def _ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == PACKAGE.name


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a frozen record or a spec."""
    if dataclasses.is_dataclass(value):
        if not getattr(type(value), "__dataclass_params__").frozen:  # noqa: B009 — not typed
            raise Uncached
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)
    if names is None:
        raise Uncached
    return {name: getattr(value, name) for name in names}


def _precision() -> bool:
    """Does jax compute in float64? Known without importing it: the default is 32 bits."""
    jax = sys.modules.get("jax")
    if jax is not None and hasattr(jax, "config"):
        return bool(jax.config.jax_enable_x64)
    return os.environ.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "yes", "on")


# The folder


def _folder() -> Path | None:
    asked = os.environ.get(SWITCH, "").strip()
    if asked.lower() == "off":
        return None
    if asked:
        return Path(asked).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "headcount"
    except RuntimeError:  # no home
        return None


def _limit() -> int:
    """Bytes."""
    asked = os.environ.get(LIMIT, str(MEGABYTES))
    fine = asked.isascii() and asked.isdigit() and 0 < int(asked) < 10**7
    require(fine, f"{LIMIT}={asked}", "a whole number of megabytes", f"set it to {MEGABYTES}")
    return int(asked) * 1_000_000


def _entries(folder: Path) -> Iterator[tuple[Path, int, float]]:
    """Path, size and time of the last reading of each entry, and of what a killed process left."""
    for part in _scan(folder):
        if len(part.name) == 2 and part.is_dir(follow_symlinks=False):
            for entry in _scan(Path(part.path)):
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        yield Path(entry.path), info.st_size, info.st_mtime


def _scan(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


@dataclasses.dataclass
class _Store:
    """A folder that is ours."""

    folder: Path
    limit: int
    writes: int = 0

    @classmethod
    def open(cls) -> "_Store | None":
        folder = _folder()
        return None if folder is None else cls._at(folder, _limit())

    @staticmethod
    @functools.lru_cache(maxsize=8)
    def _at(folder: Path, limit: int) -> "_Store | None":
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            info = folder.stat()
        except OSError:
            return None
        # a pickle that someone else wrote would run as us
        alone = not hasattr(os, "getuid") or (
            info.st_uid == os.getuid() and not info.st_mode & 0o022
        )
        return _Store(folder, limit) if alone else None

    def _path(self, asked: bytes) -> Path:
        key = hashlib.sha256(asked).hexdigest()
        return self.folder / key[:2] / key[2:]

    def read(self, asked: bytes) -> tuple[bool, Any]:
        """Whether there is an answer, and the answer."""
        path = self._path(asked)
        try:
            data = path.read_bytes()
        except OSError:
            return False, None
        try:
            question, value = pickle.loads(_whole(data))
        except Exception:  # damaged, or of classes that are gone: no answer
            path.unlink(missing_ok=True)
            return False, None
        if question != asked:
            return False, None
        with contextlib.suppress(OSError):
            os.utime(path)  # read now: the last to go
        return True, value

    def write(self, asked: bytes, value: Any) -> None:
        """Keep an answer if that is possible; a full disk or a value that cannot be pickled is no
        reason to fail.
        """
        try:
            body = pickle.dumps((asked, value), protocol=pickle.HIGHEST_PROTOCOL)
        except Exception:
            return
        if len(body) > self.limit // 8:
            return
        path = self._path(asked)
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            handle, work = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(MAGIC + hashlib.sha256(body).digest() + body)
                os.replace(work, path)
            except BaseException:
                Path(work).unlink(missing_ok=True)
                raise
            if self.writes % STORES_PER_TRIM == 0:
                self._trim()
            self.writes += 1

    def _trim(self) -> None:
        """Down to the limit, the longest unread first."""
        entries = sorted(_entries(self.folder), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for path, size, _ in entries:
            if total <= LEFT_AFTER_TRIM * self.limit:
                return
            path.unlink(missing_ok=True)
            total -= size


def _whole(data: bytes) -> bytes:
    """The body of an entry whose digest is right."""
    start = len(MAGIC)
    body = data[start + DIGEST :]
    if data[:start] != MAGIC or hashlib.sha256(body).digest() != data[start : start + DIGEST]:
        raise InputError("a damaged entry", "a whole one", "ask again")
    return body
