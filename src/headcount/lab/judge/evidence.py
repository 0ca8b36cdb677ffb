"""From runs to findings: one part of a hypothesis in one cell, its effect, interval and p-values,
and what stood in the way.

**Runs that diverged** are an outcome of training, not gaps in the data; leaving them out would
flatter the arm that diverges, and counting them as +inf would make every mean infinite. So the
finding is computed twice:

(a) a diverged run counts as the larger of the constant predictor's loss (whoever holds a diverged
    model can predict the mean instead) and the worst finite loss of its arm in that cell
    (divergence is no better than any run that did finish); its accuracy counts as 0;
(b) the pairs with a diverged run are left out.

The *larger* p-value of the two stands, for support and for refutation alike: a diverged run may
cost a verdict, it cannot make one. If (b) leaves fewer than three pairs the cell decides nothing.
The interval shown is (a), and the note says how many runs diverged.

**Runs that are missing** leave a cell undecided: a study that stopped early is not the one that was
registered.

**Two arms that both learned nothing** cannot be compared: that they are equal is no evidence that
an addition has no benefit (in clinical trials: assay sensitivity), nor that what was to help does
not. A comparison of arms which both fail to beat the constant predictor by the margin decides
nothing.

**Arms said to be of equal parameters** must be, within 5%, or the cell decides nothing.
"""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from headcount.core.errors import require, unknown
from headcount.lab.judge.hypothesis import (
    EQUAL_PARAMETERS,
    AbstractClaim,
    ArmResult,
    Benefit,
    Hypothesis,
    NoBenefit,
    Part,
)
from headcount.lab.judge.statistics import FEWEST_SEEDS, Interval, Region, bca_interval, t_interval

FAR_ABOVE_FLOOR = 10.0
# Outputs in float32 carry a relative rounding of 2^-24: a mean squared error under 2^-48 of the
# trivial loss is rounding, so a floor of 0 (an exact construction) is read as this much.
ROUNDING = 2.0**-48

Runs = Mapping[tuple[str, str], Mapping[int, ArmResult]]  # (arm, cell) -> seed -> run


@dataclasses.dataclass(frozen=True)
class Finding:
    """One part in one cell. `p` is against 'not supported', `p_refute` against 'not refuted'; 1
    where `blocked` says why.

    `losing` is the arm with the larger mean loss (or the arm that is held to a threshold, or that
    was to be better by the margin and is not), `lost` whether it is so for certain: its interval
    wholly beyond the margin or the threshold. `learned` has the mean learned loss of every arm on
    the hypothesis's scale (geometric mean for ratios), `loss` that of the losing one, `floor` the
    loss computed for it. `effect`, `ci` and `bca` are in `unit`.
    """

    part: str
    cell: str
    p: float = 1.0
    p_refute: float = 1.0
    effect: float | None = None
    ci: Interval | None = None
    bca: Interval | None = None
    seeds: int = 0
    losing: str | None = None
    lost: bool = False
    loss: float | None = None
    floor: float | None = None
    blocked: str = ""
    notes: tuple[str, ...] = ()
    unit: str = ""
    learned: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def far_above_floor(self, trivial: float) -> bool:
        """An arm is behind for certain, and learned far less than its architecture can do."""
        if not self.lost or self.loss is None or self.floor is None:
            return False
        return self.loss > FAR_ABOVE_FLOOR * max(self.floor, ROUNDING * trivial)

    def to_json(self) -> dict:
        names = (
            "part",
            "cell",
            "p",
            "p_refute",
            "effect",
            "seeds",
            "losing",
            "lost",
            "loss",
            "floor",
            "blocked",
        )
        shown = {name: getattr(self, name) for name in names}
        ends = {
            name: interval and interval.to_json()
            for name, interval in (("ci", self.ci), ("bca", self.bca))
        }
        return {**shown, **ends, "notes": list(self.notes), "unit": self.unit}


def findings(
    hypothesis: Hypothesis, results: Iterable[ArmResult], resamples: int = 9999
) -> tuple[Finding, ...]:
    """Every part in every cell. `resamples` = 0 leaves the bootstrap out."""
    runs = arrange(hypothesis, results)
    return tuple(
        _finding(hypothesis, part, cell, runs, resamples)
        for part in hypothesis.parts
        for cell in hypothesis.cells
    )


def arrange(hypothesis: Hypothesis, results: Iterable[ArmResult]) -> Runs:
    """Runs by arm and cell; runs that were not registered are refused, so that none is added
    after a look at the outcome.
    """
    runs: dict[tuple[str, str], dict[int, ArmResult]] = {}
    for run in results:
        if run.arm not in hypothesis.arms:
            raise unknown(f"arm of hypothesis {hypothesis.id}", run.arm, hypothesis.arms)
        if run.cell not in hypothesis.cells:
            raise unknown(f"cell of hypothesis {hypothesis.id}", run.cell, hypothesis.cells)
        where = f"hypothesis {hypothesis.id}, {run.arm}, {run.cell}: seed {run.seed}"
        require(
            run.seed in hypothesis.seeds,
            where,
            f"a registered seed {list(hypothesis.seeds)}",
            "register it before running",
        )
        place = runs.setdefault((run.arm, run.cell), {})
        require(run.seed not in place, f"{where} twice", "one run per seed", "remove one")
        place[run.seed] = run
    return runs


def _finding(hypothesis: Hypothesis, part: Part, cell: str, runs: Runs, resamples: int) -> Finding:
    claim = part.claim
    arms = {arm: runs.get((arm, cell), {}) for arm in claim.arms}
    missing = {
        arm: len(hypothesis.seeds) - len(found)
        for arm, found in arms.items()
        if len(found) < len(hypothesis.seeds)
    }
    if missing:
        said = ", ".join(
            f"{count} of {len(hypothesis.seeds)} runs of {arm}" for arm, count in missing.items()
        )
        return Finding(
            part.name,
            cell,
            blocked=f"missing: {said}",
            seeds=min(map(len, arms.values())),
            unit=claim.unit(hypothesis.scale),
        )
    values = {arm: _values(claim, hypothesis, found) for arm, found in arms.items()}
    # [R]
    diverged = np.any(
        [[run.diverged for run in _in_order(hypothesis, found)] for found in arms.values()], axis=0
    )
    effects = claim.effects(values, hypothesis.scale)  # [k, R]
    support, refute = claim.regions(hypothesis.margin)
    p, p_refute = _p_values(effects, support, refute, diverged)
    blocked = _unequal(claim, arms) or _unlearned(claim, hypothesis, values)
    best = int(np.argmax(effects.mean(axis=1)))
    # the best of k is chosen after the fact: alpha/k
    confidence = 1 - 2 * hypothesis.alpha / len(effects)
    ci = t_interval(effects[best], confidence)
    learned = {
        arm: loss
        for arm, found in arms.items()
        if (loss := _mean_loss(hypothesis, found)) is not None
    }
    losing, lost = _losing(claim, best, effects[best].mean(), ci, hypothesis.margin)
    return Finding(
        part.name,
        cell,
        p=1.0 if blocked else p,
        p_refute=1.0 if blocked else p_refute,
        effect=float(effects[best].mean()),
        ci=Interval(float(ci.low), float(ci.high)),
        bca=bca_interval(effects[best], confidence, resamples) if resamples else None,
        seeds=len(hypothesis.seeds),
        losing=losing,
        lost=lost,
        loss=learned.get(losing) if losing else None,
        floor=_floor(arms[losing]) if losing else None,
        blocked=blocked,
        notes=(*_diverged_notes(arms, diverged), *_below_floor(hypothesis, arms)),
        unit=claim.unit(hypothesis.scale),
        learned=learned,
    )


def _p_values(
    effects: np.ndarray, support: Region, refute: Region, diverged: np.ndarray
) -> tuple[float, float]:
    """Larger of the two readings of diverged runs. Of k alternatives one must support
    (Bonferroni), all must refute.
    """
    readings = [effects]
    if diverged.any():
        kept = effects[:, ~diverged]
        if kept.shape[1] < FEWEST_SEEDS:
            return 1.0, 1.0
        readings.append(kept)
    p = max(min(1.0, len(effects) * float(support.p(reading).min())) for reading in readings)
    return p, max(float(refute.p(reading).max()) for reading in readings)


def _in_order(hypothesis: Hypothesis, found: Mapping[int, ArmResult]) -> list[ArmResult]:
    return [found[seed] for seed in hypothesis.seeds]


def _values(
    claim: AbstractClaim, hypothesis: Hypothesis, found: Mapping[int, ArmResult]
) -> np.ndarray:
    """[R] what the claim reads, a diverged run counted as the module says."""
    runs = _in_order(hypothesis, found)
    if claim.metric == "accuracy":
        for run in runs:
            given = run.diverged or run.accuracy is not None
            require(
                given,
                f"{run.arm}, {run.cell}, seed {run.seed}: no accuracy",
                "accuracy in every run",
                "evaluate it",
            )
        return np.array([0.0 if run.diverged else run.accuracy for run in runs], float)
    worst = max([hypothesis.trivial, *(run.loss for run in runs if not run.diverged)])
    return np.array([worst if run.diverged else run.loss for run in runs])


def _unequal(claim: AbstractClaim, arms: Mapping[str, Mapping[int, ArmResult]]) -> str:
    if not claim.equal_parameters:
        return ""
    counts = {arm: {run.parameters for run in found.values()} for arm, found in arms.items()}
    known = [count for count in set().union(*counts.values()) if count is not None]
    if any(None in found for found in counts.values()):
        return "the claim is about equal parameters, and some runs do not say how many they have"
    if max(known) > (1 + EQUAL_PARAMETERS) * min(known):
        return (
            f"the claim is about equal parameters, and the arms have {min(known)} to {max(known)}"
        )
    return ""


def _unlearned(
    claim: AbstractClaim, hypothesis: Hypothesis, values: Mapping[str, np.ndarray]
) -> str:
    if not isinstance(claim, (Benefit, NoBenefit)):
        return ""
    trivial = float(hypothesis.scale.level(np.float64(hypothesis.trivial)))
    gains = [trivial - hypothesis.scale.level(value).mean() for value in values.values()]
    if max(gains) > hypothesis.margin:
        return ""
    return "neither arm beats the constant predictor by the margin, so comparing them says nothing"


def _losing(
    claim: AbstractClaim, best: int, effect: float, ci: Interval, margin: float
) -> tuple[str | None, bool]:
    """The arm that is behind, and whether it is so for certain. Accuracies have no floor, hence
    no such arm.
    """
    if isinstance(claim, Benefit) and ci.high < margin:
        return claim.arms[1], True  # it was to be better by the margin and is not
    if isinstance(claim, (Benefit, NoBenefit)):
        return claim.arms[0 if effect > 0 else 1], bool(ci.low > margin or ci.high < -margin)
    return (claim.arms[best], bool(ci.high < 0)) if claim.metric == "loss" else (None, False)


def _mean_loss(hypothesis: Hypothesis, found: Mapping[int, ArmResult]) -> float | None:
    finished = [run.loss for _, run in sorted(found.items()) if not run.diverged]
    return (
        hypothesis.scale.loss(float(hypothesis.scale.level(np.array(finished)).mean()))
        if finished
        else None
    )


def _floor(found: Mapping[int, ArmResult]) -> float | None:
    """The arm's floor; where runs carry different ones (a floor by seed), the largest, which
    qualifies least.
    """
    known = [run.floor for run in found.values() if run.floor is not None]
    return max(known) if known else None


def _diverged_notes(arms: Mapping[str, Mapping[int, ArmResult]], diverged: np.ndarray) -> list[str]:
    counts = {arm: sum(run.diverged for run in found.values()) for arm, found in arms.items()}
    notes = [
        f"{count} of {len(diverged)} runs of {arm} diverged, counted as no learning"
        for arm, count in counts.items()
        if count
    ]
    left = int((~diverged).sum())
    if notes and left < FEWEST_SEEDS:
        notes.append(f"only {left} pairs without a diverged run: this cell decides nothing")
    return notes


def _below_floor(hypothesis: Hypothesis, arms: Mapping[str, Mapping[int, ArmResult]]) -> list[str]:
    """A mean trained loss below the computed floor says that the floor is not the best possible
    (or that one of them is wrong).
    """
    notes = []
    for arm, found in arms.items():
        loss, floor = _mean_loss(hypothesis, found), _floor(found)
        if loss is not None and floor is not None and loss < 0.5 * floor:
            notes.append(
                f"{arm} learned {loss:.3g}, below half its computed floor {floor:.3g}: check the"
                " floor"
            )
    return notes
