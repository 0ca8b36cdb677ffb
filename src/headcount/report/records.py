"""What a report is made of: frozen plain records that hold results and no way of getting them.

Numbers are finite or None: a run that diverged is counted (`Learned.diverged`), never entered as
inf or NaN, so that the JSON written from these records is plain JSON. Text is plain text: it is
escaped where it is shown.
"""

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from headcount.core.errors import InputError, require, unknown
from headcount.lab.signatures import NOT_MEASURED
from headcount.lab.verdict import Outcome
from headcount.report.arms import Arm
from headcount.report.figure_data import FigureData, finite

OUTCOMES = tuple(outcome.text for outcome in Outcome)


@dataclasses.dataclass(frozen=True)
class FindingRow:
    """One part of a hypothesis in one cell, as `lab.evidence.Finding.to_json` gives it."""

    part: str
    cell: str
    p: float = 1.0
    p_refute: float = 1.0
    effect: float | None = None
    seeds: int = 0
    losing: str | None = None
    lost: bool = False
    loss: float | None = None
    floor: float | None = None
    blocked: str = ""
    ci: tuple[float, float] | None = None
    bca: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    unit: str = ""  # of effect and intervals; "": that of the verdict

    def __post_init__(self):
        for value in (
            self.p,
            self.p_refute,
            self.effect,
            self.loss,
            self.floor,
            *(self.ci or ()),
            *(self.bca or ()),
        ):
            finite(value, f"finding {self.part}, {self.cell}: a number")

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "FindingRow":
        return cls(**_known(cls, {key: _tuple(value) for key, value in values.items()}))


@dataclasses.dataclass(frozen=True)
class VerdictRow:
    """A verdict as `verdicts.json` holds it. `experiment` is the section that it belongs to (its
    own id, unless given).

    >>> row = VerdictRow(id="4a", claim="log heads win", verdict="supported", measured=1.2, ci=(0.9, 1.5))
    >>> VerdictRow.from_json(row.to_json()) == row
    True
    """

    id: str
    claim: str
    verdict: str
    qualifier: str | None = None
    ref: str = ""
    reported: tuple[str, ...] = ()
    measured: float | None = None
    ci: tuple[float, float] | None = None
    floor: float | None = None
    seeds: int = 0
    p_adjusted: float | None = None
    deviations: tuple[str, ...] = ()
    sentence: str = ""
    scale: str = ""
    margin: float | None = None
    expected: str = ""
    p: float | None = None
    criteria: tuple[str, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    experiment: str = ""
    variant: str = ""

    def __post_init__(self):
        if self.verdict not in OUTCOMES:
            raise unknown("verdict", self.verdict, OUTCOMES)
        if not self.experiment:
            object.__setattr__(self, "experiment", self.id)
        for name in ("measured", "floor", "p_adjusted", "p", "margin"):
            finite(getattr(self, name), f"verdict {self.id}: {name}")
        for end in self.ci or ():
            finite(end, f"verdict {self.id}: ci")
        require(
            self.ci is None or self.ci[0] <= self.ci[1],
            f"verdict {self.id}: ci {self.ci}",
            "low <= high",
            "swap the ends",
        )

    @classmethod
    def from_json(
        cls, values: Mapping[str, Any], experiment: str = "", variant: str = ""
    ) -> "VerdictRow":
        """From `lab.verdict.Verdict.to_json()` or a row of verdicts.json; a key that is not
        known is refused.
        """
        given = dict(values)
        paper = given.pop("paper", {})
        found = tuple(FindingRow.from_json(finding) for finding in given.pop("findings", ()))
        plain = {key: _tuple(value) for key, value in given.items()}
        plain |= {
            key: value for key, value in (("experiment", experiment), ("variant", variant)) if value
        }
        return cls(
            **_known(cls, plain),
            ref=paper.get("ref", ""),
            reported=tuple(paper.get("reported", ())),
            findings=found,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields in their documented order, `ref` and `reported` together as `paper`."""
        values = dataclasses.asdict(self)
        paper = {"ref": values.pop("ref"), "reported": list(values.pop("reported"))}
        first = {key: values.pop(key) for key in ("id", "claim", "verdict", "qualifier")}
        # tuples to lists
        return json.loads(json.dumps({**first, "paper": paper, **values}, allow_nan=False))


@dataclasses.dataclass(frozen=True)
class Erratum:
    """A point at which the printed setting cannot be taken literally: neutral wording, evidence,
    and what is done instead.
    """

    id: str
    where: str
    printed: str
    found: str
    evidence: str
    software: str
    numbers: tuple[tuple[str, float], ...] = ()

    def __post_init__(self):
        require(
            re.fullmatch(r"[\w.-]+", self.id),
            f"erratum id {self.id!r}",
            "letters, digits, '.', '-' and '_'",
            "rename it",
        )
        for name in ("printed", "found", "evidence", "software"):
            require(
                getattr(self, name).strip(),
                f"erratum {self.id}: {name} is empty",
                "a sentence",
                "an erratum without evidence is an opinion",
            )
        for label, value in self.numbers:
            finite(value, f"erratum {self.id}: {label}")


@dataclasses.dataclass(frozen=True)
class SignatureRow:
    """Which failure a run's loss pattern shows, and the answer of every signature that could be
    asked: (failure, answer, because).
    """

    run: str
    failure: str
    sentence: str
    checks: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def from_json(cls, run: str, values: Mapping[str, Any]) -> "SignatureRow":
        """From `lab.signatures.Diagnosis.to_json()`."""
        measured = {
            name: check
            for name, check in values["checks"].items()
            if not check["because"].startswith(NOT_MEASURED)
        }
        checks = tuple(
            (name, check["answer"], check["because"]) for name, check in measured.items()
        )
        return cls(run, values["failure"], values["sentence"], checks)


@dataclasses.dataclass(frozen=True)
class Table:
    """Any further table of an experiment, such as fitted slopes with their intervals."""

    experiment: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]

    def __post_init__(self):
        for row in self.rows:
            require(
                len(row) == len(self.columns),
                f"table {self.caption!r}: a row of {len(row)}",
                f"{len(self.columns)} cells",
                "one a column",
            )


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A section of the report: one of the paper's experiments, or (`check`) one that its readers
    ask for.
    """

    id: str
    title: str
    # what was run: variant (or ""), and a sentence or more
    settings: tuple[tuple[str, str], ...] = ()
    check: bool = False

    def __post_init__(self):
        require(
            re.fullmatch(r"[\w-]+", self.id),
            f"experiment id {self.id!r}",
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
    """Everything that is shown. Verdicts, arms, figures and tables name the experiment whose
    section they belong to.
    """

    title: str
    profile: str
    seconds: float
    command: str
    experiments: tuple[Experiment, ...]
    verdicts: tuple[VerdictRow, ...] = ()
    arms: tuple[Arm, ...] = ()
    figures: tuple[FigureData, ...] = ()
    tables: tuple[Table, ...] = ()
    signatures: tuple[SignatureRow, ...] = ()
    errata: tuple[Erratum, ...] = ()
    specs: tuple[SpecFile, ...] = ()
    notes: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    store: str = ""

    def __post_init__(self):
        sections = [experiment.id for experiment in self.experiments]
        for item in (*self.verdicts, *self.arms, *self.figures, *self.tables):
            if item.experiment not in sections:
                raise unknown("experiment", item.experiment, sections)
        _once(sections, "experiment")
        _once([row.id for row in self.verdicts], "verdict")
        _once([figure.name for figure in self.figures], "figure")
        _once([erratum.id for erratum in self.errata], "erratum")
        _once([spec.name for spec in self.specs], "spec file")
        _once([(arm.experiment, arm.variant, arm.name, arm.cell) for arm in self.arms], "arm")
        require(
            math.isfinite(self.seconds) and self.seconds >= 0,
            f"{self.seconds} seconds",
            "a number >= 0",
            "measure the time",
        )

    def of(self, experiment: str, kind: str) -> tuple[Any, ...]:
        """The verdicts, arms, figures or tables of one experiment, in the order given."""
        return tuple(item for item in getattr(self, kind) if item.experiment == experiment)


def _once(names: Iterable[object], what: str) -> None:
    names = list(names)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    require(
        not twice, f"{what} {', '.join(twice)} given twice", "each once", "rename or remove one"
    )


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _known(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(cls)]
    strange = sorted(set(values) - set(names))
    if strange:
        raise InputError(
            f"{cls.__name__} with {', '.join(strange)}",
            f"only {', '.join(names)}",
            "add the field to the record",
        )
    return dict(values)
