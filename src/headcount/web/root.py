"""The folder that the explorer may read: everything below it, and nothing outside."""

import os
from collections.abc import Iterator
from pathlib import Path

from headcount.core.errors import InputError, require

MOST_LISTED = 200
MOST_SEEN = 20_000  # entries looked at in search of models, stores and reports
DEEPEST = 5
WEIGHTS = ".weights"  # of every run of a store: reached from its runs, not listed one by one


class Root:
    """Names are relative paths with '/' below the root; links that lead out are refused."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder).resolve()
        require(
            self.folder.is_dir(),
            f"root {folder}",
            "an existing folder",
            "create it, or pass --root",
        )

    def inside(self, name: str) -> Path:
        """The path of a name; an `InputError` for one that leads outside."""
        shown = repr(name[:80])
        plain = "\0" not in name and "\\" not in name and not name.startswith(("/", "~"))
        parts = name.split("/")
        plain = plain and all(part not in ("", "..") and ":" not in part for part in parts)
        outside = InputError(shown, "a name below the opened folder", "choose one from the list")
        if not plain:
            raise outside
        try:
            found = (self.folder / name).resolve()
        except (OSError, RuntimeError, ValueError):
            raise outside from None
        if not found.is_relative_to(self.folder):
            raise outside
        return found

    def file(self, folder: Path, name: str) -> Path:
        """The path of a file or a folder beside others in `folder`, which lies below the root; an
        `InputError` where a link leads outside. Whether it is there is for the caller to see.
        """
        try:
            found = (folder / name).resolve()
        except (OSError, RuntimeError, ValueError):
            found = Path(os.devnull)
        require(
            found.is_relative_to(self.folder),
            f"{folder.name}/{name}, a link that leads out of the opened folder",
            "a file below it",
            "copy the file there",
        )
        return found

    def with_files(self, name: str, *files: str) -> Path:
        """The folder of a name, where none of these files in it is a link that leads outside."""
        folder = self.inside(name)
        for file in files:
            self.file(folder, file)
        return folder

    def name(self, path: Path) -> str:
        """The name of a path below the root."""
        return path.relative_to(self.folder).as_posix() or "."

    def holding(self, *files: str) -> list[str]:
        """Folders below the root that hold all these files, sorted; links are not followed."""
        return sorted(
            self.name(folder) for folder, names in self._walk() if set(files) <= set(names)
        )[:MOST_LISTED]

    def ending(self, suffix: str) -> list[str]:
        """Files below the root with this suffix, sorted."""
        return sorted(
            self.name(folder / name)
            for folder, names in self._walk()
            for name in names
            if name.endswith(suffix)
        )[:MOST_LISTED]

    def _walk(self) -> Iterator[tuple[Path, list[str]]]:
        seen = 0
        for here, folders, names in os.walk(self.folder):
            # a name that is no UTF-8 cannot be told, nor asked for
            folders[:] = [name for name in folders if _is_text(name)]
            names = [name for name in names if _is_text(name)]
            path = Path(here)
            deep = len(path.relative_to(self.folder).parts)
            folders[:] = (
                sorted(f for f in folders if not f.startswith(".") and not f.endswith(WEIGHTS))
                if deep < DEEPEST
                else []
            )
            seen += len(folders) + len(names)
            yield path, names
            if seen > MOST_SEEN:
                return


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
