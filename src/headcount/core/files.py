"""Reading spec files and writing whole folders or nothing."""

import contextlib
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headcount.core.errors import InputError, require

SPEC_ENDINGS = (".toml", ".yaml", ".yml", ".json")


def read_mapping(path: Path) -> dict[str, Any]:
    """A TOML, YAML or JSON file as a mapping."""
    text = read_text(path)
    try:
        if path.suffix == ".toml":
            values = tomllib.loads(text)
        elif path.suffix == ".json":
            values = json.loads(text)
        else:
            import yaml

            values = yaml.safe_load(text)
    except Exception as error:
        raise InputError(
            f"{path} cannot be parsed ({' '.join(str(error).split())})",
            f"valid {path.suffix[1:].upper()}",
            "correct the file",
        ) from None
    require(
        isinstance(values, dict),
        f"{path} holds a {type(values).__name__}",
        "a mapping of keys to values",
        "write key = value lines",
    )
    return values


def read_text(path: Path) -> str:
    """A text file, or an `InputError` that says why not."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(
            f"cannot read {path} ({reason})", "a readable text file", "check the path"
        ) from None


def refuse_occupied(path: Path) -> None:
    """A folder that is already there is replaced only if it is one of ours (it holds a
    `config.json`) or empty.
    """
    ours = not path.exists() or (
        path.is_dir() and ((path / "config.json").exists() or not any(path.iterdir()))
    )
    require(
        ours, f"{path} exists and is no saved model", "a new folder name", "choose another place"
    )


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder that appears at `path` complete, or not at all.

    Work goes to a sibling that is renamed at the end; an exception leaves nothing behind. A folder
    that is already there is replaced only if it is one of ours (it holds a `config.json`).
    """
    refuse_occupied(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InputError(
            f"cannot write to {path.parent} ({error.strerror})",
            "a writable folder",
            "choose another place",
        ) from None
    try:
        work.chmod(0o755)
        yield work
        if path.exists():
            old = work.with_name(work.name + ".old")
            os.rename(path, old)
            os.rename(work, path)
            shutil.rmtree(old)
        else:
            os.rename(work, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
