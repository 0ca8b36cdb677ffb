"""What a report is made of: the lab's own records, and around them what only a page has (sections,
figures, tables, spec files).

Numbers of figures and tables are finite or None, so that the JSON written from them is plain JSON.
Text is plain text: it is escaped where it is shown.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headcount.core.errors import require, unknown
from headcount.lab.judge.verdict import Verdict
from headcount.lab.study_outcome import StudyOutcome
from headcount.report.figure_data import FigureData, Place
from headcount.report.grid import in_order

if TYPE_CHECKING:
    from headcount.experiments.errata import Erratum


@dataclasses.dataclass(frozen=True)
class Cell:
    """A number with a few words below it. `marked` sets it off: it is the paper's own."""

    value: float | None
    note: str = ""
    marked: bool = False


TableRow = tuple[str | float | Cell | None, ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """Any further table of a section, such as fitted slopes with their intervals."""

    section: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    note: str = ""
    folded: bool = False  # opened by who wants it, and not printed

    def __post_init__(self):
        for row in self.rows:
            require(
                len(row) == len(self.columns),
                f"table {self.caption!r}: a row of {len(row)}",
                f"{len(self.columns)} cells",
                "one per column",
            )


@dataclasses.dataclass(frozen=True)
class Section:
    """A section of the report: an experiment of the paper, or a `check` that readers ask for."""

    id: str
    title: str
    # what was run: variant (or ""), and a sentence or more
    settings: tuple[tuple[str, str], ...] = ()
    check: bool = False

    def __post_init__(self):
        require(
            re.fullmatch(r"[\w-]+", self.id),
            f"section id {self.id!r}",
            "letters, digits, '-' and '_'",
            "rename it",
        )


@dataclasses.dataclass(frozen=True)
class SpecFile:
    """A spec as it ran, word for word; `name` is its file name in specs/."""

    name: str
    text: str

    def __post_init__(self):
        require(
            re.fullmatch(r"\w[\w.-]*", self.name),
            f"spec file {self.name!r}",
            "a plain file name",
            "no folders, no spaces",
        )

    @classmethod
    def of(cls, name: str, values: Mapping[str, Any]) -> "SpecFile":
        return cls(
            f"{name}.json",
            json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
            + "\n",
        )


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything that is shown, from stored rows alone: the same store, the same page. Studies,
    figures and tables name the section they belong to.
    """

    title: str
    profile: str
    command: str
    sections: tuple[Section, ...]
    outcomes: tuple[StudyOutcome, ...] = ()
    figures: tuple[FigureData, ...] = ()
    tables: tuple[Table, ...] = ()
    errata: "tuple[tuple[Erratum, str], ...]" = ()  # each with its evidence
    specs: tuple[SpecFile, ...] = ()
    notes: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    store: str = ""
    # 'insight/arm' → how its settings were chosen
    pilots: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        known = [section.id for section in self.sections]
        named = [outcome.study.id for outcome in self.outcomes]
        drawn = [figure.section for figure in self.figures]
        tabled = [table.section for table in self.tables]
        for name in (*named, *drawn, *tabled):
            if name not in known:
                raise unknown("section", name, known)
        _once(known, "section")
        _once([outcome.study.key for outcome in self.outcomes], "study")
        _once([figure.name for figure in self.figures], "figure")
        _once([erratum.id for erratum, _ in self.errata], "erratum")
        _once([spec.name for spec in self.specs], "spec file")
        for erratum, evidence in self.errata:
            require(
                evidence.strip(),
                f"erratum {erratum.id}: evidence is empty",
                "a sentence",
                "an erratum without evidence is an opinion",
            )

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Of all studies, in the order in which they are shown."""
        return in_order(self.outcomes)

    @property
    def own_errata(self) -> "tuple[tuple[Erratum, str], ...]":
        """Those about the experiments that are shown, gravest first."""
        return tuple(pair for pair in self.errata_by_severity if self._about(pair[0]))

    @property
    def other_errata(self) -> "tuple[tuple[Erratum, str], ...]":
        """About theorems, proofs and the other experiments, gravest first."""
        return tuple(pair for pair in self.errata_by_severity if not self._about(pair[0]))

    def _about(self, point: "Erratum") -> bool:
        return any(section.id in point.experiments for section in self.sections)

    @property
    def errata_by_severity(self) -> "tuple[tuple[Erratum, str], ...]":
        """Gravest first."""
        order = [severity for point, _ in self.errata[:1] for severity in type(point.severity)]
        return tuple(sorted(self.errata, key=lambda pair: order.index(pair[0].severity)))

    @property
    def headline(self) -> FigureData | None:
        """The figure of the first screen."""
        return next((f for f in self.figures if f.place is Place.HEADLINE), None)


def _once(names: Iterable[object], what: str) -> None:
    names = list(names)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    require(
        not twice, f"{what} {', '.join(twice)} given twice", "each once", "rename or remove one"
    )
