"""Your data: a dropped file goes to `headcount.diagnose`, where this version has it."""

import importlib
import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from headcount.core.errors import require
from headcount.web.views.plain_numbers import finite

FOLDER, READER = "headcount.diagnose", "headcount.diagnose.read"
ENDINGS = (".csv", ".npy", ".npz", ".txt", ".jsonl")


def available() -> bool:
    """Can a file be diagnosed?"""
    return importlib.util.find_spec(FOLDER) is not None


def data_view(name: str, content: bytes) -> dict[str, Any]:
    """The document of `headcount diagnose --json` for one file. Only the ending is taken from the
    name that the client gave.
    """
    ending = Path(name).suffix.lower()
    require(
        ending in ENDINGS,
        f"a file that ends in {ending[:12]!r}",
        f"one of {', '.join(ENDINGS)}",
        "convert it",
    )
    require(
        available(),
        "no diagnosis in this installation",
        "a version of headcount with diagnose",
        "upgrade headcount",
    )
    diagnose = importlib.import_module(FOLDER).diagnose
    read = importlib.import_module(READER).read
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / f"data{ending}"
        path.write_bytes(content)
        found = diagnose(read(path))
    return finite(found.to_json())
