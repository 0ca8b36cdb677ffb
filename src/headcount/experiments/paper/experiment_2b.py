"""Experiment 2b: with a simple readout and several memories heads help markedly, neurons bring
almost no benefit. (Paper, Appendix H; docs/errata.md#e20, #e21.)

    y = x_48 + x_56 + x_99, signs, N = 1000

    exists    "one head cannot, however many neurons it has": refuted by one head of a free bias per
              lag that weighs the three lags alike
    trained   4 heads and 16 neurons have a normalised squared error below 0.01
    contrast  8 heads beat 1 by a factor of 2, and 256 neurons gain at most 0.01 of explained
              variance on 16 (one-sided)

So what heads bring here they bring to training. Further claim: lin heads on the smooth kernel
s^{-1/2}, where heads are needed (floors 1.87 with one, 1.7e-3 with four of 7.48). The map shows
which readings give the paper's two numbers; lin and log heads reach neither reading's lags.
"""

import dataclasses
from typing import Any

from headcount.experiments import reading_map
from headcount.experiments import sparse_runs as runs
from headcount.experiments.floors import kernel_numbers
from headcount.experiments.reading_map import Size
from headcount.experiments.sparse_floors import unreachable_numbers
from headcount.experiments.sparse_runs import LENGTH, THRESHOLD, TRIVIAL
from headcount.experiments.table_numbers import copied_numbers
from headcount.experiments.tuning import tuned
from headcount.lab.judge.existence import Cannot, Existence
from headcount.lab.judge.hypothesis import (
    BelowThreshold,
    Benefit,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
    Reported,
)
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, StudyRole, Variant
from headcount.memory.kernels import Power

MEMORY = "exp-2b"
Sizes = tuple[tuple[int, int], ...]  # heads and neurons

JUDGED: Sizes = ((1, 16), (4, 16), (8, 16), (4, 256))
REPORTED = (Reported("MSE at H = 1", 1.16), Reported("MSE at large H", 1e-6))
SIZES = (Size(1, 16, 1, 1.16), Size(8, 16, 8, 1e-6))  # of the map

KERNEL = Power(0.5)
ENERGY = float(sum(1 / s for s in range(1, LENGTH)))  # the variance of its answers
SMOOTH = "exp-2b-repaired"
SMOOTH_STEPS = 3000


def studies(profile: Profile) -> tuple[Study, ...]:
    """The printed memory; in full also a smooth kernel and the readings."""
    found = (as_meant(profile),)
    return (*found, smooth(profile), readings(profile)) if profile is Profile.FULL else found


def tuned_arms() -> list[tuple[str, dict[str, Any]]]:
    """Every arm with a pilot of its own, before its setting is chosen."""
    full = Profile.FULL
    return [
        *((f"2b/{runs.size_name(*size)}", _run(*size, full)) for size in JUDGED),
        *((f"2b/{name}", run) for name, run in _smooth_runs().items()),
    ]


def _run(heads: int, neurons: int, profile: Profile) -> dict[str, Any]:
    return runs.printed_run(MEMORY, profile, heads=heads, width=16, hidden=neurons)


def as_meant(profile: Profile) -> Study:
    """Heads and neurons on the printed memory, with a table."""
    sizes = JUDGED[:1] if profile is Profile.SMOKE else JUDGED
    return Study(
        "2b",
        Variant.AS_MEANT,
        "Several memories: heads or neurons?",
        "Do heads help to read x_48 + x_56 + x_99, and neurons not?",
        tuple(_arm(*size, profile) for size in sizes),
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=() if profile is Profile.SMOKE else (_trained(), _contrast(), _swapped()),
        existences=(EXISTS,),
        metric=runs.METRIC,
        x_label="heads",
        y_label=runs.LABEL,
        shown=runs.SHOWN[profile],
        notes=(runs.TABLE_NOTE,),
        role=StudyRole.SIZE_TABLE,
    )


def table_numbers(heads: int, neurons: int) -> Numbers:
    """Exact from one head and two neurons on."""
    return copied_numbers(MEMORY, heads, neurons, LENGTH)


def _arm(heads: int, neurons: int, profile: Profile) -> Arm:
    return Arm(
        runs.size_name(heads, neurons),
        tuned(f"2b/{runs.size_name(heads, neurons)}", _run(heads, neurons, profile)),
        lambda: table_numbers(heads, neurons),
        x=heads,
        at={"H": heads, "m": neurons},
    )


EXISTS = Existence(
    "2b",
    "One head cannot read three memories, however many neurons follow.",
    (Cannot("1 head and 16 neurons", lambda: table_numbers(1, 16), THRESHOLD, "normalised MSE"),),
    REPORTED,
    notes=(runs.TABLE_NOTE,),
)


def _trained() -> Hypothesis:
    return Hypothesis(
        "2b",
        Kind.TRAINED,
        "4 heads and 16 neurons learn x_48 + x_56 + x_99.",
        (Part("4 heads", BelowThreshold("heads-4-m-16", THRESHOLD)),),
        TRIVIAL,
        REPORTED,
        notes=(runs.TABLE_NOTE,),
    )


def _contrast() -> Hypothesis:
    return Hypothesis(
        "2b",
        Kind.CONTRAST,
        "With several memories heads help, neurons bring almost no benefit.",
        (
            Part("heads", Benefit("heads-1-m-16", "heads-8-m-16", Scale.LOG10_RATIO)),
            Part("neurons", NoBenefit("heads-4-m-16", "heads-4-m-256", Scale.EXPLAINED)),
        ),
        TRIVIAL,
        REPORTED,
        notes=(runs.TABLE_NOTE, "one head is exact: what heads bring, they bring to training"),
    )


def _swapped() -> Hypothesis:
    """The control: heads and neurons change places. Where it is supported too, both help by orders
    of magnitude and neither by a part of the variance: the contrast tells little.
    """
    return Hypothesis(
        "2b",
        Kind.CONTRAST,
        "Control: neurons help, heads bring almost no benefit.",
        (
            Part("neurons", Benefit("heads-4-m-16", "heads-4-m-256", Scale.LOG10_RATIO)),
            Part("heads", NoBenefit("heads-1-m-16", "heads-8-m-16", Scale.EXPLAINED)),
        ),
        TRIVIAL,
        further=True,
        name="swapped",
    )


# --- a smooth kernel ------------------------------------------------------------------------------


def _smooth_runs() -> dict[str, dict[str, Any]]:
    """Lin heads behind a linear readout (exact loss), and behind 16 or 256 neurons."""
    made = {}
    for name, heads, neurons in (
        ("lin-1", 1, 0),
        ("lin-4", 4, 0),
        ("lin-4-m-16", 4, 16),
        ("lin-4-m-256", 4, 256),
    ):
        model = {"bias": {"kind": "lin"}, "heads": heads, "width": 16, "head_dim": 1}
        readout = {"hidden": neurons} if neurons else {"ffn": "none", "readout": "linear"}
        run = runs.run(SMOOTH, {**model, **readout}, LENGTH, SMOOTH_STEPS)
        if not neurons:
            run["train"]["loss"] = "population"
        made[name] = run
    return made


def smooth(profile: Profile) -> Study:
    """Lin heads on s^{-1/2}, where one head cannot."""
    arms = tuple(
        Arm(
            name,
            tuned(f"2b/{name}", run),
            lambda heads=run["model"]["heads"], linear="hidden" not in run["model"]: (  # type: ignore[misc]
                smooth_numbers(heads, linear)
            ),
            "linear readout" if "hidden" not in run["model"] else "ReLU readout",
            run["model"]["heads"],
        )
        for name, run in _smooth_runs().items()
    )
    claim = Hypothesis(
        "2b",
        Kind.CONTRAST,
        "On a smooth kernel lin heads help, neurons bring almost no benefit.",
        (
            Part("heads", Benefit("lin-1", "lin-4", Scale.LOG10_RATIO)),
            Part("neurons", NoBenefit("lin-4-m-16", "lin-4-m-256", Scale.EXPLAINED)),
        ),
        TRIVIAL,
        REPORTED,
        further=True,
        name="smooth kernel",
        notes=(
            "the kernel s^-1/2 on 999 lags with lin heads: no theorem is about it, for it is not"
            " summable",
            "exact population loss without neurons, fresh batches with them",
        ),
    )
    return Study(
        "2b",
        Variant.FURTHER,
        "A smooth memory: heads or neurons?",
        "Do lin heads help on s^{-1/2}, and neurons not?",
        arms,
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=(claim,),
        metric=runs.METRIC,
        x_label="heads",
        y_label=runs.LABEL,
    )


def smooth_numbers(heads: int, linear: bool) -> Numbers:
    """The floors of lin heads, normalised; two neurons are a linear readout, but the bound is not
    proved for others.
    """
    found = kernel_numbers(KERNEL, "lin", heads, LENGTH)

    def share(value: float | None) -> float | None:
        return None if value is None else value / ENERGY

    return dataclasses.replace(
        found,
        promised=share(found.promised),
        possible=share(found.possible),
        lower=share(found.lower) if linear else None,
        certificate=found.certificate if linear else "none",
        float32=share(found.float32),
        bfloat16=share(found.bfloat16),
        note=found.note if linear else f"{found.note}; two neurons are a linear readout",
    )


# --- readings -------------------------------------------------------------------------------------


def readings(profile: Profile) -> Study:
    """Which reading gives 1.16 with one head and 1e-6 with many."""
    arms = reading_map.map_arms({"kind": MEMORY}, SIZES, _map_numbers, profile)
    return Study(
        "2b",
        Variant.AS_WRITTEN,
        "Readings of the printed 2b",
        "Which reading gives the published numbers?",
        arms,
        tuple(range(reading_map.SEEDS)),
        reading_map.CELLS,
        x_label="heads",
        y_label="MSE",
        notes=(reading_map.NOTE, "the largest number of heads in the paper is not in its text"),
        role=StudyRole.READING_MAP,
    )


def _map_numbers(bias: str, reading: str, size: Size) -> Numbers:
    if bias == "table":
        return table_numbers(size.heads, size.neurons)  # exact: 0 in any unit
    if bias in ("lin", "log"):
        return unreachable_numbers(f"{MEMORY}:reading={reading}", bias, size.heads, size.neurons)
    return Numbers(note="no floor is known for this bias")
