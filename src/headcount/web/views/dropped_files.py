"""Your data: a dropped file goes to `headcount.diagnose`. Loaded when the first file comes."""

import csv
import re
import shlex
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.core.errors import InputError, require
from headcount.web.views.plain_numbers import finite

if TYPE_CHECKING:
    from headcount.diagnose.samples import Sequences

# what readers of damaged or hostile files raise
UNREADABLE = (csv.Error, RecursionError, zipfile.BadZipFile, zlib.error, EOFError, ValueError)
ENDINGS = (".csv", ".npy", ".npz", ".txt", ".jsonl")
COLUMNS = ".csv"  # what has columns
PLAIN = re.compile(r"[A-Za-z0-9][\w.-]{0,79}", re.ASCII)  # a name that may be a file's own


def data_view(name: str, content: bytes, column: str = "") -> dict[str, Any]:
    """The document of `headcount diagnose --json` for one file, with its closing words and the page
    that `-o` writes. `column` is predicted from its past and the others'; the last one where none
    is named. The name that the client gave is used as text, and for its ending.
    """
    ending = Path(name).suffix.lower()
    require(
        ending in ENDINGS,
        f"a file that ends in {ending[:12]!r}",
        f"one of {', '.join(ENDINGS)}",
        "convert it",
    )
    require(
        not column or ending == COLUMNS,
        f"column {column[:60]!r} of a file that ends in {ending}",
        f"a {COLUMNS}: only these have columns",
        "leave the column to predict empty",
    )
    from headcount.diagnose import diagnose
    from headcount.diagnose.words import closing, model_words
    from headcount.report.diagnosis_page import page

    shown = Path(name).name
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / (shown if PLAIN.fullmatch(shown) else f"data{ending}")
        path.write_bytes(content)
        try:
            sequences = _sequences(path, column)
        except InputError:
            raise
        except UNREADABLE as error:
            raise InputError(
                f"a file that cannot be read ({type(error).__name__})",
                f"{ending[1:]} with sequences",
                "check the file",
            ) from None
        columns = _columns(path)
        found = diagnose(sequences)
    told = {
        "closing": closing(found),
        "model_words": [model_words(m) for m in found.models],
        "columns": columns,
        "command": _command(path.name, found.answer),
        "page": page(found, shown),
    }
    return finite({**found.to_json(), **told})


def _columns(path: Path) -> list[str]:
    """What may be asked for instead: the columns of values, where there are several."""
    from headcount.diagnose.columns import csv_columns, value_columns

    names = value_columns(csv_columns(path)) if path.suffix.lower() == COLUMNS else []
    return names if len(names) > 1 else []


def _command(name: str, answer: str) -> str:
    """What asks the same on the command line."""
    from headcount.diagnose.columns import NEXT

    target = f" --target {shlex.quote(NEXT + answer)}" if answer else ""
    return f"headcount diagnose {shlex.quote(name)}{target}"


def _sequences(path: Path, column: str) -> "Sequences":
    """Of the file, with a note where the column was not named."""
    from headcount.diagnose.columns import NEXT, csv_columns, last_values
    from headcount.diagnose.read import read
    from headcount.diagnose.samples import Note
    from headcount.diagnose.symbols import with_notes

    if column or path.suffix.lower() != COLUMNS:
        return read(path, target=f"{NEXT}{column}" if column else None)
    last = last_values(csv_columns(path))
    if last is None:
        return read(path)
    return with_notes(read(path, target=f"{NEXT}{last}"), [Note("last column", {"name": last})])
