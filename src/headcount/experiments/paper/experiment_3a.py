"""Experiment 3a: on a simple task a model without dot product is sufficient, and adding it improves
marginally. (Paper, Appendix H; the memory is that of 1b.)

    exists    32 heads without dot product and 256 neurons can: 3 heads and 8 neurons are exact
    trained   this model has a normalised squared error below 0.01 (the run of 1b)
    contrast  the dot product gains at most 0.01 of explained variance (one-sided)

Further claims: alike both ways; the same with log heads at lags 1 and 2.
"""

from typing import Any

from headcount.experiments import sparse_runs as runs
from headcount.experiments.paper.experiment_1b import (
    near_numbers,
    printed_numbers,
    printed_run,
    short_numbers,
)
from headcount.experiments.sparse_runs import THRESHOLD, TRIVIAL
from headcount.experiments.tuning import tuned
from headcount.lab.judge.existence import Can, Existence
from headcount.lab.judge.hypothesis import (
    BelowThreshold,
    Equivalent,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
)
from headcount.lab.judge.statistics import Scale
from headcount.lab.study import Arm, Profile, Study, Variant


def studies(profile: Profile) -> tuple[Study, ...]:
    """The printed memory; in full also near lags with log heads."""
    found = (as_written(profile),)
    return (*found, near(profile)) if profile is Profile.FULL else found


def tuned_arms() -> list[tuple[str, dict[str, Any]]]:
    """Every arm with a pilot of its own; those without dot product are arms of 1b."""
    full = Profile.FULL
    return [
        ("3a/dp-short", runs.short_run(full, "dot")),
        ("3a/dp-near", runs.near_run("log", full, "dot")),
    ]


def as_written(profile: Profile) -> Study:
    """The model without dot product as printed; with and without it on short sequences."""
    arms = (
        Arm(
            "dp-free",
            tuned("1b/one-layer", printed_run(profile)),
            printed_numbers,
            "without dot product",
        ),
        Arm(
            "dp-free-short",
            tuned("1b/one-layer-short", runs.short_run(profile)),
            short_numbers,
            "without dot product",
        ),
        Arm(
            "dp-short",
            tuned("3a/dp-short", runs.short_run(profile, "dot")),
            short_numbers,
            "with dot product",
        ),
    )
    return Study(
        "3a",
        Variant.AS_WRITTEN,
        "A simple task: is the dot product needed?",
        "Does a model without dot product learn g*(x_48, x_56, x_99), and does adding it help?",
        arms[1:] if profile is Profile.SMOKE else arms,  # the short ones
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=() if profile is Profile.SMOKE else (_trained(), *_contrasts()),
        existences=(EXISTS,),
        metric=runs.METRIC,
        x_label="dot product",
        y_label=runs.LABEL,
        shown=runs.SHOWN[profile],
        notes=("the paper's figures are in an image table: none is quoted", runs.TABLE_NOTE),
    )


EXISTS = Existence(
    "3a",
    "32 heads without dot product and 256 neurons can compute any g* of the three signs.",
    (
        Can(
            "32 heads without dot product and 256 neurons",
            printed_numbers,
            THRESHOLD,
            "normalised MSE",
        ),
    ),
)


def _trained() -> Hypothesis:
    return Hypothesis(
        "3a",
        Kind.TRAINED,
        "32 heads without dot product and 256 neurons learn g*(x_48, x_56, x_99).",
        (Part("without dot product", BelowThreshold("dp-free", THRESHOLD)),),
        TRIVIAL,
        notes=(runs.TABLE_NOTE, "the runs are those of 1b"),
    )


def _contrasts() -> tuple[Hypothesis, ...]:
    arms = ("dp-free-short", "dp-short")
    return (
        Hypothesis(
            "3a",
            Kind.CONTRAST,
            "The dot product gains at most 0.01 of explained variance.",
            (Part("dot product", NoBenefit(*arms, Scale.EXPLAINED)),),
            TRIVIAL,
            notes=(runs.SHORT_NOTE,),
        ),
        Hypothesis(
            "3a",
            Kind.CONTRAST,
            "With and without dot product are alike both ways.",
            (Part("dot product", Equivalent(*arms, Scale.EXPLAINED)),),
            TRIVIAL,
            further=True,
            name="both ways",
            notes=(runs.SHORT_NOTE,),
        ),
    )


# --- near lags ------------------------------------------------------------------------------------


def near(profile: Profile) -> Study:
    """Log heads at lags 1 and 2."""
    arms = (
        Arm(
            "dp-free",
            tuned("1b/log-one-layer", runs.near_run("log", profile)),
            lambda: near_numbers("log"),
            "without dot product",
        ),
        Arm(
            "dp",
            tuned("3a/dp-near", runs.near_run("log", profile, "dot")),
            lambda: near_numbers("log"),
            "with dot product",
        ),
    )
    claim = Hypothesis(
        "3a",
        Kind.CONTRAST,
        "With log heads at lags 1 and 2 the dot product gains at most 0.01.",
        (Part("dot product", NoBenefit("dp-free", "dp", Scale.EXPLAINED)),),
        TRIVIAL,
        further=True,
        name="near lags",
        notes=(runs.NEAR_NOTE,),
    )
    return Study(
        "3a",
        Variant.FURTHER,
        "Lags 1 and 2 with log heads: with or without dot product?",
        "Does the dot product help where log heads reach the lags?",
        arms,
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=(claim,),
        metric=runs.METRIC,
        x_label="dot product",
        y_label=runs.LABEL,
    )
