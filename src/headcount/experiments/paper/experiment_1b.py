"""Experiment 1b: is one layer enough for a fixed sparse memory? (paper, Section 6;
docs/errata.md#e20, #e21)

As written: g*(x_48, x_56, x_99) with lin or log heads. Neither reading of the numbers has lags that
such heads reach: the certified floor for affine readouts is above 90% of the variance, so an arm
that learns nothing says nothing about depth. As meant: (i) the best one-layer model has a
normalised squared error below 0.01, (ii) more layers of equal parameters add nothing. Lags 1 and 2,
where one head and seven neurons are exact. Further: the printed lags 48, 56, 99 with a free bias a
lag, which reaches them.
"""

from headcount.core.refs import Ref
from headcount.experiments.recipes import (
    FAR_SEEDS,
    NEAR,
    NEAR_HIDDEN,
    NEAR_LENGTH,
    NEAR_MODEL,
    NEAR_STEPS,
    NEAR_TESTS,
    PAPER_MODEL,
    SEEDS,
    far_memory,
    far_run,
    near_run,
    rate_cells,
)
from headcount.experiments.sparse_floors import built_numbers, code_numbers, unreachable_numbers
from headcount.lab.judge.hypothesis import BelowThreshold, Hypothesis, NoBenefit, Part
from headcount.lab.judge.statistics import Scale
from headcount.lab.study import Arm, Profile, Study, Variant

THRESHOLD = 0.01
# two layers with as many parameters as one layer of 256 neurons (within 5%, tested)
DEEP_HIDDEN = 80
TABLE = "exp-1b:reading=lags,position=100"
TABLE_LENGTH = 100


def studies(profile: Profile) -> tuple[Study, ...]:
    """As written, as meant, and the printed lags with a table bias."""
    found = (as_written(profile), as_meant(profile))
    return found if profile is Profile.SMOKE else (*found, with_table(profile))


def as_written(profile: Profile) -> Study:
    """One layer of the printed size; both readings, both biases."""
    cases = [("positions", "lin"), ("positions", "log"), ("lags", "lin"), ("lags", "log")]
    arms = tuple(
        _far_arm(reading, bias, profile)
        for reading, bias in (cases[:1] if profile is Profile.SMOKE else cases)
    )
    return Study(
        "1b",
        Variant.AS_WRITTEN,
        "Fixed sparse memory as printed: can one layer see it?",
        "Do lin or log heads reach lags 901 to 952, or 48 to 99, at all?",
        arms,
        tuple(range(FAR_SEEDS[profile])),
        x_label="reading",
        metric="relative_loss",
        y_label="normalised MSE",
        y_log=False,
        notes=("x_48 at position 1000 is lag 952 (positions) or lag 48 (lags): both are shown",),
    )


def _far_arm(reading: str, bias: str, profile: Profile) -> Arm:
    memory = far_memory("exp-1b", reading)
    heads, width = PAPER_MODEL["heads"], PAPER_MODEL["hidden"]
    return Arm(
        f"{bias}-{reading}",
        far_run(memory, bias, profile),
        lambda: unreachable_numbers(memory, bias, heads, width),
        bias,
    )


def as_meant(profile: Profile) -> Study:
    """One layer against two of equal parameters."""
    biases = ("log",) if profile is Profile.SMOKE else ("lin", "log")
    cells = rate_cells(profile)
    seeds = tuple(range(SEEDS[profile]))
    arms = tuple(_near_arm(bias, layers, profile) for bias in biases for layers in (1, 2))
    hypothesis = Hypothesis(
        id="1b",
        claim="For a fixed sparse memory one layer is enough: more layers add nothing.",
        ref=Ref("wang-e-2024", "Section 6, experiment 1b"),
        parts=(
            Part(
                "one layer learns it",
                BelowThreshold(tuple(f"{bias}-1-layer" for bias in biases), THRESHOLD),
            ),
            *(
                Part(
                    f"more layers add nothing ({b})",
                    NoBenefit(f"{b}-1-layer", f"{b}-2-layers", equal_parameters=True),
                )
                for b in biases
            ),
        ),
        scale=Scale.LOG10_RATIO,
        trivial=1.0,
        cells=tuple(cells),
        seeds=seeds,
        expected=(
            "one layer learns it; on other seeds two layers of equal parameters were 2 to 6 times"
            " lower after 1000 steps, so part two may fail"
        ),
        deviations=(
            (
                "lags 1 and 2 instead of the printed ones, which lin and log heads do not reach"
                " (variant as written)"
            ),
            f"sequences of {NEAR_LENGTH} tokens, 4 heads, width 16",
        ),
    )
    return Study(
        "1b",
        Variant.AS_MEANT,
        "Fixed sparse memory: one layer or two?",
        hypothesis.claim,
        arms,
        seeds,
        cells,
        hypothesis,
        x_label="layers",
        metric="relative_loss",
        y_label="normalised MSE",
        x_log=False,
        notes=("the paper's figures are in an image table: none is quoted",),
    )


def _near_arm(bias: str, layers: int, profile: Profile) -> Arm:
    hidden = NEAR_HIDDEN if layers == 1 else DEEP_HIDDEN
    name = f"{bias}-1-layer" if layers == 1 else f"{bias}-{layers}-layers"
    run = near_run(bias, profile, layers=layers, hidden=hidden)
    return Arm(
        name,
        run,
        lambda: code_numbers(NEAR, bias, NEAR_MODEL["heads"], hidden, NEAR_LENGTH, layers),
        bias,
        layers,
    )


def with_table(profile: Profile) -> Study:
    """Lags 48, 56 and 99 by one layer whose bias is a free number per lag."""
    run = {
        "memory": TABLE,
        "model": {
            **NEAR_MODEL,
            "attention": "dp-free",
            "bias": {"kind": "table", "window": TABLE_LENGTH},
            "hidden": NEAR_HIDDEN,
        },
        "train": {
            "steps": NEAR_STEPS[profile],
            "length": TABLE_LENGTH,
            "loss": "squared",
            "log": 10,
            "lr": 0.003,
            "evaluation": NEAR_TESTS,
        },
    }
    arm = Arm(
        "table-1-layer",
        run,
        lambda: built_numbers(TABLE, "table", NEAR_MODEL["heads"], NEAR_HIDDEN, TABLE_LENGTH),
        "table",
        1,
    )
    return Study(
        "1b",
        Variant.FURTHER,
        "The printed lags with a free bias per lag",
        "Does one layer learn lags 48, 56 and 99 where its bias can reach them?",
        (arm,),
        tuple(range(SEEDS[profile])),
        x_label="layers",
        metric="relative_loss",
        y_label="normalised MSE",
        x_log=False,
    )
