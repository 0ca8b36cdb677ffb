"""Run every notebook of this folder and keep its outputs: `python notebooks/execute.py`; with
`--check`, nothing is written and a failing cell ends it.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(path: Path, keep: bool) -> None:
    """Run one notebook from a clean kernel."""
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3").execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # times of day
    if keep:
        nbformat.write(book, path)


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.ipynb")):
        print(path.name, flush=True)
        execute(path, keep="--check" not in sys.argv)
