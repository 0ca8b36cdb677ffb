"""Experiment 2b: does a simple readout of several memories need heads, not neurons?
(Paper, Section 6; docs/errata.md#e20, #e21.)

As written: x_48 + x_56 + x_99. With lin or log heads the squared error stays above 2.7 of 3 at any
number of heads with weights up to 1e9 (certified), and with a free bias per lag one head is exact:
neither shows "1.16 to 1e-6 as H grows" as an effect of heads. As meant: the kernel s^{-1/2} on lags
1..999 with lin heads, whose floors fall from 1.87 (1 head) to 1.7e-3 (4 heads). Criterion: four
heads beat one; 256 neurons do not beat 16. Linear arms have the exact population loss, arms with
neurons fresh batches.
"""

import dataclasses
from collections.abc import Mapping

from headcount.core.refs import Ref
from headcount.experiments.floors import kernel_numbers
from headcount.experiments.recipes import (
    FAR_LENGTH,
    FAR_SEEDS,
    SEEDS,
    SPREADS,
    far_memory,
    linear_model,
    rate_cells,
)
from headcount.experiments.sparse_floors import GENEROUS, affine_numbers, built_numbers
from headcount.lab.judge.hypothesis import Benefit, Hypothesis, NoBenefit, Part, Reported
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.memory.kernels import Power

KERNEL = Power(0.5)
ENERGY = float(sum(1 / s for s in range(1, FAR_LENGTH)))  # the loss of answering 0
TABLE = "exp-2b:reading=lags,position=100"
TABLE_LENGTH = 100
STEPS = {Profile.SMOKE: 300, Profile.LAPTOP: 1500, Profile.FULL: 3000}
HEADS: Mapping[Profile, tuple[int, ...]] = {
    Profile.SMOKE: (1, 4),
    Profile.LAPTOP: (1, 2, 4, 8),
    Profile.FULL: (1, 2, 4, 8, 16),
}
REPORTED = (Reported("MSE at H = 1", 1.16), Reported("MSE at large H", 1e-6))


def studies(profile: Profile) -> tuple[Study, ...]:
    """As written and as meant."""
    return as_written(profile), as_meant(profile)


def as_written(profile: Profile) -> Study:
    """Few and many heads, both readings; a table for the lags that fit into a short sequence."""
    cases = [(r, b, h) for r in ("positions", "lags") for b in ("lin", "log") for h in (1, 64)]
    arms = [_far_arm(*case, profile) for case in (cases[:1] if profile is Profile.SMOKE else cases)]
    if profile is not Profile.SMOKE:
        arms.append(_table_arm(profile))
    return Study(
        "2b",
        Variant.AS_WRITTEN,
        "The sum of three far signs, as printed",
        "Can any number of lin or log heads do it?",
        tuple(arms),
        tuple(range(FAR_SEEDS[profile])),
        x_label="heads",
        y_label="population MSE",
        y_log=False,
        notes=(
            "x_48 at position 1000 is lag 952 (positions) or lag 48 (lags): both are shown",
            f"floors hold for any number of heads with sum|a| <= {GENEROUS:g}",
        ),
    )


def _far_arm(reading: str, bias: str, heads: int, profile: Profile) -> Arm:
    memory = far_memory("exp-2b", reading)
    run = {
        "memory": memory,
        "model": linear_model({"kind": bias, **SPREADS["uniform"]}, heads),
        "train": {"steps": STEPS[profile], "length": FAR_LENGTH, "loss": "population", "log": 10},
    }
    return Arm(
        f"{bias}-{heads}-{reading}",
        run,
        lambda: affine_numbers(memory, bias, heads, 2),
        f"{bias}, {reading}",
        heads,
    )


def _table_arm(profile: Profile) -> Arm:
    run = {
        "memory": TABLE,
        "model": linear_model({"kind": "table", "window": TABLE_LENGTH}, 3),
        "train": {"steps": STEPS[profile], "length": TABLE_LENGTH, "loss": "population", "log": 10},
    }
    return Arm(
        "table-3-lags",
        run,
        lambda: built_numbers(TABLE, "table", 3, 2, TABLE_LENGTH),
        "table, lags",
        3,
    )


def as_meant(profile: Profile) -> Study:
    """Lin heads on the smooth kernel, then 16 and 256 neurons behind four heads."""
    cells = rate_cells(profile)
    seeds = tuple(range(SEEDS[profile]))
    arms = (
        *(_head_arm(h, profile) for h in HEADS[profile]),
        *(_neuron_arm(m, profile) for m in (16, 256)),
    )
    hypothesis = Hypothesis(
        id="2b",
        claim="A complex memory needs heads, not neurons.",
        ref=Ref("wang-e-2024", "Section 6, experiment 2b"),
        parts=(
            Part("heads", Benefit("heads-1", "heads-4")),
            Part("neurons", NoBenefit("heads-4-m-16", "heads-4-m-256")),
        ),
        scale=Scale.LOG10_RATIO,
        trivial=ENERGY,
        reported=REPORTED,
        cells=tuple(cells),
        seeds=seeds,
        expected="heads supported (the floors differ by a factor of 1000); neurons open",
        deviations=(
            (
                "the kernel s^-1/2 on 999 lags instead of three far lags, which lin and log heads"
                " do not reach (variant as written)"
            ),
            (
                "s^-1/2 is not summable: no theorem of the paper is about it, on a finite window"
                " the claim is judged by the runs alone"
            ),
            (
                "exact population loss for the linear arms; fresh batches for the two arms with"
                " neurons"
            ),
        ),
    )
    return Study(
        "2b",
        Variant.AS_MEANT,
        "Smooth memory: heads or neurons?",
        hypothesis.claim,
        arms,
        seeds,
        cells,
        hypothesis,
        x_label="heads",
        y_label="MSE",
    )


def _head_arm(heads: int, profile: Profile) -> Arm:
    run = {
        "memory": "exp-2b-repaired",
        "model": linear_model({"kind": "lin"}, heads),
        "train": {"steps": STEPS[profile], "length": FAR_LENGTH, "loss": "population", "log": 10},
    }
    return Arm(
        f"heads-{heads}",
        run,
        lambda: kernel_numbers(KERNEL, "lin", heads, FAR_LENGTH),
        "linear readout",
        heads,
    )


def _neuron_arm(neurons: int, profile: Profile) -> Arm:
    model = {**linear_model({"kind": "lin"}, 4), "ffn": "relu", "readout": "ffn", "hidden": neurons}
    run = {
        "memory": "exp-2b-repaired",
        "model": model,
        "train": {"steps": STEPS[profile], "length": FAR_LENGTH, "loss": "squared", "log": 5},
    }
    return Arm(f"heads-4-m-{neurons}", run, _behind_neurons, "4 heads, ReLU readout", 4)


def _behind_neurons() -> Numbers:
    """Two neurons are the identity, so that the linear floor is possible; it is not proved best
    for a ReLU readout.
    """
    found = kernel_numbers(KERNEL, "lin", 4, FAR_LENGTH)
    return dataclasses.replace(
        found,
        lower=None,
        certificate="none",
        note=f"{found.note}; two neurons are a linear readout",
    )
