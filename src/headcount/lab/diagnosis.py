"""From the records of a study to the observables of `lab/judge/patterns.py`, so that failure
signatures can be named on real runs.

    floors   arms with computed floors, tested at the trained length: the mean learned loss beside
             its own floor, the floor of an arm of the same study with at least twice the heads and
             the same bias, and the smallest of the arms with another bias and the same heads.
             (Tested at another length, a loss above the floor there may be extrapolation, not
             training.)
    lags     one layer on a fixed memory of several lags, exact population loss: the error at each
             lag, of the run of median loss (which lags are lost differs from seed to seed, so that
             a mean over seeds would show all of them half read)
    hops     pointer chains: the accuracies of arms that differ in the number of hops only, from 1
             hop on, and as a control those of the arms with layers enough for so many hops
    lengths  arms tested on longer sequences than trained with the exact population loss: the last
             stretch's training loss is the loss at the trained length, the test loss that at the
             longer one

What a study does not hold is left out, and the signatures that need it answer 'undecided'. Read
are the last figures of the runs of one cell: the study's first, which the diagnosis names where
there are others.
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from headcount.core.registry import PartSpec
from headcount.lab.judge.patterns import (
    FloorPattern,
    HopPattern,
    LagPattern,
    LengthPattern,
    RunPattern,
)
from headcount.lab.judge.signatures import LEARNED, Diagnosis, diagnose, sufficient_layers
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm
from headcount.lab.study_outcome import SMALLEST, StudyOutcome
from headcount.memory.essential import EssentialMemory
from headcount.memory.named import targets, unnamed
from headcount.memory.named.pointer_chain import PointerChain
from headcount.memory.target import AbstractMemory
from headcount.train.population import lags_read, target_variance
from headcount.train.run_record import lag_column
from headcount.train.run_spec import RunSpec

Finals = Mapping[str, Sequence[Mapping[str, float]]]  # arm → one record's `final` per seed


def diagnosed(outcome: StudyOutcome) -> dict[str, Diagnosis]:
    """What each arm lacked, for every arm of which something was observed."""
    cells = outcome.study.cells
    cell = next(iter(cells)) if len(cells) > 1 else ""
    return {arm: diagnose(pattern, cell) for arm, pattern in observed(outcome).items()}


def observed(outcome: StudyOutcome) -> dict[str, RunPattern]:
    """The pattern of every arm that has one; runs that diverged have none."""
    kept = {
        each.arm.name: [f for f in each.finals if math.isfinite(f.get("eval_loss", math.inf))]
        for each in outcome.arms
    }
    numbers = {each.arm.name: each.numbers for each in outcome.arms}
    arms = [arm for arm in outcome.study.arms if kept.get(arm.name)]
    specs = {arm.name: RunSpec.from_values({**arm.run, "seed": 0}) for arm in arms}
    hops = _hops(arms, specs, kept)
    found = {}
    for arm in arms:
        spec, mine = specs[arm.name], kept[arm.name]
        pattern = RunPattern(
            _floors(arm, arms, specs, kept, numbers),
            hops.get(arm.name),
            _lags(spec, mine),
            _lengths(spec, mine),
        )
        if pattern != RunPattern():
            found[arm.name] = pattern
    return found


def _mean(finals: Sequence[Mapping[str, float]], column: str) -> float:
    return float(np.mean([final[column] for final in finals]))


def _mean_loss(finals: Sequence[Mapping[str, float]], column: str) -> float:
    """Geometric, as in the table of arms: losses span decades. A loss of exactly 0 counts as
    `SMALLEST`.
    """
    return float(np.exp(np.mean(np.log([max(final[column], SMALLEST) for final in finals]))))


def _floors(
    arm: Arm,
    arms: Sequence[Arm],
    specs: Mapping[str, RunSpec],
    finals: Finals,
    numbers: Mapping[str, Numbers],
) -> FloorPattern | None:
    """Beside the floors of the study's own arms; None where one of the three is unknown, or the
    target has no exact variance, or the loss is not that of the trained length."""
    known = {name: found.floor for name, found in numbers.items() if found.floor is not None}
    spec, trivial = specs[arm.name], _trivial(specs[arm.name])
    if arm.name not in known or trivial is None or _tested(spec) != spec.train.length:
        return None
    same = [
        other.name
        for other in arms
        if _task(specs[other.name]) == _task(spec) and other.name in known
    ]
    mine, theirs = _Architecture.of(spec), {n: _Architecture.of(specs[n]) for n in same}
    more = [
        known[n]
        for n, other in theirs.items()
        if other.bias == mine.bias and other.heads >= 2 * mine.heads
    ]
    others = [
        known[n]
        for n, other in theirs.items()
        if other.bias != mine.bias and other.heads == mine.heads
    ]
    if not (more and others):
        return None
    floor, loss = known[arm.name], _mean_loss(finals[arm.name], "eval_loss")
    return FloorPattern(loss, trivial, floor, min(*more, floor), min(others))


@dataclasses.dataclass(frozen=True)
class _Architecture:
    """What of a model arms are compared by; a baseline may have no layers, no heads, no bias."""

    layers: int | None
    heads: int
    bias: str

    @classmethod
    def of(cls, spec: RunSpec) -> "_Architecture":
        model = spec.model
        if not isinstance(model, PartSpec):
            return cls(model.layers, model.heads, model.bias.kind)
        bias = model.options.get("bias")
        kind = bias.kind if isinstance(bias, PartSpec) else "none"
        return cls(None, int(model.options.get("heads", 0)), kind)


def _task(spec: RunSpec) -> str:
    """Memory, depth and length: what arms must share to be compared by heads and bias."""
    layers = _Architecture.of(spec).layers
    return json.dumps(
        [spec.to_plain()["memory"], layers, spec.train.length, spec.train.evaluation.length],
        sort_keys=True,
    )


def _trivial(spec: RunSpec) -> float | None:
    """The variance of the answers, where it is exact."""
    target = targets.build(spec.memory)
    if spec.train.loss != "population" or not isinstance(unnamed(target), AbstractMemory):
        return None
    return target_variance(target, target.read, _tested(spec))


def _tested(spec: RunSpec) -> int:
    """The length of the sequences that the loss is measured on."""
    return spec.train.evaluation.length or spec.train.length


def _hops(
    arms: Sequence[Arm], specs: Mapping[str, RunSpec], finals: Finals
) -> dict[str, HopPattern]:
    """One pattern for all arms of one architecture that follow 1, 2, … hops."""
    groups: dict[str, dict[int, str]] = {}
    for arm in arms:
        target = targets.build(specs[arm.name].memory)
        if isinstance(target, PointerChain):
            groups.setdefault(_same_but_for_hops(specs[arm.name], target), {})[target.hops] = (
                arm.name
            )
    found: dict[str, HopPattern] = {}
    for by_hops in groups.values():
        # hops 1..reach are all there
        reach = next((k for k in range(1, len(by_hops) + 2) if k not in by_hops), 1) - 1
        if reach < 2:
            continue
        names = [by_hops[k] for k in range(1, reach + 1)]
        spec = specs[names[0]]
        target = targets.build(spec.memory)
        assert isinstance(target, PointerChain)
        tests = spec.train.evaluation.batches * (spec.train.evaluation.batch or spec.train.batch)
        seeds = min(len(finals[name]) for name in names)
        accuracy = np.array([_mean(finals[name], "accuracy") for name in names])
        chance = 1 / target.symbols
        deeper = np.array(
            [_deeper(hops, arms, specs, finals, target.symbols) for hops in range(1, reach + 1)]
        )
        # Answers within one sequence are not independent: a sequence counts once.
        layers = _Architecture.of(spec).layers or 1
        pattern = HopPattern(accuracy, chance, tests * seeds, layers, deeper)
        found.update(dict.fromkeys(names, pattern))
    return found


def _deeper(
    hops: int, arms: Sequence[Arm], specs: Mapping[str, RunSpec], finals: Finals, symbols: int
) -> float:
    """The best accuracy at so many hops of an arm deep enough; chance where there is none."""
    found = [1 / symbols]
    for arm in arms:
        spec = specs[arm.name]
        target, layers = targets.build(spec.memory), _Architecture.of(spec).layers or 0
        if (
            isinstance(target, PointerChain)
            and (target.hops, target.symbols) == (hops, symbols)
            and layers >= sufficient_layers(hops)
        ):
            found.append(_mean(finals[arm.name], "accuracy"))
    return max(found)


def _same_but_for_hops(spec: RunSpec, target: PointerChain) -> str:
    return json.dumps([spec.to_plain()["model"], target.symbols], sort_keys=True, default=str)


def _lags(spec: RunSpec, finals: Sequence[Mapping[str, float]]) -> LagPattern | None:
    """Of one layer: where several share the work, lags add up and a lag is not one head's."""
    lags = lags_read(targets.build(spec.memory))
    model = _Architecture.of(spec)
    if (
        spec.train.loss != "population"
        or model.layers not in (None, 1)
        or len(lags) < 2
        or _tested(spec) != spec.train.length
    ):
        return None
    # a store that began before they were told apart
    if not all(lag_column(lag) in final for final in finals for lag in lags):
        return None
    middle = sorted(finals, key=lambda final: final["eval_loss"])[(len(finals) - 1) // 2]
    return LagPattern(
        np.array(lags), np.array([middle[lag_column(lag)] for lag in lags]), model.heads
    )


def _lengths(spec: RunSpec, finals: Sequence[Mapping[str, float]]) -> LengthPattern | None:
    """Losses at the trained and at the tested length."""
    trained, tested = spec.train.length, spec.train.evaluation.length
    trivial = _trivial(spec)
    target = unnamed(targets.build(spec.memory))
    if trivial is None or not tested > trained or not isinstance(target, EssentialMemory):
        return None
    losses = [_mean_loss(finals, column) for column in ("train_loss", "eval_loss")]
    return LengthPattern(
        np.array([trained, tested]), np.array(losses), reach_of(target, tested), trivial
    )


def reach_of(target: EssentialMemory, length: int) -> int:
    """The lag beyond which all kernels hold less than a tenth of the energy that counts as learned.

    >>> from headcount.memory.kernels import Exponential, Power
    >>> reach_of(EssentialMemory((Exponential(0.5),)), 256)
    6
    >>> reach_of(EssentialMemory((Power(0.5),)), 256) > 200
    True
    """
    energy = np.sum([kernel.values(length) ** 2 for kernel in target.kernel], axis=0)  # [N]
    beyond = np.cumsum(energy[::-1])[::-1]  # energy at lags >= s
    return int(np.count_nonzero(beyond >= LEARNED / 10 * energy.sum())) - 1
