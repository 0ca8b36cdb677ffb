"""What experiments 4a and 4b share: heads on a kernel, with 1000 tokens and 10,000 iterations as
printed.

The loss is the exact population loss: it has no sampling noise and costs a third of batches of 100.
The reading maps have both.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headcount.experiments.recipes import bare_model, linear_model
from headcount.experiments.tuning import Setting
from headcount.lab.judge.hypothesis import Benefit, Hypothesis, Kind, Part
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile
from headcount.train.run_spec import Shape

LENGTH = 1000  # tokens, read at the last
STEPS = {Profile.SMOKE: 200, Profile.LAPTOP: 10_000, Profile.FULL: 10_000}
SEEDS = {Profile.SMOKE: 2, Profile.LAPTOP: 20, Profile.FULL: 40}
SHOWN = 3  # seeds of what no claim is about
HEADS = (1, 4, 16, 64)
AGAINST = (1, 4, 16)  # H heads of one bias against H of the other
READ_RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)  # learning rates of a reading map
READING_NOTES = (
    "residual: an embedding of width 64, a residual and a linear readout around the heads",
    "abs, softplus: how a stored number becomes a rate p >= 0",
    "batches: the printed batches of 100 sequences; elsewhere the exact population loss",
)
EXACT = "exact population loss, not batches of 100 sequences: no sampling noise"


@dataclasses.dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open about the model and its loss."""

    residual: bool  # an embedding, a residual and a linear readout, or heads of size 1 alone
    positive: str = "abs"  # how a stored number becomes a rate p >= 0
    batches: bool = False  # of 100 sequences, or the exact expectation

    @property
    def name(self) -> str:
        parts = ("residual" if self.residual else "bare", self.positive)
        return ", ".join((*parts, "batches") if self.batches else parts)

    def model(self, bias: str, heads: int) -> dict[str, Any]:
        kind = {"kind": bias, "positive": self.positive}
        return linear_model(kind, heads) if self.residual else bare_model(kind, heads, head_dim=1)

    def arm(
        self, memory: str, bias: str, heads: int, numbers: Callable[[], Numbers], paper: float
    ) -> Arm:
        loss = "squared" if self.batches else "population"
        run = kernel_run(memory, self.model(bias, heads), STEPS[Profile.FULL], loss)
        return Arm(f"{bias}-{heads} {self.name}", run, numbers, f"{bias}, {self.name}", paper=paper)


ALONE = Reading(residual=False)
AROUND = Reading(residual=True)
READINGS = (
    AROUND,
    Reading(residual=True, positive="softplus"),
    Reading(residual=True, batches=True),
    ALONE,
    Reading(residual=False, positive="softplus"),
)


def kernel_run(
    memory: str, model: Mapping[str, Any], steps: int, loss: str = "population"
) -> dict[str, Any]:
    """The fields of a run before it is tuned; loss "squared" is of batches of 100."""
    train = {"steps": steps, "length": LENGTH, "loss": loss, "log": 20}
    return {"memory": memory, "model": dict(model), "train": train}


def rate_cells(rates: Sequence[float]) -> dict[str, dict[str, Any]]:
    """One cell per learning rate, constant, heads from U(0, 1)."""
    return {
        f"lr {lr:g}": Setting(lr, Shape.CONSTANT, "uniform").changes(has_rates=True) for lr in rates
    }


def alike(insight: str, worse: str, better: str, trivial: float) -> tuple[Hypothesis, ...]:
    """H heads of the bias `better` beat H heads of `worse`: claims that the paper does not make."""
    return tuple(
        Hypothesis(
            insight,
            Kind.CONTRAST,
            f"{told} of bias {better} learn better than {told} of bias {worse}.",
            (Part(told, Benefit(f"{worse}-{h}", f"{better}-{h}", Scale.LOG10_RATIO)),),
            trivial,
            further=True,
            name=told,
            notes=(EXACT,),
        )
        for h in AGAINST
        for told in (f"{h} head{'s' * (h > 1)}",)
    )
