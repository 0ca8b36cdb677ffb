"""Verdicts: what the runs say about a hypothesis fixed before them. Outcomes are values with a
sentence, never exceptions.

**One part in one cell** (a `Finding`): supported if its 90% interval lies in the claim's support
region, which is the same as p <= alpha (one-sided t, or TOST for "no benefit").

**Compound claims and cells**: every part must be supported in every cell, an intersection-union
test: it has level alpha with the *largest* p-value and no correction. Any refuted part in any cell
refutes. That is a union, which does need a correction: with n findings, one that refutes must do so
at alpha/n, else twelve cells that all sit on the margin would "refute" in 46% of studies. With one
part and one cell this is the plain rule (interval on the other side of the margin).

**The family**: `p_adjusted` is the largest p-value after Holm over the registered insights.
Supported requires p_adjusted <= alpha. As p_adjusted >= p, this implies that every interval lies in
its support region: the interval rule is necessary, Holm decides. A claim that its intervals support
but Holm does not is inconclusive and the sentence says so. Refutation is controlled per study, not
over the family: it is the cautious direction. A hypothesis outside the theorem's assumptions is not
tested and takes no place among the p-values.

**Qualifiers** add a reading and never change the outcome: `trainability, not expressivity` — in
some part arms fell short, and in every cell *where one did* its learned loss is above 10 x its
computed floor, so that training and not the architecture explains the loss (the sentence names
part, arm and how many cells; ratios only: ten times a floor in nats has no meaning); `depends on
optimiser/init` — supported in some cells, refuted or undecided in others, although the others are
complete (the sentence says which are which).

**Parts and cells that the sentence lists** are supported if all their findings are, before Holm's
correction, which is over whole claims; refuted if one finding refutes after the correction for n;
else undecided.
"""

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from headcount.core.errors import require, unknown
from headcount.lab.judge.evidence import FAR_ABOVE_FLOOR, Finding, findings
from headcount.lab.judge.hypothesis import ArmResult, Hypothesis
from headcount.lab.judge.statistics import Interval, Scale, holm


class Outcome(enum.Enum):
    """What a study concludes, with the sentence that a report prints."""

    SUPPORTED = (
        "supported",
        (
            "Every part is supported in every cell, by the margin fixed in advance and after Holm's"
            " correction."
        ),
    )
    NOT_SUPPORTED = (
        "not supported",
        (
            "At least one part is refuted: its interval lies wholly on the other side of the margin"
            " or threshold."
        ),
    )
    INCONCLUSIVE = (
        "inconclusive",
        "The runs neither support nor refute the claim at the level fixed in advance.",
    )
    OUTSIDE = (
        "outside the theorem's assumptions",
        "The setting is not covered by the theorem that the claim rests on.",
    )

    def __init__(self, text: str, sentence: str):
        self.text, self.sentence = text, sentence


class Qualifier(enum.Enum):
    """What must be said beside an outcome."""

    TRAINABILITY = (
        "trainability, not expressivity",
        (
            "An arm that fell short can do far better than it learned: its computed floor is far"
            " below."
        ),
    )
    DEPENDS = (
        "depends on optimiser/init",
        (
            "The runs support the claim for some learning rates and initialisations, and refute it"
            " or leave it undecided for others."
        ),
    )

    def __init__(self, text: str, sentence: str):
        self.text, self.sentence = text, sentence


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The outcome, the number it hangs on (`measured` and `ci`, of the finding that decided),
    and all findings.
    """

    hypothesis: Hypothesis
    outcome: Outcome
    qualifiers: tuple[Qualifier, ...]
    sentences: tuple[str, ...]  # the outcome first, then what it rests on
    measured: float | None
    ci: Interval | None
    floor: float | None
    seeds: int
    p: float | None
    p_adjusted: float | None
    deviations: tuple[str, ...]
    findings: tuple[Finding, ...]
    unit: str  # of `measured` and `ci`

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)

    @property
    def qualifier(self) -> str | None:
        return "; ".join(qualifier.text for qualifier in self.qualifiers) or None

    @property
    def criteria(self) -> tuple[str, ...]:
        """What was to be shown, one per part, in words."""
        h = self.hypothesis
        return tuple(part.claim.sentence(h.scale, h.margin) for part in h.parts)

    def to_json(self) -> dict[str, Any]:
        """The row of `verdicts.json`, then what the report shows beside it."""
        h = self.hypothesis
        return {
            "id": h.id,
            "claim": h.claim,
            "verdict": self.outcome.text,
            "qualifier": self.qualifier,
            "paper": {"ref": str(h.ref), "reported": [str(figure) for figure in h.reported]},
            "measured": self.measured,
            "ci": self.ci and self.ci.to_json(),
            "floor": self.floor,
            "seeds": self.seeds,
            "p_adjusted": self.p_adjusted,
            "deviations": list(self.deviations),
            "sentence": self.sentence,
            "scale": self.unit,
            "margin": h.margin,
            "expected": h.expected,
            "p": self.p,
            "criteria": list(self.criteria),
            "findings": [finding.to_json() for finding in self.findings],
        }


def decide(
    hypothesis: Hypothesis,
    results: Iterable[ArmResult],
    family_size: int = 1,
    resamples: int = 9999,
) -> Verdict:
    """The verdict on one hypothesis; `family_size` counts the insights registered with it, the
    others as not run.
    """
    return decide_family([hypothesis], {hypothesis.id: results}, family_size, resamples)[0]


def decide_family(
    hypotheses: Sequence[Hypothesis],
    results: Mapping[str, Iterable[ArmResult]],
    family_size: int | None = None,
    resamples: int = 9999,
) -> tuple[Verdict, ...]:
    """Verdicts on a family, p-values adjusted together. `results` by hypothesis id; one without
    results is inconclusive.
    """
    ids = [h.id for h in hypotheses]
    require(len(set(ids)) == len(ids), f"hypotheses {ids}", "each id once", "rename one")
    require(
        len({h.alpha for h in hypotheses}) <= 1,
        "hypotheses with different alpha",
        "one alpha for the family",
        "set them equal",
    )
    for name in results:
        if name not in ids:
            raise unknown("hypothesis", name, ids)
    found = {h.id: findings(h, results.get(h.id, ()), resamples) for h in hypotheses}
    tested = [h for h in hypotheses if not h.outside]
    worst = {h.id: max(finding.p for finding in found[h.id]) for h in tested}
    adjusted = holm(np.array([worst[h.id] for h in tested]), family_size)
    p_adjusted = dict(zip(worst, map(float, adjusted), strict=True))
    return tuple(_conclude(h, found[h.id], p_adjusted.get(h.id)) for h in hypotheses)


@dataclasses.dataclass(frozen=True)
class _Groups:
    """Cells, or parts, by what the runs say of them."""

    supported: tuple[str, ...]
    refuted: tuple[str, ...]
    undecided: tuple[str, ...]

    @property
    def mixed(self) -> bool:
        return bool(self.supported) and bool(self.refuted or self.undecided)

    def listed(self, before: str, joint: str, quote: str = "") -> str:
        """The groups that are not empty: 'supported in a and b; refuted in c'."""
        groups = dataclasses.asdict(self).items()
        return "; ".join(
            f"{said}{before}{joint.join(f'{quote}{name}{quote}' for name in names)}"
            for said, names in groups
            if names
        )


@dataclasses.dataclass(frozen=True)
class _Shortfall:
    """An arm that fell short in a part, by training, in so many cells: the best it learned
    there, and in any cell, beside its floor.
    """

    part: str
    arm: str
    cells: int
    there: float
    anywhere: float
    floor: float

    def sentence(self, cells: int) -> str:
        learned = f"{self.part}: {self.arm} learned {self.there:.3g} at best"
        if self.cells < cells:
            elsewhere = (
                "" if self.anywhere >= self.there else f" ({self.anywhere:.3g} over all cells)"
            )
            learned += f" in the {self.cells} of {cells} cells where it fell short{elsewhere}"
        return f"{learned}, its computed floor is {self.floor:.3g}."


@dataclasses.dataclass(frozen=True)
class _Reading:
    """What is read off the findings of one hypothesis, for qualifiers and sentences."""

    hypothesis: Hypothesis
    found: tuple[Finding, ...]
    outcome: Outcome
    measured: Outcome  # what the runs alone say
    deciding: Finding
    cells: _Groups
    parts: _Groups
    short: tuple[_Shortfall, ...]
    at_floor: tuple[str, ...]  # where the architecture decides, in sentences

    @property
    def qualifiers(self) -> tuple[Qualifier, ...]:
        shown = ((Qualifier.TRAINABILITY, bool(self.short)), (Qualifier.DEPENDS, self.cells.mixed))
        return tuple(qualifier for qualifier, holds in shown if holds)


def _conclude(h: Hypothesis, found: tuple[Finding, ...], p_adjusted: float | None) -> Verdict:
    p = max(finding.p for finding in found)
    reading = _read(h, found, p if p_adjusted is None else p_adjusted)
    deciding = reading.deciding
    blocked = tuple(_blocked(found))
    noted = tuple(
        f"{finding.part}, {finding.cell}: {note}" for finding in found for note in finding.notes
    )
    return Verdict(
        hypothesis=h,
        outcome=reading.outcome,
        qualifiers=reading.qualifiers,
        sentences=tuple(_sentences(reading)),
        measured=deciding.effect,
        ci=deciding.ci,
        floor=deciding.floor,
        seeds=min(finding.seeds for finding in found),
        p=None if h.outside else p,
        p_adjusted=p_adjusted,
        deviations=tuple(dict.fromkeys((*h.deviations, *blocked, *noted))),
        findings=found,
        unit=deciding.unit,
    )


def _blocked(found: Sequence[Finding]) -> Iterable[str]:
    """What kept comparisons from deciding: each reason once, with its parts and cells."""
    for reason in dict.fromkeys(finding.blocked for finding in found if finding.blocked):
        where = [
            f"{finding.part}, {finding.cell}" for finding in found if finding.blocked == reason
        ]
        few = len(where) <= 2
        named = "; ".join(where) if few else f"{len(where)} of {len(found)} comparisons"
        yield f"{named}: {reason}"


def _read(h: Hypothesis, found: tuple[Finding, ...], p: float) -> _Reading:
    refuting = min(found, key=lambda finding: finding.p_refute)
    measured = _outcome(p, refuting.p_refute * len(found), h.alpha)
    by_cell = {cell: [finding for finding in found if finding.cell == cell] for cell in h.cells}
    complete = {
        cell: each
        for cell, each in by_cell.items()
        if all(finding.effect is not None for finding in each)
    }
    by_part = {
        part.name: [finding for finding in found if finding.part == part.name] for part in h.parts
    }
    return _Reading(
        hypothesis=h,
        found=found,
        outcome=Outcome.OUTSIDE if h.outside else measured,
        measured=measured,
        # The strongest refutation, else the weakest support.
        deciding=(
            refuting
            if measured is Outcome.NOT_SUPPORTED
            else max(found, key=lambda finding: finding.p)
        ),
        cells=_groups(complete, h.alpha, len(found)),
        parts=_groups(by_part, h.alpha, len(found)),
        short=tuple(short for each in by_part.values() for short in _shortfalls(h, each)),
        at_floor=tuple(sentence for each in by_part.values() for sentence in _at_floors(h, each)),
    )


def _outcome(p: float, p_refute: float, alpha: float) -> Outcome:
    """Both at once cannot be: the regions do not overlap, and alpha < 1/2."""
    if p_refute <= alpha:
        return Outcome.NOT_SUPPORTED
    return Outcome.SUPPORTED if p <= alpha else Outcome.INCONCLUSIVE


def _groups(found: Mapping[str, Sequence[Finding]], alpha: float, comparisons: int) -> _Groups:
    """Each name by its findings: all must support, one that refutes after correction is enough."""
    said = {
        name: _outcome(
            max(finding.p for finding in each),
            min(finding.p_refute for finding in each) * comparisons,
            alpha,
        )
        for name, each in found.items()
    }
    wanted = (Outcome.SUPPORTED, Outcome.NOT_SUPPORTED, Outcome.INCONCLUSIVE)
    return _Groups(
        *(tuple(name for name, outcome in said.items() if outcome is one) for one in wanted)
    )


def _shortfalls(h: Hypothesis, found: Sequence[Finding]) -> Iterable[_Shortfall]:
    """The arms that fell short in one part, if every one of them did so far above its floor in
    every cell where it did.
    """
    lost = [finding for finding in found if finding.lost]
    if h.scale is not Scale.LOG10_RATIO or not all(
        finding.far_above_floor(h.trivial) for finding in lost
    ):
        return
    for arm in dict.fromkeys(finding.losing for finding in lost if finding.losing is not None):
        mine = [finding for finding in lost if finding.losing == arm]
        floor = max(finding.floor for finding in mine if finding.floor is not None)
        anywhere = [finding.learned[arm] for finding in found if arm in finding.learned]
        yield _Shortfall(
            mine[0].part,
            arm,
            len(mine),
            min(finding.learned[arm] for finding in mine),
            min(anywhere),
            floor,
        )


def _at_floors(h: Hypothesis, found: Sequence[Finding]) -> Iterable[str]:
    """The arms that fell short in one part and are near their floor in every cell where they
    did: training explains nothing there.
    """
    for arm in dict.fromkeys(
        finding.losing for finding in found if finding.lost and finding.losing is not None
    ):
        mine = [finding for finding in found if finding.lost and finding.losing == arm]
        if all(
            finding.floor is not None and not finding.far_above_floor(h.trivial) for finding in mine
        ):
            yield (
                f"{mine[0].part}: {arm} is within {FAR_ABOVE_FLOOR:g} times its floor wherever it"
                " fell short, so there the architecture decides."
            )


def _sentences(r: _Reading) -> Iterable[str]:
    h, deciding = r.hypothesis, r.deciding
    yield r.outcome.sentence
    if h.outside:
        yield f"Why: {h.outside}. The runs alone would read: {r.measured.text}."
    if deciding.blocked:
        yield f"{deciding.part}, {deciding.cell}: {deciding.blocked}."
    elif deciding.effect is not None and deciding.ci is not None:
        where = f"{deciding.part}, {deciding.cell}" if len(h.cells) > 1 else deciding.part
        claimed = next(
            part.claim.sentence(h.scale, h.margin) for part in h.parts if part.name == deciding.part
        )
        yield (
            f"Deciding: {where}, effect {deciding.effect:.3g} [{deciding.ci.low:.3g},"
            f" {deciding.ci.high:.3g}] ({deciding.unit})."
        )
        yield f"Claimed there: {claimed}."
    if r.measured is Outcome.NOT_SUPPORTED:
        corrected = f", corrected for {len(r.found)} comparisons" if len(r.found) > 1 else ""
        yield f"Against the claim: p = {min(1.0, deciding.p_refute * len(r.found)):.2g}{corrected}."
    if r.measured is Outcome.INCONCLUSIVE and all(finding.p <= h.alpha for finding in r.found):
        yield "Its intervals alone support it; Holm's correction over the family does not."
    if r.measured is Outcome.INCONCLUSIVE and any(
        finding.p_refute <= h.alpha for finding in r.found
    ):
        yield (
            "An interval lies on the other side of the margin or threshold, but not after"
            f" correction for {len(r.found)} comparisons."
        )
    if len(h.parts) > 1:
        yield "Parts " + r.parts.listed(": ", ", ", quote='"') + "."
    if r.cells.mixed:
        yield f"{Qualifier.DEPENDS.sentence} It is {r.cells.listed(' in ', ' and ')}."
    for short in r.short:
        yield short.sentence(len(h.cells))
    if r.short:
        yield from r.at_floor
