"""Verdicts: what the runs say about a hypothesis fixed before them. Outcomes are values with a sentence, never exceptions.

**One part in one cell** (a `Finding`): supported if its 90% interval lies in the claim's support region, which is the same
as p <= alpha (one-sided t, or TOST for "no benefit").

**Compound claims and cells**: every part must be supported in every cell, an intersection-union test: it has level alpha
with the *largest* p-value and no correction. Any refuted part in any cell refutes. That is a union, which does need a
correction: with n findings, one that refutes must do so at alpha/n, else twelve cells that all sit on the margin would
"refute" in 46% of studies. With one part and one cell this is the plain rule (interval on the other side of the margin).

**The family**: `p_adjusted` is the largest p-value after Holm over the registered insights. Supported requires
p_adjusted <= alpha. As p_adjusted >= p, this implies that every interval lies in its support region: the interval rule is
necessary, Holm decides. A claim that its intervals support but Holm does not is inconclusive and the sentence says so.
Refutation is controlled a study at a time, not over the family: it is the cautious direction. A hypothesis outside the
theorem's assumptions is not tested and takes no place among the p-values.

**Qualifiers** add a reading and never change the outcome:
`trainability, not expressivity` — in some part the losing arm's learned loss stays above 10 x its computed floor in *every*
cell, so that training and not the architecture explains the loss (the sentence names the parts; ratios only: ten times a
floor in nats has no meaning);
`depends on optimiser/init` — supported in some cells and not in others, although the others are complete.
"""

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from headcount.core.errors import require, unknown
from headcount.lab.evidence import Finding, findings
from headcount.lab.hypothesis import ArmResult, Hypothesis
from headcount.lab.statistics import Interval, Scale, holm


class Outcome(enum.Enum):
    """What a study concludes, with the sentence that a report prints."""

    SUPPORTED = ("supported", "Every part holds in every cell, beyond the margin fixed in advance and after Holm's correction.")
    NOT_SUPPORTED = ("not supported", "At least one part is refuted: its interval lies wholly on the other side of the margin.")
    INCONCLUSIVE = ("inconclusive", "The runs neither support nor refute the claim at the level fixed in advance.")
    OUTSIDE = ("outside the theorem's assumptions", "The setting is not covered by the theorem that the claim rests on.")

    def __init__(self, text: str, sentence: str):
        self.text, self.sentence = text, sentence


class Qualifier(enum.Enum):
    """What must be said beside an outcome."""

    TRAINABILITY = ("trainability, not expressivity", "The losing arm can do far better than it learned: its computed floor is far below.")
    DEPENDS = ("depends on optimiser/init", "The claim holds for some learning rates and initialisations and not for others.")

    def __init__(self, text: str, sentence: str):
        self.text, self.sentence = text, sentence


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The outcome, the number it hangs on (`measured` and `ci`, of the finding that decided), and all findings."""

    hypothesis: Hypothesis
    outcome: Outcome
    qualifiers: tuple[Qualifier, ...]
    sentence: str
    measured: float | None
    ci: Interval | None
    floor: float | None
    seeds: int
    p: float | None
    p_adjusted: float | None
    deviations: tuple[str, ...]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """The row of `verdicts.json`, then what the report shows beside it."""
        h = self.hypothesis
        return {
            "id": h.id,
            "claim": h.claim,
            "verdict": self.outcome.text,
            "qualifier": "; ".join(qualifier.text for qualifier in self.qualifiers) or None,
            "paper": {"ref": str(h.ref), "reported": [str(figure) for figure in h.reported]},
            "measured": self.measured,
            "ci": self.ci and self.ci.to_json(),
            "floor": self.floor,
            "seeds": self.seeds,
            "p_adjusted": self.p_adjusted,
            "deviations": list(self.deviations),
            "sentence": self.sentence,
            "scale": h.scale.unit,
            "margin": h.margin,
            "expected": h.expected,
            "p": self.p,
            "criteria": [part.claim.sentence(h.scale, h.margin) for part in h.parts],
            "findings": [finding.to_json() for finding in self.findings],
        }


def decide(hypothesis: Hypothesis, results: Iterable[ArmResult], family_size: int = 1, resamples: int = 9999) -> Verdict:
    """The verdict on one hypothesis; `family_size` counts the insights registered with it, the others as not run."""
    return decide_family([hypothesis], {hypothesis.id: results}, family_size, resamples)[0]


def decide_family(
    hypotheses: Sequence[Hypothesis],
    results: Mapping[str, Iterable[ArmResult]],
    family_size: int | None = None,
    resamples: int = 9999,
) -> tuple[Verdict, ...]:
    """Verdicts on a family, p-values adjusted together. `results` by hypothesis id; one without results is inconclusive."""
    ids = [h.id for h in hypotheses]
    require(len(set(ids)) == len(ids), f"hypotheses {ids}", "each id once", "rename one")
    require(len({h.alpha for h in hypotheses}) <= 1, "hypotheses with different alpha", "one alpha for the family", "set them equal")
    for name in results:
        if name not in ids:
            raise unknown("hypothesis", name, ids)
    found = {h.id: findings(h, results.get(h.id, ()), resamples) for h in hypotheses}
    tested = [h for h in hypotheses if not h.outside]
    worst = {h.id: max(finding.p for finding in found[h.id]) for h in tested}
    adjusted = holm(np.array([worst[h.id] for h in tested]), family_size)
    p_adjusted = dict(zip(worst, map(float, adjusted), strict=True))
    return tuple(_conclude(h, found[h.id], p_adjusted.get(h.id)) for h in hypotheses)


def _conclude(h: Hypothesis, found: tuple[Finding, ...], p_adjusted: float | None) -> Verdict:
    p = max(finding.p for finding in found)
    refuting = min(found, key=lambda finding: finding.p_refute)
    measured = _outcome(p if p_adjusted is None else p_adjusted, refuting.p_refute * len(found), h.alpha)
    # The finding that decided: the strongest refutation, else the weakest support.
    deciding = refuting if measured is Outcome.NOT_SUPPORTED else max(found, key=lambda finding: finding.p)
    limited = _trainability(h, found)
    supported, unsupported = _cells(h, found)
    qualifiers = []
    if limited:
        qualifiers.append(Qualifier.TRAINABILITY)
    if supported and unsupported:
        qualifiers.append(Qualifier.DEPENDS)
    outcome = Outcome.OUTSIDE if h.outside else measured
    blocked = tuple(f"{finding.part}, {finding.cell}: {finding.blocked}" for finding in found if finding.blocked)
    noted = tuple(f"{finding.part}, {finding.cell}: {note}" for finding in found for note in finding.notes)
    return Verdict(
        hypothesis=h,
        outcome=outcome,
        qualifiers=tuple(qualifiers),
        sentence=" ".join(_sentences(h, outcome, measured, found, deciding, limited, supported, unsupported)),
        measured=deciding.effect,
        ci=deciding.ci,
        floor=deciding.floor,
        seeds=min(finding.seeds for finding in found),
        p=None if h.outside else p,
        p_adjusted=p_adjusted,
        deviations=tuple(dict.fromkeys((*h.deviations, *blocked, *noted))),
        findings=found,
    )


def _outcome(p: float, p_refute: float, alpha: float) -> Outcome:
    """Both at once cannot be: the regions do not overlap, and alpha < 1/2."""
    if p_refute <= alpha:
        return Outcome.NOT_SUPPORTED
    return Outcome.SUPPORTED if p <= alpha else Outcome.INCONCLUSIVE


def _cells(h: Hypothesis, found: tuple[Finding, ...]) -> tuple[list[str], list[str]]:
    """Cells in which every part is supported, and the other cells; those whose runs are missing are in neither."""
    complete = [cell for cell in h.cells if all(finding.effect is not None for finding in found if finding.cell == cell)]
    worst = {cell: max(finding.p for finding in found if finding.cell == cell) for cell in complete}
    return [cell for cell in complete if worst[cell] <= h.alpha], [cell for cell in complete if worst[cell] > h.alpha]


def _trainability(h: Hypothesis, found: tuple[Finding, ...]) -> list[Finding]:
    """For each part that an arm lost with a learned loss far above its floor in every cell: the best that training did."""
    limited = []
    for part in h.parts:
        lost = [finding for finding in found if finding.part == part.name and finding.lost]
        if h.scale is Scale.LOG10_RATIO and lost and all(finding.far_above_floor(h.trivial) for finding in lost):
            limited.append(min(lost, key=lambda finding: finding.loss or 0.0))
    return limited


def _sentences(
    h: Hypothesis,
    outcome: Outcome,
    measured: Outcome,
    found: tuple[Finding, ...],
    deciding: Finding,
    limited: list[Finding],
    supported: list[str],
    unsupported: list[str],
) -> Iterable[str]:
    yield outcome.sentence
    if h.outside:
        yield f"Why: {h.outside}. The runs alone would read: {measured.text}."
    if deciding.blocked:
        yield f"{deciding.part}, {deciding.cell}: {deciding.blocked}."
    elif deciding.effect is not None and deciding.ci is not None:
        where = f"{deciding.part}, {deciding.cell}" if len(h.cells) > 1 else deciding.part
        yield f"Deciding: {where}, effect {deciding.effect:.3g} [{deciding.ci.low:.3g}, {deciding.ci.high:.3g}]."
    if measured is Outcome.INCONCLUSIVE and all(finding.p <= h.alpha for finding in found):
        yield "Its intervals alone support it; Holm's correction over the family does not."
    if measured is Outcome.INCONCLUSIVE and any(finding.p_refute <= h.alpha for finding in found):
        yield f"An interval lies on the other side of the margin, but not after correction for {len(found)} comparisons."
    if supported and unsupported:
        yield f"{Qualifier.DEPENDS.sentence} Supported in {'; '.join(supported)}, not in {'; '.join(unsupported)}."
    for finding in limited:
        yield f"{finding.part}: {finding.losing} learned {finding.loss:.3g} at best, its computed floor is {finding.floor:.3g}."
