"""What exists: verdicts on weights, from constructions, fits and bounds; nothing is trained.

A claim of this kind says that weights of a size can, or cannot, get below a threshold. Both are
read off the numbers of that size (`lab/numbers.py`): what is possible, and what is proved to be out
of reach.

    claim    supported by                     refuted by
    Can      possible <= threshold            lower bound > threshold
    Cannot   lower bound >= threshold         possible < threshold

A bound counts only where it holds for the whole class that the claim is about (`lower_for` is
empty); what is possible counts as float32 holds it, where that was computed, for that is what
people run.

    >>> from headcount.lab.numbers import Numbers
    >>> lin = Cannot("8 lin heads", lambda: Numbers(possible=4e-8, lower=3e-8), 0.19)
    >>> verdict = Existence("4a", "Lin heads cannot.", (lin,)).decide()
    >>> print(verdict.outcome, verdict.effect)
    refuted 4e-08
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar

from headcount.core.refs import Ref
from headcount.lab.judge.hypothesis import PAPER, Kind, Reported, claim_key
from headcount.lab.judge.verdict import Outcome, Verdict
from headcount.lab.numbers import Numbers


@dataclasses.dataclass(frozen=True)
class AbstractReach:
    """One size of model and the threshold that it is about, in the unit of the loss."""

    size: str
    numbers: Callable[[], Numbers]
    threshold: float
    unit: str = "mean squared error"

    wanted: ClassVar[bool]  # that weights do get below

    def outcome(self, numbers: Numbers) -> Outcome:
        reached = numbers.floor is not None and numbers.floor <= self.threshold
        barred = (
            numbers.lower is not None
            and not numbers.lower_for
            and (
                numbers.lower > self.threshold
                or (not self.wanted and numbers.lower == self.threshold)
            )
        )
        if reached or barred:
            return Outcome.SUPPORTED if reached is self.wanted else Outcome.REFUTED
        return Outcome.UNDECIDED

    def sentence(self, numbers: Numbers) -> str:
        """What the numbers say of this size."""
        outcome = self.outcome(numbers)
        if outcome is Outcome.UNDECIDED:
            best = "nothing" if numbers.floor is None else f"{numbers.floor:.2g}"
            least = "nothing" if numbers.lower is None else f"{numbers.lower:.2g}"
            return (
                f"{self.size}: the best weights known reach {best}, the bound is {least}; the"
                f" threshold {self.threshold:g} lies between"
            )
        if (outcome is Outcome.SUPPORTED) is self.wanted:
            return f"{self.size} reach {numbers.floor:.2g} ({numbers.status}: {numbers.note})"
        return f"{self.size} stay above {numbers.lower:.2g} ({numbers.certificate})"


class Can(AbstractReach):
    """Weights of this size get below the threshold."""

    wanted = True


class Cannot(AbstractReach):
    """No weights of this size get below the threshold."""

    wanted = False


@dataclasses.dataclass(frozen=True)
class Existence:
    """A registered claim about weights: it holds if every part does."""

    insight: str
    claim: str
    parts: tuple[AbstractReach, ...]
    reported: tuple[Reported, ...] = ()
    further: bool = False
    name: str = ""
    ref: Ref = PAPER
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return claim_key(self.insight, Kind.EXISTS, self.name)

    def numbers(self) -> tuple[Numbers, ...]:
        """What is known of every part, computed now."""
        return tuple(part.numbers() for part in self.parts)

    def decide(self, known: Sequence[Numbers] | None = None) -> Verdict:
        """The verdict, from what is known of every part."""
        found = list(zip(self.parts, self.numbers() if known is None else known, strict=True))
        outcomes = [part.outcome(numbers) for part, numbers in found]
        order = (Outcome.REFUTED, Outcome.UNDECIDED, Outcome.SUPPORTED)
        outcome = min(outcomes, key=order.index)
        part, numbers = found[outcomes.index(outcome)]
        told = "; ".join(part.sentence(numbers) for part, numbers in found)
        return Verdict(
            insight=self.insight,
            kind=Kind.EXISTS,
            claim=self.claim,
            outcome=outcome,
            sentence=f"{outcome.capitalize()}: {told}.",
            further=self.further,
            name=self.name,
            ref=self.ref,
            reported=self.reported,
            effect=numbers.floor,
            scale=part.unit,
            floor=numbers.lower,
            notes=self.notes,
        )
