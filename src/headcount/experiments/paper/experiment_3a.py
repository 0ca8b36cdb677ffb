"""Experiment 3a: does the dot product help on a fixed sparse memory? (paper, Section 6; the target
is that of 1b)

As written: with the printed lags the heads reach nothing (see 1b), so arms that are equal there are
equal at having learned nothing. As meant: at lags 1 and 2, equivalence (two one-sided tests) of dot
product and no dot product, at equal parameters and at equal width.
"""

from headcount.core.overrides import merged
from headcount.core.refs import Ref
from headcount.experiments.recipes import (
    FAR_SEEDS,
    FAR_TESTS,
    NEAR,
    NEAR_HIDDEN,
    NEAR_LENGTH,
    NEAR_MODEL,
    PAPER_MODEL,
    SEEDS,
    far_memory,
    far_run,
    near_run,
    rate_cells,
)
from headcount.experiments.sparse_floors import code_numbers, unreachable_numbers
from headcount.lab.judge.hypothesis import Hypothesis, NoBenefit, Part
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Values, Variant

# without dot product, as many parameters as with it at 256 neurons (within 5%, tested)
WIDE_HIDDEN = 284
SMALL: Values = {  # keys at 1000 positions are dear
    "model": {"heads": 4, "width": 16, "hidden": 64},
    # as many sequences as without dot products
    "train": {"batch": 20, "evaluation": {"batches": 5 * FAR_TESTS["batches"]}},
}


def studies(profile: Profile) -> tuple[Study, ...]:
    """As written and as meant."""
    return as_written(profile), as_meant(profile)


def as_written(profile: Profile) -> Study:
    """The printed lags; in the smoke profile the arm of 1b alone."""
    arms = [_far_arm("positions", "dp-free", profile)]
    if profile is not Profile.SMOKE:
        arms += [
            _far_arm("lags", "dp-free", profile),
            _far_arm("positions", "dot", profile),
            _far_arm("lags", "dot", profile),
        ]
    return Study(
        "3a",
        Variant.AS_WRITTEN,
        "Dot product on the printed memory",
        "Does the dot product matter at lags that the heads do not reach?",
        tuple(arms),
        tuple(range(FAR_SEEDS[profile])),
        x_label="reading",
        metric="relative_loss",
        y_label="normalised MSE",
        y_log=False,
        notes=(
            "x_48 at position 1000 is lag 952 (positions) or lag 48 (lags): both are shown",
            (
                "with dot products the model is smaller (4 heads, width 16, 64 neurons, batches of"
                " 20): keys at 1000 positions are dear"
            ),
        ),
    )


def _far_arm(reading: str, attention: str, profile: Profile) -> Arm:
    memory = far_memory("exp-1b", reading)
    run = far_run(memory, "lin", profile)
    if attention == "dot":
        run = merged(run, {**SMALL, "model": {**SMALL["model"], "attention": "dot"}})
        return Arm(
            f"dp-{reading}",
            run,
            lambda: Numbers(note="no floor is known for softmax with dot products"),
            "dot product",
        )
    heads, width = PAPER_MODEL["heads"], PAPER_MODEL["hidden"]
    return Arm(
        f"dp-free-{reading}",
        run,
        lambda: unreachable_numbers(memory, "lin", heads, width),
        "dp-free",
    )


def as_meant(profile: Profile) -> Study:
    """Log heads with and without dot product."""
    cells = rate_cells(profile)
    seeds = tuple(range(SEEDS[profile]))
    arms = (
        _near_arm("dp-free", "dp-free", NEAR_HIDDEN, profile),
        _near_arm("dp-free-wide", "dp-free", WIDE_HIDDEN, profile),
        _near_arm("dp", "dot", NEAR_HIDDEN, profile),
    )
    hypothesis = Hypothesis(
        id="3a",
        claim="For a fixed memory the dot product adds nothing.",
        ref=Ref("wang-e-2024", "Section 6, experiment 3a"),
        parts=(
            Part("equal parameters", NoBenefit("dp-free-wide", "dp", equal_parameters=True)),
            Part("equal width", NoBenefit("dp-free", "dp")),
        ),
        scale=Scale.LOG10_RATIO,
        trivial=1.0,
        cells=tuple(cells),
        seeds=seeds,
        expected="supported, or inconclusive where small losses vary by more than the margin",
        deviations=(
            (
                "lags 1 and 2 instead of the printed ones, which the heads do not reach (variant as"
                " written)"
            ),
            f"sequences of {NEAR_LENGTH} tokens, 4 log heads, width 16",
        ),
    )
    return Study(
        "3a",
        Variant.AS_MEANT,
        "Fixed sparse memory: with or without dot product?",
        hypothesis.claim,
        arms,
        seeds,
        cells,
        hypothesis,
        x_label="neurons",
        metric="relative_loss",
        y_label="normalised MSE",
    )


def _near_arm(name: str, attention: str, hidden: int, profile: Profile) -> Arm:
    run = near_run("log", profile, attention=attention, hidden=hidden)
    return Arm(
        name,
        run,
        lambda: code_numbers(NEAR, "log", NEAR_MODEL["heads"], hidden, NEAR_LENGTH),
        name,
        hidden,
    )
