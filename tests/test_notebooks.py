"""The notebooks: shipped with their outputs, without errors; run again by `make notebooks`."""

import json
from pathlib import Path

import pytest

BOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_five():
    assert len(BOOKS) == 5


@pytest.mark.parametrize("path", BOOKS, ids=lambda p: p.stem)
def test_every_cell_has_been_executed(path):
    cells = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in cells] == list(range(1, len(cells) + 1))
    kinds = {out["output_type"] for c in cells for out in c["outputs"]}
    assert kinds
    assert "error" not in kinds


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda p: p.stem)
def test_every_notebook_runs_from_a_clean_kernel(path):
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
