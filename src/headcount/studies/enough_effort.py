"""How many steps are enough: they are doubled until doubling no longer matters.

The terms of a risk are compared at equal effort. That is fair only where the effort is enough: too
few steps hide part of the estimation (weights that are not at the least squares of few samples yet)
and leave some optimisation on fresh data. So fresh data and the smallest number of samples are
trained with S/2 and with S steps, same seeds. Where the remainder falls like 1/S, what changes from
S/2 to S is what is still missing at S. The effort is enough where, for both, that mean change is
below the largest of

    half of the half-width of the risk's 90% interval    seeds cannot tell it apart
    5% of the risk                                       nor would a reader
    a tenth of the error asked for                       nor would the answer
    1e-6 of the best constant's risk                     rounding

and where fresh data leave no more than 5% of the best constant's risk above the floor that is
known. The last condition is there because training can stand still and leap later: a model that
does not recall yet changes little for a thousand steps.

Otherwise S is doubled, up to the most that the profile allows; then the study says that it was not
enough, and how much the last doubling changed, or where it stands still.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headcount.studies.decomposition import Measured
from headcount.studies.learning_design import Effort

OF_INTERVAL, OF_RISK, OF_ERROR, NEGLIGIBLE = 0.5, 0.05, 0.1, 1e-6
PLATEAU = 0.05  # of the best constant's risk that fresh data leave above the floor
Arm = tuple[int, int]  # size on the axis, samples (0: fresh data)


@dataclasses.dataclass(frozen=True)
class Change:
    """What the last doubling of the steps did to the risk of one arm."""

    samples: int
    change: Measured
    allowed: float

    @property
    def small(self) -> bool:
        return abs(self.change.value) <= self.allowed

    def to_json(self) -> dict[str, Any]:
        return {"samples": self.samples, **self.change.to_json(), "allowed": self.allowed,
                "small": self.small}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class EnoughEffort:
    """The effort of a study, and whether it is enough."""

    effort: Effort
    changes: tuple[Change, ...]
    left: float = 0.0  # by fresh data above the known floor, a share of the best constant's risk

    @property
    def settled(self) -> bool:
        """Did the last doubling change nothing?"""
        return all(change.small for change in self.changes)

    @property
    def enough(self) -> bool:
        return self.settled and self.left <= PLATEAU

    def to_json(self) -> dict[str, Any]:
        return {"lr": self.effort.rate, "steps": self.effort.steps, "enough": self.enough,
                "left": self.left,
                "changes": [change.to_json() for change in self.changes]}  # fmt: skip

    def sentence(self) -> str:
        """What it means for the terms."""
        steps = self.effort.steps
        if self.enough:
            return f"{steps} steps are enough: half as many give the same risks, within the limits."
        if self.settled:
            return (
                f"{steps} steps may not be enough: half as many give the same risks, but fresh data"
                f" leave {self.left:.0%} of the best constant's risk above the floor that is known."
                " Training may stand still and leap later."
            )
        worst = max(self.changes, key=lambda change: abs(change.change.value) / change.allowed)
        size = f"{worst.samples} samples" if worst.samples else "fresh data"
        return (
            f"{steps} steps are not enough: from half as many the risk with {size} changed by"
            f" {worst.change.value:.2g} ({worst.allowed:.2g} allowed). Estimation and"
            " optimisation are told apart only up to such amounts."
        )


Risks = Callable[[Sequence[Arm], Effort], dict[Arm, np.ndarray]]


def enough_effort(
    arms: Sequence[Arm], risks: Risks, rate: float, steps: tuple[int, int], error: float | None,
    trivial: float, floors: Mapping[int, float],
) -> EnoughEffort:  # fmt: skip
    """Double the steps from the first number up to the last. `risks` trains arms: [seeds] each;
    `trivial` is the risk of the best constant; `floors`: what is known of each size.
    """
    known = max(OF_ERROR * (error or 0.0), NEGLIGIBLE * trivial)
    now, most = steps
    before = risks(arms, Effort(rate, now // 2))
    while True:
        effort = Effort(rate, now)
        found = risks(arms, effort)
        changes = tuple(_change(arm, before[arm], found[arm], known) for arm in arms)
        left = max((float(found[arm].mean()) - floors.get(arm[0], 0.0) for arm in arms
                    if not arm[1]), default=0.0)  # fmt: skip
        reached = EnoughEffort(effort, changes, max(0.0, left) / trivial)
        if reached.enough or 2 * now > most:
            return reached
        before, now = found, 2 * now


def _change(arm: Arm, before: np.ndarray, now: np.ndarray, known: float) -> Change:
    risk = Measured.over(now)
    reach = (risk.interval.high - risk.interval.low) / 2 if risk.interval else 0.0
    allowed = max(OF_INTERVAL * reach, OF_RISK * abs(risk.value), known)
    return Change(arm[1], Measured.over(now - before), allowed)
