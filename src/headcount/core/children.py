"""Processes that we start: where they look for modules.

`python -c` and `python -m` put the working folder in front of the search path. Whatever lies there
under the name of a module (random.py, numpy.py) would run in place of that module, in a folder that
somebody else may have filled. So every child is told not to; folders that were asked for (the
script's own, PYTHONPATH) stay.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

SAFE_FLAG = "-P"  # of Python: no working folder in front
SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # the same as a variable, which children of children inherit


def asked_path() -> list[str]:
    """The search path of this process without the working folder that Python put there by itself:
    the empty entry of `python -c` and of a prompt, the first one of `python -m headcount`.
    """
    path = list(sys.path)
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    ours = main is not None and main.name.split(".")[0] == __name__.split(".")[0]
    if ours and not sys.flags.safe_path and path and path[0] == os.getcwd():
        path = path[1:]
    return [entry for entry in path if entry]


def search_path(entries: Sequence[str]) -> str:
    """These folders as the value of PYTHONPATH."""
    return os.pathsep.join(str(Path(entry).resolve()) for entry in entries)


def folder_of(module: str) -> str | None:
    """The folder from which a module of this process was imported, under its whole name."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return None
    above = Path(file).resolve().parents
    levels = module.count(".") + (Path(file).stem == "__init__")
    return str(above[min(levels, len(above) - 1)])


@contextlib.contextmanager
def safe_children() -> Iterator[None]:
    """Inside the block processes inherit SAFE_PATH, whoever starts them."""
    before = {name: os.environ.get(name) for name in SAFE_PATH}
    os.environ.update(SAFE_PATH)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
