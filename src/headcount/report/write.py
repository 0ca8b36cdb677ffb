"""A report as files: `report.html`, `report.md`, `verdicts.json`, `arms.csv`, `figures/`, `specs/`.

`verdicts.json` holds nothing that changes from one run of the same command to the next: no times,
no versions, no absolute paths. Those are in `report.html` and in the document that `--json` prints.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headcount.core.errors import require
from headcount.lab.study_outcome import ArmOutcome, Learned, StudyOutcome
from headcount.report.document import Report
from headcount.report.drawings import Map, drawings
from headcount.report.folder import write_files
from headcount.report.grid import in_order
from headcount.report.html import html
from headcount.report.markdown import markdown
from headcount.report.wording import exact

PAGE, TWIN, VERDICTS, ARMS = "report.html", "report.md", "verdicts.json", "arms.csv"


def write(report: Report, folder: Path, each: Map = map) -> Path:
    """Write the whole report into a folder that may hold other files; returns the path of the
    page. `each` may draw in parallel.
    """
    write_files(folder, files(report, each))
    return folder / PAGE


def files(report: Report, each: Map = map) -> dict[str, bytes]:
    """Every file of the report by its path inside the folder."""
    drawn = drawings(report.figures, each)
    page = html(report, {name: contents["svg"] for name, contents in drawn.items()})
    made = {
        PAGE: page.encode(),
        TWIN: markdown(report).encode(),
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
    shown = {"report": PAGE, "experiments": [section.id for section in report.sections]}
    return (
        json.dumps(
            verdict_rows(report.outcomes, report.profile) | shown,
            indent=2,
            ensure_ascii=False,
            allow_nan=False,
        )
        + "\n"
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


NUMBERS = (
    "promised",
    "possible",
    "lower_bound",
    "float32",
    "bfloat16",
    "learned",
    "learned_median",
    "learned_low",
    "learned_high",
    "accuracy",
    "learned_at_trained_length",
    "seeds",
    "diverged",
    "parameters",
)


def arms_csv(report: Report) -> str:
    """The four numbers of every arm, one arm and cell per row, in full precision."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = ("experiment", "variant", "arm", "cell", "metric")
    table.writerow((*names, *NUMBERS, "promised_text", "certificate", "lower_bound_for"))
    for outcome in report.outcomes:
        study = outcome.study
        for each in outcome.arms:
            numbers = each.numbers
            for learned in each.learned:
                cell = learned.cell if len(each.learned) > 1 else ""
                values = map(exact, _values(outcome, each, learned))
                texts = (numbers.promised_text, numbers.explanation, numbers.lower_for)
                place = (study.id, str(study.variant), each.arm.name, cell)
                table.writerow((*place, study.loss_name(each.arm), *values, *texts))
    return out.getvalue()


def _values(
    outcome: StudyOutcome, each: ArmOutcome, learned: Learned
) -> tuple[float | int | None, ...]:
    """The values of NUMBERS."""
    numbers, trained = each.numbers, outcome.at_trained_length(each)
    return (
        numbers.promised,
        numbers.possible,
        numbers.lower,
        numbers.float32,
        numbers.bfloat16,
        learned.mean,
        learned.median,
        learned.low,
        learned.high,
        learned.accuracy,
        None if trained is None else trained.mean,
        len(learned.losses),
        learned.diverged,
        each.parameters,
    )


def verdict_rows(outcomes: Sequence[StudyOutcome], profile: str) -> dict[str, Any]:
    """What a reproduction found, as plain values that do not change from run to run: exists,
    trained and contrast of each insight, then the further claims.
    """
    found = [verdict.to_json() for verdict in in_order(outcomes)]
    return {"profile": str(profile), "verdicts": found}
