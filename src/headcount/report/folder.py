"""Writing many files into a folder that others use too (the store lies beside them), safely.

`core.files.whole_folder` replaces a folder; an output folder must not be replaced, since the runs
are in it. Here every file is first written to a hidden sibling folder, so that an error while
making them changes nothing; then each is renamed into place, which is atomic by file. A hidden list
of what was written makes three promises possible: a file that somebody else put there is never
overwritten, files of an earlier report that are not part of this one are removed, and an
interruption at any point leaves a folder that the next writing repairs (during the renames the list
holds old and new).
"""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from headcount.core.errors import InputError, require
from headcount.core.files import refuse_unwritable

LIST = ".headcount-report.json"


REPORTS = ("report.html", "report.md")  # what every report is written to


def refuse_taken(folder: Path, names: Iterable[str] = REPORTS) -> None:
    """Refuse, before hours of work and not after, a folder where a report could not be written:
    one that cannot be made, or that holds somebody else's file of one of these names. Nothing is
    made here.
    """
    refuse_unwritable(folder)
    _refuse_foreign(folder, names, written(folder) if folder.is_dir() else ())


def ready(folder: Path) -> None:
    """The folder, made if need be, and seen to take a report."""
    refuse_taken(folder)
    _scratch(folder).rmdir()


def _refuse_foreign(folder: Path, names: Iterable[str], ours: Collection[str]) -> None:
    for name in names:
        place = folder / name
        require(
            name in ours or not place.exists(),
            f"{place} exists and is not from an earlier report",
            "a free place",
            "choose another folder",
        )


def _scratch(folder: Path) -> Path:
    """A hidden new folder inside `folder`, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".report.", dir=folder))
    except OSError as error:
        raise InputError(
            f"cannot write to {folder} ({error.strerror})",
            "a writable folder",
            "choose another place",
        ) from None


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` (relative path → content) into `folder`, which is made if need be."""
    for name in files:
        require(
            _inside(name),
            f"file name {name!r}",
            "a path inside the folder",
            "no '..', not absolute",
        )
    ours = written(folder)
    _refuse_foreign(folder, files, ours)
    work = _scratch(folder)
    try:
        _move_in(folder, work, files, ours)
    except OSError as error:
        raise InputError(
            f"cannot write to {folder} ({error.strerror})",
            "a writable folder with room",
            "choose another place",
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def written(folder: Path) -> set[str]:
    """What an earlier report wrote here; a list that cannot be read counts as none."""
    try:
        names = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return (
        {name for name in names if isinstance(name, str) and _inside(name)}
        if isinstance(names, list)
        else set()
    )


def _move_in(folder: Path, work: Path, files: Mapping[str, bytes], ours: set[str]) -> None:
    for name, content in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(content)
    _list(folder, work, ours | set(files))
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(work / name, folder / name)
    for name in sorted(ours - set(files)):
        (folder / name).unlink(missing_ok=True)
    _list(folder, work, set(files))


def _list(folder: Path, work: Path, names: set[str]) -> None:
    (work / LIST).write_text(json.dumps(sorted(names), indent=0), encoding="utf-8")
    os.replace(work / LIST, folder / LIST)


def _inside(name: str) -> bool:
    path = Path(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and name != LIST
