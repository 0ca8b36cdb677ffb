"""Your data: a dropped file goes to `headcount.diagnose`. Loaded when the first file comes."""

import csv
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

from headcount.core.errors import InputError, require
from headcount.web.views.plain_numbers import finite

# what readers of damaged or hostile files raise
UNREADABLE = (csv.Error, RecursionError, zipfile.BadZipFile, zlib.error, EOFError, ValueError)
ENDINGS = (".csv", ".npy", ".npz", ".txt", ".jsonl")


def data_view(name: str, content: bytes) -> dict[str, Any]:
    """The document of `headcount diagnose --json` for one file, with its closing words and the page
    that `-o` writes. The name that the client gave is used as text, and for its ending.
    """
    ending = Path(name).suffix.lower()
    require(
        ending in ENDINGS,
        f"a file that ends in {ending[:12]!r}",
        f"one of {', '.join(ENDINGS)}",
        "convert it",
    )
    from headcount.diagnose import diagnose
    from headcount.diagnose.read import read
    from headcount.diagnose.words import closing, model_words
    from headcount.report.diagnosis_page import page

    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / f"data{ending}"
        path.write_bytes(content)
        try:
            sequences = read(path)
        except InputError:
            raise
        except UNREADABLE as error:
            raise InputError(
                f"a file that cannot be read ({type(error).__name__})",
                f"{ending[1:]} with sequences",
                "check the file",
            ) from None
        found = diagnose(sequences)
    shown = Path(name).name
    told = {"closing": closing(found), "model_words": [model_words(m) for m in found.models]}
    return finite({**found.to_json(), **told, "page": page(found, shown)})
