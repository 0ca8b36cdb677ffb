"""Stores of runs and folders of reports below the root: how they stand, curves, verdicts."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from headcount.core.errors import InputError, require
from headcount.core.files import read_text
from headcount.lab.sweep.results import labels, results, status
from headcount.lab.sweep.store import Store
from headcount.web.asked import AskRuns, AskStudy
from headcount.web.root import Root
from headcount.web.views.plain_numbers import short_one

MOST_RUNS = 400
MOST_POINTS = 400
LARGEST_TEXT = 20 * 2**20
SHOWN = ("id", "status", "outcome", "outcome_step", "error")


def runs_view(asked: AskRuns, root: str) -> dict[str, Any]:
    """Counts of a store, its runs with their final figures, and the curves asked for."""
    path = Root(root).inside(asked.store)
    require(path.suffix == ".sqlite" and path.is_file(), asked.store, "a store", "choose another")
    told = status(path).to_json() | {"store": asked.store}
    with Store(path, read_only=True) as store:
        specs = store.specs()
    names = dict(zip(specs, labels(list(specs.values())), strict=True))
    table, _ = results(path)
    finals = [column for column in table if column.startswith("final.")]
    count = len(table.get("id", []))
    lines = [
        {
            **{column: table[column][i] for column in SHOWN if column in table},
            "label": names.get(table["id"][i], ""),
            "final": {c.removeprefix("final."): table[c][i] for c in finals},
        }
        for i in range(min(count, MOST_RUNS))
    ]
    return {
        **told,
        "lines": lines,
        "left_out": max(count - MOST_RUNS, 0),
        "curves": _curves(path, asked.curves, names) if asked.curves else [],
        "verdicts": _verdicts(path.parent),
    }


def _curves(path: Path, ids: list[str], names: dict[str, str]) -> list[dict[str, Any]]:
    """Metric by step of the runs asked for, thinned."""
    with Store(path, read_only=True) as store:
        rows, _ = store.rows(ids)
    made = []
    for row in rows:
        metrics = row.record.get("metrics", {})
        steps = metrics.get("step", [])
        keep = range(0, len(steps), max(1, len(steps) // MOST_POINTS))
        for name, values in metrics.items():
            if name != "step" and len(values) == len(steps):
                made.append(
                    {
                        "id": row.id,
                        "label": names.get(row.id, ""),
                        "metric": name,
                        "step": [steps[i] for i in keep],
                        "value": [_number(values[i]) for i in keep],
                    }
                )
    return made


def _number(value: Any) -> float | None:
    return short_one(value) if isinstance(value, (int, float)) else None


def _verdicts(folder: Path) -> list[dict[str, Any]]:
    """Of the report beside a store, where there is one."""
    try:
        return verdicts(folder)["verdicts"]
    except InputError:
        return []


def study_view(asked: AskStudy, root: str) -> dict[str, Any]:
    """Verdicts, four numbers per arm, and the names of the figures of one report."""
    folder = Root(root).inside(asked.folder)
    found = verdicts(folder)
    figures = folder / "figures"
    return {
        "folder": asked.folder,
        **found,
        "arms": arms(folder),
        "figures": sorted(p.name for p in figures.glob("*.svg")) if figures.is_dir() else [],
        "report": (folder / "report.html").is_file(),
    }


def verdicts(folder: Path) -> dict[str, Any]:
    """`verdicts.json` of a report, of the expected shape."""
    text = _small(folder / "verdicts.json")
    try:
        found = json.loads(text)
        rows = found["verdicts"]
        good = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    except (ValueError, KeyError, TypeError, RecursionError):
        good = False
    require(good, f"{folder.name}/verdicts.json", "a file written by reproduce", "choose another")
    return {"profile": str(found.get("profile", "")), "verdicts": rows}


def arms(folder: Path) -> list[dict[str, Any]]:
    """`arms.csv` of a report: numbers as numbers."""
    if not (folder / "arms.csv").is_file():
        return []
    lines = list(csv.DictReader(io.StringIO(_small(folder / "arms.csv"))))[:MOST_RUNS]
    return [{key: _read(value) for key, value in line.items() if key} for line in lines]


def _read(text: str | None) -> Any:
    try:
        return short_one(text) if text else None
    except ValueError:
        return text


def _small(path: Path) -> str:
    """A text file that is not huge."""
    name = f"{path.parent.name}/{path.name}"
    require(path.is_file(), name, "an existing file", "choose another folder")
    size = path.stat().st_size
    require(
        size <= LARGEST_TEXT, f"{name} of {size} bytes", f"at most {LARGEST_TEXT}", "shorten it"
    )
    return read_text(path)
