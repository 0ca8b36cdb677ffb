"""Your data: a dropped file goes to `headcount.diagnose`. Loaded when the first file comes."""

import tempfile
from pathlib import Path
from typing import Any

from headcount.core.errors import require
from headcount.web.views.plain_numbers import finite

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
    from headcount.diagnose.words import closing
    from headcount.report.diagnosis_page import page

    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / f"data{ending}"
        path.write_bytes(content)
        found = diagnose(read(path))
    shown = Path(name).name
    return finite({**found.to_json(), "closing": closing(found), "page": page(found, shown)})
