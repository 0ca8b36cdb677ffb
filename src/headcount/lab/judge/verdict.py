"""Verdicts: what is said of a claim that was fixed before. Outcomes are values, never exceptions.

**Compound claims**: every part must be supported, an intersection-union test: it has level alpha
with the *largest* p-value and no correction. One refuted part refutes. That is a union, which does
need a correction: with n parts, the smallest p-value times n.

**The family**: the paper's claims about training, at most two per insight, are one family, whether
they are run or not; Holm's correction is over it, for support and for refutation alike: a false
refutation of a published claim is as costly as a false support. Further claims are a family of
their own.

**Looks**: a claim is looked at when 10, 20 and 40 seeds are there and left alone once decided
(`statistics.Looks`). The p-values hold at every look, so that stopping early costs nothing more.

**Power** is printed with every verdict: the chance that this design, with the seeds of its profile
and at the first step of Holm, decides as claimed if the effect is the registered one and the noise
is the one measured. Ten seeds tell a spread roughly, so it is a rough number. An
undecided claim says how many seeds it would take.

**Shortfalls** add a reading and never change the outcome: an arm that is behind learned more than
ten times its computed floor, so that training, not the architecture, explains the loss.
"""

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from headcount.core.errors import require, unknown
from headcount.core.html_table import html_table
from headcount.core.refs import Ref
from headcount.lab.judge.evidence import Finding, findings, finite
from headcount.lab.judge.hypothesis import ArmResult, Hypothesis, Kind, Reported, claim_key
from headcount.lab.judge.statistics import Interval, Scale, holm, power, seeds_needed


class Outcome(enum.StrEnum):
    """What is said of a claim."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_JUDGED = "not judged"  # not run at all, or not to the first look

    @property
    def decided(self) -> bool:
        return self in (Outcome.SUPPORTED, Outcome.REFUTED)


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """An arm that learned far more than the loss computed for its architecture."""

    part: str
    arm: str
    learned: float
    floor: float

    def __str__(self) -> str:
        return (
            f"{self.arm} learned {self.learned:.2g}, its computed floor is {self.floor:.2g}: "
            "training, not the architecture"
        )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The outcome, and the numbers it hangs on: of the part that decided, where there are several.

    `floor` is what was computed for the arm that is behind. `seeds_needed` is told where more
    seeds would decide.
    """

    insight: str
    kind: Kind
    claim: str
    outcome: Outcome
    sentence: str
    further: bool = False
    name: str = ""
    ref: Ref | None = None
    reported: tuple[Reported, ...] = ()
    effect: float | None = None
    interval: Interval | None = None
    scale: str = ""
    seeds: int = 0
    power: float | None = None
    floor: float | None = None
    p: float | None = None  # after Holm
    p_refute: float | None = None
    seeds_needed: float | None = None
    criteria: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Verdict({self.insight} {self.name}: {self.outcome})"

    def _repr_html_(self) -> str:
        header = ("insight", "outcome", "seeds", "what was found")
        return html_table(
            self.claim, header, [(self.insight, self.outcome, self.seeds, self.sentence)]
        )

    notes: tuple[str, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def key(self) -> str:
        return claim_key(self.insight, self.kind, self.name)

    def to_json(self) -> dict[str, Any]:
        """The row of `verdicts.json`: what scripts read first, then the rest."""
        return {
            "insight": self.insight,
            "kind": str(self.kind),
            "outcome": str(self.outcome),
            "effect": finite(self.effect),
            "interval": self.interval and self.interval.to_json(),
            "scale": self.scale,
            "seeds": self.seeds,
            "power": self.power,
            "floor": self.floor,
            "paper": [str(figure) for figure in self.reported],
            "sentence": self.sentence,
            "further": self.further,
            "name": self.name,
            "claim": self.claim,
            "ref": None if self.ref is None else str(self.ref),
            "p": self.p,
            "p_refute": self.p_refute,
            "seeds_needed": finite(self.seeds_needed),
            "criteria": list(self.criteria),
            "notes": list(self.notes),
            "shortfalls": [dataclasses.asdict(short) for short in self.shortfalls],
            "findings": [finding.to_json() for finding in self.findings],
        }


def ordered(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """By insight, the paper's own claims before further ones, existence before training."""
    kinds = list(Kind)
    return tuple(sorted(verdicts, key=lambda v: (v.further, v.insight, kinds.index(v.kind))))


@dataclasses.dataclass(frozen=True)
class Judged:
    """A hypothesis with the findings on the seeds that have run."""

    hypothesis: Hypothesis
    findings: tuple[Finding, ...]
    seeds: int  # registered for it in this profile

    @property
    def complete(self) -> bool:
        """Has every part reached its first look?"""
        return all(finding.seeds for finding in self.findings)

    @property
    def p(self) -> float:
        return max(finding.p for finding in self.findings)

    @property
    def p_refute(self) -> float:
        least = min(finding.p_refute for finding in self.findings)
        return min(1.0, len(self.findings) * least)


def judge(
    hypotheses: Sequence[Hypothesis],
    results: Mapping[str, Iterable[ArmResult]],
    seeds: Mapping[str, Sequence[int]],
    family_size: int | None = None,
) -> tuple[Verdict, ...]:
    """Verdicts on a family. `results` and registered `seeds` by the key of the hypothesis; one
    without results is not judged. `family_size` counts what was registered and is not among them.
    """
    keys = [h.key for h in hypotheses]
    require(len(set(keys)) == len(keys), f"hypotheses {keys}", "each key once", "rename one")
    require(
        len({h.alpha for h in hypotheses}) <= 1,
        "hypotheses with different alpha",
        "one alpha for the family",
        "set them equal",
    )
    for name in results:
        if name not in keys:
            raise unknown("hypothesis", name, keys)
    judged = [
        Judged(h, findings(h, results.get(h.key, ()), mine), len(mine))
        for h in hypotheses
        for mine in (seeds.get(h.key, ()),)
    ]
    size = len(judged) if family_size is None else family_size
    supported = holm(np.array([each.p for each in judged]), size)
    refuted = holm(np.array([each.p_refute for each in judged]), size)
    return tuple(
        _verdict(each, float(p), float(against), size)
        for each, p, against in zip(judged, supported, refuted, strict=True)
    )


def _verdict(judged: Judged, p: float, p_refute: float, family: int) -> Verdict:
    h = judged.hypothesis
    outcome = _outcome(judged, p, p_refute)
    # The strongest refutation, else the weakest support.
    deciding = (
        min(judged.findings, key=lambda finding: finding.p_refute)
        if outcome is Outcome.REFUTED
        else max(judged.findings, key=lambda finding: finding.p)
    )
    shortfalls = tuple(
        Shortfall(finding.part, finding.losing, finding.learned[finding.losing], finding.floor)
        for finding in judged.findings
        if finding.losing is not None
        and finding.floor is not None
        and finding.scale in (Scale.LOG10_RATIO, Scale.EXPLAINED)
        and finding.far_above_floor(h.trivial)
    )
    needed = _seeds_needed(judged, family) if outcome is Outcome.UNDECIDED else None
    return Verdict(
        insight=h.insight,
        kind=h.kind,
        claim=h.claim,
        outcome=outcome,
        sentence=_sentence(judged, outcome, deciding, needed, shortfalls),
        further=h.further,
        name=h.name,
        ref=h.ref,
        reported=h.reported,
        effect=deciding.effect,
        interval=deciding.interval,
        scale=deciding.scale.unit,
        seeds=min(finding.seeds for finding in judged.findings),
        power=_power(judged, family) if judged.complete else None,
        floor=deciding.floor,
        p=p if judged.complete else None,
        p_refute=p_refute if judged.complete else None,
        seeds_needed=needed,
        criteria=tuple(part.claim.sentence() for part in h.parts),
        notes=h.notes,
        shortfalls=shortfalls,
        findings=judged.findings,
    )


def _outcome(judged: Judged, p: float, p_refute: float) -> Outcome:
    """Both at once cannot be at one look: the regions do not overlap, and alpha < 1/2. What was
    decided at an earlier look stands (`lab/run_studies.py`).
    """
    if not judged.complete:
        return Outcome.NOT_JUDGED
    if p_refute <= judged.hypothesis.alpha:
        return Outcome.REFUTED
    return Outcome.SUPPORTED if p <= judged.hypothesis.alpha else Outcome.UNDECIDED


def _power(judged: Judged, family: int) -> float:
    """All parts together, at the first (strictest) step of Holm; parts may differ in seeds."""
    h = judged.hypothesis
    count = min(finding.seeds for finding in judged.findings)
    effects = np.array([finding.effects[:count] for finding in judged.findings])  # [K, R]
    return power(
        effects,
        [part.claim.registered for part in h.parts],
        [part.claim.support for part in h.parts],
        h.looks,
        h.alpha / family,
        judged.seeds,
    )


def _seeds_needed(judged: Judged, family: int) -> float:
    """The fewer of the seeds that support would take and those that refutation would take."""
    h = judged.hypothesis
    level = h.alpha / family / h.looks.factor
    pairs = list(zip(h.parts, judged.findings, strict=True))
    if any(finding.blocked for finding in judged.findings):
        return math.inf
    support = max(
        seeds_needed(np.array(finding.effects), part.claim.support, level)
        for part, finding in pairs
    )
    refute = min(
        seeds_needed(np.array(finding.effects), region, level / len(pairs))
        for part, finding in pairs
        for region in part.claim.refute
    )
    return min(support, refute)


def _sentence(
    judged: Judged,
    outcome: Outcome,
    deciding: Finding,
    needed: float | None,
    shortfalls: Sequence[Shortfall],
) -> str:
    h = judged.hypothesis
    if outcome is Outcome.NOT_JUDGED:
        first = h.looks.seeds[0]
        return f"Not judged here: {deciding.seeds} of the {first} seeds of the first look have run."
    claimed = next(part.claim.sentence() for part in h.parts if part.name == deciding.part)
    told = [f"{outcome.capitalize()}: {claimed}.", _measured(deciding)]
    if outcome is Outcome.UNDECIDED and deciding.blocked:
        told.append(f"{deciding.blocked.value.capitalize()}.")
    elif outcome is Outcome.UNDECIDED:
        told.append(
            f"About {needed:.0f} seeds would decide."
            if needed is not None and math.isfinite(needed)
            else "Its seeds fall on both sides alike: more of them would not decide soon."
        )
    told += [f"{short}." for short in shortfalls]
    return " ".join(told)


def _measured(finding: Finding) -> str:
    interval = finding.interval
    ends = "" if interval is None else f" [{interval.low:.3g}, {interval.high:.3g}]"
    return (
        f"Median effect {finding.effect:.3g}{ends} ({finding.scale.unit}), {finding.seeds} seeds."
    )
