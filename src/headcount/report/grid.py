"""The first screen as data: every insight of the paper with its three verdicts, and one plain
sentence made from them.

    exists     what is said of weights; nothing is trained
    trained    what a trained model of the named size reaches
    contrast   the comparison of two sizes or parts

Claims that the paper does not make come after these, marked `further`.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

from headcount.core.plural import counted
from headcount.lab.judge.hypothesis import Kind
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Outcome, Verdict, ordered
from headcount.lab.study_outcome import StudyOutcome
from headcount.report.wording import listed, number, rounded

INSIGHTS = {
    "1a": "Nested memories: more layers help more than more heads and width.",
    "1b": "Unrelated memories: one layer with enough heads and neurons suffices.",
    "2a": "A complex readout of a simple memory: neurons help, heads bring almost nothing.",
    "2b": "A simple readout of several memories: heads help, neurons bring almost nothing.",
    "3a": "Simple tasks: a model without the dot product suffices.",
    "3b": "Language: a model with the dot product is more efficient than one without.",
    "4a": "Heavy tails: one log head learns what 64 lin heads do not.",
    "4b": "Light tails: one lin head learns what 64 log heads do not.",
}
COLUMNS = {Kind.EXISTS: "Exists", Kind.TRAINED: "Trained", Kind.CONTRAST: "Contrast"}
SAID = {
    Kind.EXISTS: {
        Outcome.SUPPORTED: "what is claimed of weights holds",
        Outcome.REFUTED: "what is claimed of weights is false",
        Outcome.UNDECIDED: "what weights can do is open",
    },
    Kind.TRAINED: {
        Outcome.SUPPORTED: "trained models do what is claimed",
        Outcome.REFUTED: "trained models do not do what is claimed",
        Outcome.UNDECIDED: "whether trained models do it is open",
    },
    Kind.CONTRAST: {
        Outcome.SUPPORTED: "the comparison comes out as claimed",
        Outcome.REFUTED: "the comparison comes out against the claim",
        Outcome.UNDECIDED: "the comparison is open",
    },
}
UNJUDGED = {
    Kind.EXISTS: "what weights can do",
    Kind.TRAINED: "training",
    Kind.CONTRAST: "the comparison",
}


@dataclasses.dataclass(frozen=True)
class GridRow:
    """One insight. A cell is None where no claim of that kind is registered."""

    insight: str
    claim: str
    cells: tuple[Verdict | None, ...]  # in the order of COLUMNS

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        told = [cell for cell in self.cells if cell is not None]
        judged = [_told(cell) for cell in told if cell.outcome is not Outcome.NOT_JUDGED]
        left = [UNJUDGED[cell.kind] for cell in told if cell.outcome is Outcome.NOT_JUDGED]
        if left:
            judged.append(f"{listed(left)} {'is' if len(left) == 1 else 'are'} not judged here")
        text = "; ".join(judged)
        return f"{text[:1].upper()}{text[1:]}."


def in_order(outcomes: Iterable[StudyOutcome]) -> tuple[Verdict, ...]:
    """Every verdict once: exists, trained and contrast of each insight, then the further claims."""
    found = {verdict.key: verdict for outcome in outcomes for verdict in outcome.verdicts}
    return ordered(found.values())


def grid(verdicts: Sequence[Verdict]) -> tuple[GridRow, ...]:
    """A row for every insight that has a verdict on one of the paper's claims."""
    main = [verdict for verdict in verdicts if not verdict.further]
    rows = []
    for insight in dict.fromkeys(verdict.insight for verdict in main):
        mine = {verdict.kind: verdict for verdict in main if verdict.insight == insight}
        claim = INSIGHTS.get(insight) or list(mine.values())[-1].claim
        rows.append(GridRow(insight, claim, tuple(mine.get(kind) for kind in COLUMNS)))
    return tuple(rows)


def amount_of_work(outcomes: Sequence[StudyOutcome]) -> str:
    """What was trained, in a sentence; '' for nothing."""
    arms = [arm for outcome in outcomes for arm in outcome.arms]
    runs = sum(len(learned.losses) for arm in arms for learned in arm.learned)
    experiments = len({outcome.study.id for outcome in outcomes if outcome.arms})
    settings = sum(bool(learned.losses) for arm in arms for learned in arm.learned)
    if not runs:
        return ""
    return (
        f"{counted(runs, 'trained model')} {'is' if runs == 1 else 'are'} shown: the seeds of"
        f" {counted(settings, 'arm')} (one architecture with one setting of its training) in"
        f" {counted(experiments, 'experiment')}."
    )


def opening(verdicts: Sequence[Verdict], profile: str, work: str = "") -> tuple[str, ...]:
    """At most three sentences: how much was judged, how it came out, and what else there is; where
    nothing is judged, what was done (`work`) and what would judge.
    """
    if not verdicts:
        more = "Profiles laptop and full judge the paper's claims." if work else ""
        return tuple(filter(None, ("No claim was judged in this run.", work, more)))
    main = [verdict for verdict in verdicts if not verdict.further]
    count = {o: sum(v.outcome is o for v in main) for o in Outcome}
    judged = len(main) - count[Outcome.NOT_JUDGED]
    claims = "claim" if len(main) == 1 else "claims"
    if not judged:
        told = [f"None of the {len(main)} {claims} of the paper was judged in profile {profile}."]
    else:
        parts = [f"{count[o]} {o}" for o in SAID[Kind.EXISTS] if count[o]]
        told = [
            f"Of {len(main)} {claims} of the paper, {judged} {'was' if judged == 1 else 'were'}"
            f" judged in profile {profile}: {listed(parts)}."
        ]
    if judged and count[Outcome.NOT_JUDGED]:
        left = count[Outcome.NOT_JUDGED]
        told.append(f"{left} {'is' if left == 1 else 'are'} not judged here.")
    further = [verdict for verdict in verdicts if verdict.further]
    if further:
        one = "claim, which the paper does not make, is"
        several = "claims, which the paper does not make, are"
        told.append(f"{len(further)} further {several if len(further) > 1 else one} told apart.")
    return tuple(told)


def judges_training(verdicts: Iterable[Verdict]) -> bool:
    """Was any claim about training judged?"""
    return any(v.kind is not Kind.EXISTS and v.outcome is not Outcome.NOT_JUDGED for v in verdicts)


def amount(verdict: Verdict) -> str:
    """The effect of a verdict in plain words; '' where it has none that is finite.

    >>> from headcount.lab.judge.verdict import Verdict
    >>> v = Verdict("4a", Kind.CONTRAST, "c", Outcome.SUPPORTED, "s", effect=2.0,
    ...             scale="log10 ratio")
    >>> amount(v)
    'loss smaller by a factor of 100'
    """
    effect = verdict.effect
    if effect is None or not math.isfinite(effect):
        return ""
    if verdict.kind is Kind.EXISTS:
        return f"best weights known: {number(effect, 2)}"
    size = _size(verdict, abs(effect))
    if verdict.kind is Kind.TRAINED:
        return f"threshold {'passed' if effect > 0 else 'missed'} by {size}"
    if verdict.scale == Scale.LOG10_RATIO.unit:
        return f"loss {'smaller' if effect > 0 else 'larger'} by {size}"
    return f"{size} {'better' if effect > 0 else 'worse'}"


def _size(verdict: Verdict, effect: float) -> str:
    if verdict.scale == Scale.LOG10_RATIO.unit:
        return f"a factor of {rounded(10**effect)}"
    if verdict.scale == Scale.EXPLAINED.unit:
        return f"{number(100 * effect, 2)}% of the variance"
    if verdict.scale == Scale.ACCURACY.unit:
        return f"{number(100 * effect, 2)} in 100 answers"
    return f"{number(effect, 2)} {verdict.scale}"


def _told(verdict: Verdict) -> str:
    needed = verdict.seeds_needed
    enough = (
        f"about {rounded(needed)} seeds would decide"
        if needed is not None and math.isfinite(needed)
        else ""
    )
    beside = ", ".join(filter(None, (amount(verdict), enough)))
    said = SAID[verdict.kind][verdict.outcome]
    return f"{said} ({beside})" if beside else said
