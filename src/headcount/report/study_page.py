"""One page for a study: the answer in plain sentences, one figure, the table, nothing fetched."""

import dataclasses
import enum
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from headcount.lab.study import Profile
from headcount.report.folder import refuse_taken, write_files
from headcount.report.one_page import OnePage, PageFigure, PageTable, files, svg_of
from headcount.report.wording import neat

RESULT = "result.json"
FIGURE = "figure"
QUICK = (
    "Profile smoke shows that everything works, on runs too short and too few for a verdict."
    " For verdicts: --profile laptop or full."
)


class StudyKind(enum.StrEnum):
    """Which study a `result.json` holds."""

    FINITE_SAMPLE = "finite-sample"
    ROBUSTNESS = "robustness"
    RIVALS = "rivals"
    ZOO = "zoo"
    MAD = "mad"


@dataclasses.dataclass(frozen=True)
class StudyPage:
    """What a study shows: sentences first, then a figure, then rows."""

    kind: StudyKind
    title: str
    sentences: Sequence[str]
    figure: Figure | None
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    profile: Profile | None = None

    @property
    def banner(self) -> str:
        """Why nothing is judged here; '' where something is."""
        return caveat(self.profile)


def caveat(profile: object) -> str:
    """What a reader is told first of a study of this profile."""
    return QUICK if profile == Profile.SMOKE else ""


WRITTEN = ("report.html", "report.md", RESULT, f"{FIGURE}.svg", f"{FIGURE}.png")


def refuse_study_taken(folder: Path) -> None:
    """Refuse, before any work, a folder where the page could not be written in the end."""
    refuse_taken(folder, WRITTEN)


def answered(folder: Path) -> str:
    """Which study's answer, to which question, the folder holds; empty for none."""
    try:
        held = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(held, dict) or held.get("kind") not in list(StudyKind):
        return ""
    question = held.get("target") or held.get("model")
    return f"{held['kind']} {question}" if isinstance(question, str) else str(held["kind"])


def write_page(page: StudyPage, document: dict[str, Any], folder: Path) -> Path:
    """`report.html`, its twin `report.md`, `result.json`, `figure.svg` and `figure.png`."""
    figures = []
    made: dict[str, bytes] = {}
    if page.figure is not None:
        drawn = svg_of(page.figure, page.kind)
        wide = page.kind is StudyKind.ROBUSTNESS  # a map of many columns
        figures.append(PageFigure(FIGURE, page.title, page.caption, drawn, wide))
        held = io.BytesIO()
        page.figure.savefig(held, format="png", dpi=150)
        made[f"{FIGURE}.png"] = held.getvalue()
    whole = OnePage(
        page.title,
        [*map(neat, page.sentences)],
        figures,
        [PageTable("All numbers", page.columns, page.rows)],
        [*map(neat, page.notes)],
        page.banner,
    )
    made[RESULT] = (json.dumps({"kind": page.kind, **document}, indent=2) + "\n").encode()
    write_files(folder, made | files(whole))
    return folder / "report.html"
