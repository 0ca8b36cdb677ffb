"""Experiment 1b: one layer with enough heads and neurons suffices for unrelated memories. (Paper,
Appendix H; docs/errata.md#e20, #e21.)

    y = g*(x_48, x_56, x_99), signs, N = 1000: H = 32, m = 256

    exists    one layer of this size can: 3 heads and 8 neurons are exact for every g*
    trained   one layer of this size has a normalised squared error below 0.01
    contrast  a second layer gains at most 0.01 of explained variance (one-sided)

The paper trained single layers only, so that its claim is one of sufficiency; the contrast is what
"layers need not be added" means. A gain cannot exceed what is left: where one layer is below 0.01
the contrast follows. Further claims: alike both ways; the same with lin and log heads, which reach
lags 1 and 2 (and no printed ones: `sparse_floors`).
"""

from collections.abc import Sequence
from typing import Any

from headcount.experiments import sparse_runs as runs
from headcount.experiments.sparse_floors import code_numbers
from headcount.experiments.sparse_runs import SHORT_MODEL, THRESHOLD, TRIVIAL
from headcount.experiments.table_numbers import copied_numbers
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
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant

PAPER_MODEL: dict[str, Any] = {"heads": 32, "width": 64, "hidden": 256}
BIASES = ("lin", "log")
NAMES = {1: "one-layer", 2: "two-layers"}


def studies(profile: Profile) -> tuple[Study, ...]:
    """The printed memory; in full also near lags with lin and log heads."""
    found = (as_written(profile),)
    return (*found, near(profile)) if profile is Profile.FULL else found


def tuned_arms() -> list[tuple[str, dict[str, Any]]]:
    """Every arm with a pilot of its own, before its setting is chosen."""
    full = Profile.FULL
    return [
        ("1b/one-layer", printed_run(full)),
        *((f"1b/{name}-short", runs.short_run(full, layers=n)) for n, name in NAMES.items()),
        *(
            (f"1b/{bias}-{name}", runs.near_run(bias, full, layers=n))
            for bias in BIASES
            for n, name in NAMES.items()
        ),
    ]


def printed_run(profile: Profile) -> dict[str, Any]:
    """One layer of the printed size on the printed memory; 3a's model without dot product."""
    return runs.printed_run(runs.of_run("exp-1b"), profile, **PAPER_MODEL)


def printed_numbers() -> Numbers:
    """Of the printed size."""
    return copied_numbers(
        runs.of_run("exp-1b"), PAPER_MODEL["heads"], PAPER_MODEL["hidden"], runs.LENGTH
    )


def short_numbers() -> Numbers:
    """Of the short sequences, whatever is added to one layer."""
    memory = runs.short_run(Profile.FULL)["memory"]
    return copied_numbers(memory, SHORT_MODEL["heads"], SHORT_MODEL["hidden"], runs.SHORT_LENGTH)


def as_written(profile: Profile) -> Study:
    """One layer as printed; one against two on short sequences."""
    arms = (
        Arm(
            "one-layer",
            tuned("1b/one-layer", printed_run(profile)),
            printed_numbers,
            "as printed",
            1,
        ),
        *(
            Arm(
                f"{name}-short",
                tuned(f"1b/{name}-short", runs.short_run(profile, layers=layers)),
                short_numbers,
                "short",
                layers,
            )
            for layers, name in NAMES.items()
        ),
    )
    return Study(
        "1b",
        Variant.AS_WRITTEN,
        "Unrelated memories: is one layer enough?",
        "Does one layer of 32 heads and 256 neurons learn g*(x_48, x_56, x_99)?",
        arms[1:] if profile is Profile.SMOKE else arms,  # the short ones
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=() if profile is Profile.SMOKE else (_trained(), *_contrasts()),
        existences=(EXISTS,),
        metric=runs.METRIC,
        x_label="layers",
        y_label=runs.LABEL,
        x_log=False,
        shown=runs.SHOWN[profile],
        notes=("the paper's figures are in an image table: none is quoted", runs.TABLE_NOTE),
    )


EXISTS = Existence(
    "1b",
    "One layer of 32 heads and 256 neurons can compute any g* of the three signs.",
    (Can("32 heads and 256 neurons", printed_numbers, THRESHOLD, "normalised MSE"),),
)


def _trained() -> Hypothesis:
    return Hypothesis(
        "1b",
        Kind.TRAINED,
        "One layer of 32 heads and 256 neurons learns g*(x_48, x_56, x_99).",
        (Part("one layer", BelowThreshold("one-layer", THRESHOLD)),),
        TRIVIAL,
        notes=(runs.TABLE_NOTE,),
    )


def _contrasts() -> tuple[Hypothesis, ...]:
    arms = ("one-layer-short", "two-layers-short")
    return (
        Hypothesis(
            "1b",
            Kind.CONTRAST,
            "A second layer gains at most 0.01 of explained variance.",
            (Part("layers", NoBenefit(*arms, Scale.EXPLAINED)),),
            TRIVIAL,
            notes=(
                runs.SHORT_NOTE,
                "a gain cannot exceed what one layer leaves: below 0.01 it follows from 'trained'",
            ),
        ),
        Hypothesis(
            "1b",
            Kind.CONTRAST,
            "One layer and two are alike both ways.",
            (Part("layers", Equivalent(*arms, Scale.EXPLAINED)),),
            TRIVIAL,
            further=True,
            name="both ways",
            notes=(runs.SHORT_NOTE,),
        ),
    )


# --- near lags ------------------------------------------------------------------------------------


def near(profile: Profile) -> Study:
    """Lin and log heads where they reach the lags."""
    arms = tuple(_near_arm(bias, n, profile) for bias in BIASES for n in NAMES)
    return Study(
        "1b",
        Variant.FURTHER,
        "Lags 1 and 2 with lin and log heads: one layer or two?",
        "Is one layer enough where lin and log heads reach the lags?",
        arms,
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=tuple(h for bias in BIASES for h in _near_claims(bias)),
        metric=runs.METRIC,
        x_label="layers",
        y_label=runs.LABEL,
        x_log=False,
    )


def _near_arm(bias: str, layers: int, profile: Profile) -> Arm:
    name = f"{bias}-{NAMES[layers]}"
    return Arm(
        name,
        tuned(f"1b/{name}", runs.near_run(bias, profile, layers=layers)),
        lambda: near_numbers(bias, layers),
        bias,
        layers,
    )


def near_numbers(bias: str, layers: int = 1) -> Numbers:
    """One head codes both signs: exact."""
    heads, width = runs.NEAR_MODEL["heads"], runs.NEAR_MODEL["hidden"]
    return code_numbers(runs.NEAR, bias, heads, width, runs.NEAR_LENGTH, layers)


def _near_claims(bias: str) -> Sequence[Hypothesis]:
    return (
        Hypothesis(
            "1b",
            Kind.TRAINED,
            f"One layer of {bias} heads learns lags 1 and 2.",
            (Part("one layer", BelowThreshold(f"{bias}-one-layer", THRESHOLD)),),
            TRIVIAL,
            further=True,
            name=f"near lags, {bias}",
            notes=(runs.NEAR_NOTE,),
        ),
        Hypothesis(
            "1b",
            Kind.CONTRAST,
            f"With {bias} heads at lags 1 and 2 a second layer gains at most 0.01.",
            (
                Part(
                    "layers", NoBenefit(f"{bias}-one-layer", f"{bias}-two-layers", Scale.EXPLAINED)
                ),
            ),
            TRIVIAL,
            further=True,
            name=f"near lags, {bias}",
            notes=(runs.NEAR_NOTE,),
        ),
    )
