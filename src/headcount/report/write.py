"""A report as files: `report.html`, `verdicts.json`, `arms.csv`, `figures/`, `specs/`.

`verdicts.json` holds nothing that changes from one run of the same command to the next: no times,
no versions, no absolute paths. Those are in `report.html` and in the document that `--json` prints.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headcount.core.errors import require
from headcount.report import figures
from headcount.report.arms import Arm
from headcount.report.folder import write_files
from headcount.report.html import html
from headcount.report.records import Report
from headcount.report.text import exact

PAGE, VERDICTS, ARMS = "report.html", "verdicts.json", "arms.csv"


Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


def write(report: Report, folder: Path, each: Map = map) -> Path:
    """Write the whole report into a folder that may hold other files; returns the path of the
    page. `each` may draw in parallel.
    """
    write_files(folder, files(report, each))
    return folder / PAGE


def files(report: Report, each: Map = map) -> dict[str, bytes]:
    """Every file of the report by its path inside the folder."""
    names = [figure.name for figure in report.figures]
    drawn = dict(zip(names, each(figures.files, report.figures), strict=True))
    page = html(report, {name: contents["svg"] for name, contents in drawn.items()})
    made = {
        PAGE: page.encode(),
        VERDICTS: verdicts_json(report).encode(),
        ARMS: arms_csv(report).encode(),
    }
    made |= {
        f"figures/{name}.{ending}": content
        for name, contents in drawn.items()
        for ending, content in contents.items()
    }
    return made | {f"specs/{spec.name}": spec.text.encode() for spec in report.specs}


def verdicts_json(report: Report) -> str:
    """The same input, the same bytes."""
    shown = {"report": PAGE, "experiments": [experiment.id for experiment in report.experiments]}
    return (
        json.dumps(_lasting(report) | shown, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    )


def check_replaced(folder: Path, profile: str, experiments: Iterable[str]) -> None:
    """A report is replaced by one of the same profile that shows at least as much: nobody's
    hours are lost to a quick look.
    """
    try:
        earlier = json.loads((folder / VERDICTS).read_text(encoding="utf-8"))
        shown, of = set(earlier["experiments"]), str(earlier["profile"])
    except (OSError, ValueError, KeyError, TypeError):
        return  # no report, or none of ours: `write_files` refuses to overwrite those
    lost = sorted(shown - set(experiments))
    holds = f"{folder} holds a report of profile {of} on {' '.join(sorted(shown))}"
    require(of == profile, holds, f"a folder of profile {profile}", "choose another folder with -o")
    require(
        not lost,
        holds,
        f"at least these experiments again ({' '.join(lost)} would be lost)",
        "choose another folder with -o",
    )


def summary(report: Report, page: Path) -> dict[str, Any]:
    """The document of `headcount reproduce --json`."""
    return _lasting(report) | {"seconds": report.seconds, "report": str(page)}


def arms_csv(report: Report) -> str:
    """The four numbers of every arm, one arm a row, in full precision."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(
        [
            "experiment",
            "variant",
            "arm",
            "cell",
            "metric",
            *Arm("", "").numbers(),
            "promised_text",
            "certificate",
            "lower_bound_for",
        ]
    )
    for arm in report.arms:
        values = map(exact, arm.numbers().values())
        texts = (arm.promised.text, arm.possible.certificate, arm.possible.bound_for)
        table.writerow(
            [arm.experiment, arm.variant, arm.name, arm.cell, arm.metric.name, *values, *texts]
        )
    return out.getvalue()


def _lasting(report: Report) -> dict[str, Any]:
    return {"verdicts": [row.to_json() for row in report.verdicts], "profile": report.profile}
