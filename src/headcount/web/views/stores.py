"""Stores of runs and folders of reports below the root: how they stand, curves, verdicts."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.core.errors import InputError, require
from headcount.core.files import read_text
from headcount.lab.latest_verdicts import latest_verdicts
from headcount.lab.study import Profile
from headcount.lab.sweep.results import flatten, results, status
from headcount.lab.sweep.store import Store
from headcount.lab.sweep.summary import by_axis
from headcount.report.study_page import FIGURE, RESULT, StudyKind, caveat
from headcount.report.wording import neat
from headcount.web.asked import AskRuns, AskStudy, AskSweep
from headcount.web.continue_sweep import unfinished
from headcount.web.root import WEIGHTS, Root
from headcount.web.views.plain_numbers import short_one

MOST_RUNS = 400
MOST_POINTS = 400
LARGEST_TEXT = 20 * 2**20
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite opens with a store
VERDICTS = "verdicts.json"
READ = (VERDICTS, RESULT, "arms.csv", "report.html", "figures")
SHOWN = ("id", "status", "outcome", "outcome_step", "error")


def runs_view(asked: AskRuns, root: str) -> dict[str, Any]:
    """Counts of a store, its runs with their final figures, and the curves asked for."""
    path = store_path(asked.store, root)
    stands = status(path).to_json() | {"store": asked.store}
    with Store(path, read_only=True) as store:
        specs, latest = store.specs(), latest_verdicts(store)
    table, _ = results(path)
    shown = table.get("id", [])[:MOST_RUNS]
    # what tells runs apart is sought among those that are seen
    names = labels({id: specs[id] for id in dict.fromkeys([*shown, *asked.curves]) if id in specs})
    finals = [column for column in table if column.startswith("final.")]
    lines = [
        {
            **{column: table[column][i] for column in SHOWN if column in table},
            "label": names.get(table["id"][i], ""),
            "final": {c.removeprefix("final."): table[c][i] for c in finals},
            "model": _weights(path, table["id"][i], root),
        }
        for i in range(len(shown))
    ]
    return {
        **stands,
        "lines": lines,
        "axes": [row.to_json() for row in by_axis(table)],
        "study": _study_beside(path, root),
        "left_out": stands["finished"] + stands["failed"] - len(shown),
        "curves": _curves(path, asked.curves, names) if asked.curves else [],
        # the report beside a store is made from all of its runs; before it, the last look
        "verdicts": _verdicts(path.parent, root) or latest,
    }


def _weights(store: Path, id: str, root: str) -> str | None:
    """The folder of the model that a run trained, where it was kept."""
    folder = store.with_name(f"{store.name}{WEIGHTS}") / id
    return Root(root).name(folder) if (folder / "config.json").is_file() else None


def _study_beside(store: Path, root: str) -> str | None:
    """The folder of a store, where a report lies in it."""
    beside = any((store.parent / name).is_file() for name in (RESULT, VERDICTS))
    return Root(root).name(store.parent) if beside else None


TOLD = {
    "memory.kind": "",
    "model.kind": "model ",
    "model.layers": "layers ",
    "model.heads": "heads ",
    "model.bias.kind": "bias ",
    "train.lr": "lr ",
}
FURTHER = ("data.samples", "train.steps")  # looked at first where runs look the same


def labels(specs: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """What each run is; runs that would look the same are told apart by what else differs.

    >>> run = {"memory": {"kind": "exp-4b"}, "seed": 0}
    >>> labels({"a": {**run, "data": {"samples": 8}}, "b": {**run, "data": {"samples": 64}}})
    {'a': 'exp-4b, samples 8, seed 0', 'b': 'exp-4b, samples 64, seed 0'}
    """
    flat = {id: flatten(spec) for id, spec in specs.items()}
    alike: dict[str, list[str]] = {}
    for id, run in flat.items():
        alike.setdefault(told(run), []).append(id)
    further = {label: _telling([flat[id] for id in ids]) for label, ids in alike.items()}
    return {id: told(run, further[told(run)]) for id, run in flat.items()}


def told(run: dict[str, Any], further: Sequence[str] = ()) -> str:
    """What a run is, in a line: its memory, its sizes, what is `further` to be told, its seed.

    >>> told({"memory.kind": "exp-4b", "model.heads": 2, "seed": 0})
    'exp-4b, heads 2, seed 0'
    """
    words = {**TOLD, **{name: f"{_word(name)} " for name in further}, "seed": "seed "}
    return ", ".join(
        f"{word}{run[name]}" for name, word in words.items() if run.get(name) is not None
    )


def _word(name: str) -> str:
    """What a dotted name is called: its last part, or whose kind it is.

    >>> _word("model.norm.kind"), _word("data.samples")
    ('norm', 'samples')
    """
    return name.removesuffix(".kind").rpartition(".")[2]


def _telling(runs: list[dict[str, Any]]) -> list[str]:
    """Names whose values tell these runs apart: each taken tells more of them apart."""
    names = dict.fromkeys((*FURTHER, *(name for run in runs for name in run)))
    taken: list[str] = []
    told_apart = 1
    for name in names:
        values = {tuple(str(run.get(n)) for n in (*taken, name)) for run in runs}
        if len(values) > told_apart:
            taken.append(name)
            told_apart = len(values)
    return taken


def store_path(name: str, root: str) -> Path:
    """A store below the root."""
    path = Root(root).inside(name)
    require(path.suffix == ".sqlite" and path.is_file(), name, "a store", "choose another")
    for suffix in BESIDE:
        Root(root).file(path.parent, path.name + suffix)
    return path


def sweep_view(asked: AskSweep, root: str) -> dict[str, Any]:
    """The wish to stop, written into the store; or how many runs a continuation would compute."""
    path = store_path(asked.store, root)
    if asked.act == "continue":
        return {"store": asked.store, "act": asked.act, "runs": len(unfinished(path))}
    with Store(path, read_only=True):  # an empty file is none, and does not become one
        pass
    with Store(path) as store:
        return {"store": asked.store, "act": asked.act, "sweeps": store.ask_to_stop()}


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


def _verdicts(folder: Path, root: str) -> list[dict[str, Any]]:
    """Of the report beside a store, where there is one."""
    try:
        Root(root).file(folder, "verdicts.json")
        return verdicts(folder)["verdicts"]
    except InputError:
        return []


def study_view(asked: AskStudy, root: str) -> dict[str, Any]:
    """Verdicts, four numbers per arm, and the names of the figures of a reproduction; or the
    document of another study (`kind` says which).
    """
    folder = Root(root).with_files(asked.folder, *READ)
    if (folder / RESULT).is_file():
        page = (folder / "report.html").is_file()
        found = result(folder)
        told = caveat(found.get("profile")) or None
        drawn = [f"{FIGURE}.svg"] if (folder / f"{FIGURE}.svg").is_file() else []
        shown = {"folder": asked.folder, "report": page, "caveat": told, "figures": drawn}
        words: dict[str, Any] = {name: _neat(found.get(name)) for name in ("sentences", "notes")}
        return {**found, **words, **shown}
    found = verdicts(folder)
    figures = folder / "figures"
    laptop = Profile.LAPTOP
    fix = f"headcount reproduce --profile {laptop} has enough ({laptop.takes} on two free cores)."
    return {
        "folder": asked.folder,
        "kind": "reproduction",
        **found,
        "arms": arms(folder),
        "figures": sorted(p.name for p in figures.glob("*.svg")) if figures.is_dir() else [],
        "report": (folder / "report.html").is_file(),
        "caveat": f"Its runs are too short and too few for a verdict; {fix}",
    }


def _neat(lines: Any) -> list[str]:
    return [neat(str(line)) for line in lines] if isinstance(lines, list) else []


def verdicts(folder: Path) -> dict[str, Any]:
    """`verdicts.json` of a report, of the expected shape."""
    text = _small(folder / VERDICTS)
    try:
        found = json.loads(text)
        rows = found["verdicts"]
        good = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    except (ValueError, KeyError, TypeError, RecursionError):
        good = False
    require(good, f"{folder.name}/verdicts.json", "a file written by reproduce", "choose another")
    return {"profile": str(found.get("profile", "")), "verdicts": rows}


def result(folder: Path) -> dict[str, Any]:
    """`result.json` of a study, of a kind that the page can draw."""
    try:
        found = json.loads(_small(folder / RESULT))
        kind = StudyKind(found["kind"])
        good = isinstance(found, dict)
    except (ValueError, KeyError, TypeError, RecursionError):
        good = False
    require(good, f"{folder.name}/{RESULT}", "a file written by headcount study", "choose another")
    return {**found, "kind": str(kind)}


def arms(folder: Path) -> list[dict[str, Any]]:
    """`arms.csv` of a report: numbers as numbers."""
    if not (folder / "arms.csv").is_file():
        return []
    try:
        lines = list(csv.DictReader(io.StringIO(_small(folder / "arms.csv"))))[:MOST_RUNS]
    except csv.Error as error:
        expected = "a table written by reproduce"
        raise InputError(f"{folder.name}/arms.csv ({error})", expected, "choose another") from None
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
