"""Reading spec files and writing whole folders or nothing."""

import contextlib
import errno
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headcount.core.errors import InputError, require, shown

SPEC_ENDINGS = (".toml", ".yaml", ".yml", ".json")
MERGE_TAG = "tag:yaml.org,2002:merge"
LARGEST_TEXT = 4 * 10**6  # bytes of a file that is read as text
LARGEST_SPEC, DEEPEST_SPEC = 200_000, 32  # values of a spec file, and levels
WORKING_SUFFIX = 16  # letters that the working folder's name has more than the final one


def read_mapping(path: Path) -> dict[str, Any]:
    """A TOML, YAML or JSON file as a mapping of names, of a bounded size."""
    text = read_text(path)
    try:
        if path.suffix == ".toml":
            values = tomllib.loads(text)
        elif path.suffix == ".json":
            values = json.loads(text, object_pairs_hook=_unique)
        else:
            values = _yaml(text)
        _refuse_large(values, LARGEST_SPEC, DEEPEST_SPEC)
    except Exception as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(
            f"{path} cannot be parsed ({' '.join(reason[:500].split())})",
            f"valid {path.suffix[1:].upper()}",
            "correct the file",
        ) from None
    require(
        isinstance(values, dict),
        f"{path} holds {'nothing' if values is None else f'a {type(values).__name__}'}",
        "a mapping of keys to values",
        "write key = value lines",
    )
    return values


def _unique(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """A mapping whose keys are names, each once."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise ValueError(f"the key {shown(key)} is no text: put it in quotes")
        if key in values:
            raise ValueError(f"the key {shown(key)} stands twice")
        values[key] = value
    return values


def _yaml(text: str) -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as quick, where built

    class Loader(base):
        """Refuses what YAML lets pass in silence: keys that stand twice or are no text."""

    def mapping(loader: Any, node: Any) -> dict[str, Any]:
        """`<<: *base` as well: what is written beside it wins over the base."""
        merged: dict[str, Any] = {}
        written: list[tuple[Any, Any]] = []
        for key, value in node.value:
            made = loader.construct_object(value, deep=True)
            if key.tag == MERGE_TAG:
                for base in reversed(made) if isinstance(made, list) else [made]:
                    merged.update(base)
            else:
                written.append((loader.construct_object(key, deep=True), made))
        return {**merged, **_unique(written)}

    depth = 0
    for event in yaml.parse(text, base):  # composing is recursive, in C: too deep would crash
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST_SPEC:
            raise RecursionError
    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return yaml.load(text, Loader)


def _refuse_large(values: Any, most: int, deepest: int) -> int:
    """How many values there are when every alias is written out; refused before that is done."""
    sizes: dict[int, int] = {}

    def size(value: Any, depth: int) -> int:
        if not isinstance(value, (dict, list)):
            return 1
        if depth > deepest:
            raise ValueError(f"nested more than {deepest} deep")
        if id(value) not in sizes:
            inner = value.values() if isinstance(value, dict) else value
            sizes[id(value)] = 1 + sum(size(item, depth + 1) for item in inner)
        if sizes[id(value)] > most:
            raise ValueError(f"more than {most} values")
        return sizes[id(value)]

    return size(values, 0)


def read_text(path: Path) -> str:
    """A text file, or an `InputError` that says why not."""
    try:
        refuse_endless(path)
        if path.stat().st_size > LARGEST_TEXT:
            raise OSError(0, f"{path.stat().st_size / 1e6:.0f} MB, at most {LARGEST_TEXT / 1e6:g}")
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a name with a null byte
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(
            f"cannot read {path} ({reason})", "a readable text file", "check the path"
        ) from None


def refuse_endless(path: Path) -> None:
    """An `OSError` for a pipe, a device or a folder: there is no end that we could wait for."""
    if path.exists() and not path.is_file():
        raise OSError(0, "not a file")


def refuse_occupied(path: Path, sign: str = "config.json") -> None:
    """Refuse, before any work, a place where a folder could not be written in the end: one that
    holds something else than ours (ours holds the file `sign`, or nothing), or that cannot be made.
    """
    with _writable(path):
        ours = not os.path.lexists(path) or (
            path.is_dir()
            and not path.is_symlink()
            and ((path / sign).is_file() or not any(path.iterdir()))
        )
    require(
        ours, f"{path} exists and is no saved model", "a new folder name", "choose another place"
    )
    refuse_unwritable(path, path.absolute().parent)  # the whole folder is moved to its place


def refuse_unwritable(path: Path, begin: Path | None = None) -> None:
    """Refuse, before any work, a folder that could not be made or written to in the end. `begin`:
    the first place that is written to (the folder itself).
    """
    with _writable(path):
        nearest = path.absolute() if begin is None else begin
        while not os.path.lexists(nearest):
            nearest = nearest.parent
        if not nearest.is_dir():
            raise NotADirectoryError(0, f"{nearest} is no folder")
        if "\0" in str(path):
            raise ValueError("a name with a null byte")
        with tempfile.TemporaryDirectory(prefix=".headcount.", dir=nearest):
            pass  # the surest way to learn that a folder can be made here
        longest = os.pathconf(nearest, "PC_NAME_MAX") - WORKING_SUFFIX
        if any(len(os.fsencode(part)) > longest for part in path.parts):
            raise OSError(0, f"a name has more than {longest} bytes")


def ready_folder(path: str | Path) -> Path:
    """The folder, made if need be, or one line that says why it cannot be written to."""
    place = Path(path)
    refuse_unwritable(place)
    with _writable(place):
        place.mkdir(parents=True, exist_ok=True)
    return place


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:  # null bytes; links in a circle
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot write to {path} ({reason})", "a writable folder", "choose another place"
        ) from None


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder that appears at `path` complete, or not at all.

    Work goes to a sibling that is renamed at the end; an exception leaves nothing behind. A folder
    that is already there is replaced only if it is one of ours (it holds a `config.json`).
    """
    refuse_occupied(path)
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with _full_disk(path):
            work.chmod(0o755)
            yield work
        if os.path.lexists(path):
            old = work.with_name(work.name + ".old")
            os.rename(path, old)
            os.rename(work, path)
            shutil.rmtree(old)
        else:
            os.rename(work, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """A file that appears complete, or stays what it was."""
    working = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            working = Path(file.name)
            file.write(content)
        working.chmod(0o644)
        working.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({error.strerror or error})",
            "a writable file and room for it",
            "choose another place",
        ) from None
    finally:
        if working is not None:
            working.unlink(missing_ok=True)


@contextlib.contextmanager
def _full_disk(path: Path) -> Iterator[None]:
    """A disk that fills up is no bug: one line, and what was begun is taken away."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO):
            raise
        raise InputError(
            f"cannot write to {path} ({error.strerror})",
            "room on the disk",
            "make room or choose another place",
        ) from None
