"""Experiment 4a: heavy-tailed memory, log heads against lin heads (paper, Section 6 and Appendix H;
docs/errata.md#e18).

The paper: log heads are efficient on s^-1/2 (one head below 1e-5), lin heads improve little even
with 64 (0.19). Three questions:

    exists    can one log head get below 1e-5, and 64 lin heads not?
    trained   does one trained log head get below 1e-5?
    contrast  does one trained log head beat 64 trained lin heads? Further: H against H.

Around the heads are an embedding, a residual and a linear readout: a lin head sees lag 0, which the
target does not have, and the residual is what cancels it.

**Reading map.** The paper does not say what is around the heads, how p >= 0 is kept, or the
learning rate. Every reading is run at every learning rate, untuned.

**Learning-rate map.** The loss after 10,000 steps against the learning rate, for one log head and
1, 8 and 64 lin heads: 0.19 is one point of a curve.
"""

import dataclasses
import math
from typing import Any

from headcount.experiments.floors import kernel_numbers
from headcount.experiments.kernel_runs import (
    AROUND,
    EXACT,
    HEADS,
    LENGTH,
    READ_RATES,
    READING_NOTES,
    READINGS,
    SEEDS,
    SHOWN,
    STEPS,
    Reading,
    alike,
    kernel_run,
    rate_cells,
)
from headcount.experiments.tuning import LEARNING_RATES, tuned
from headcount.lab.judge.existence import Can, Cannot, Existence
from headcount.lab.judge.hypothesis import BelowThreshold, Benefit, Hypothesis, Kind, Part, Reported
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, StudyRole, Variant
from headcount.memory.kernels import Power

MEMORY = "exp-4a"
KERNEL = Power(0.5)  # on the window of the sequence: lags beyond it do not exist
# sum_{s=1}^{999} 1/s: the loss of answering 0
ENERGY = float(sum(1 / s for s in range(1, LENGTH)))
REPORTED = {"log-1": 1e-5, "lin-64": 0.19}
FIGURES = (
    Reported("log, 1 head: MSE", REPORTED["log-1"], "<"),
    Reported("lin, 64 heads: MSE", REPORTED["lin-64"]),
)
ENOUGH = 8  # lin heads that decide what 64 can do: the other 56 may answer 0
JUDGED = (("log", 1), ("lin", 64))
MAPPED = (("log", 1), ("lin", 1), ("lin", 8), ("lin", 64))
OUTSIDE = (
    "no theorem of the paper is about this kernel: s^-1/2 is not summable, and 0^-1/2, which is"
    " printed too, is undefined; lags are 1..999"
)


def studies(profile: Profile) -> tuple[Study, ...]:
    """What is judged and the map of learning rates; in full also the map of readings."""
    found = (as_meant(profile), learning_rates(profile))
    return (*found, readings()) if profile is Profile.FULL else found


def tuned_arms() -> list[tuple[str, dict[str, Any]]]:
    """Every arm that is tuned on pilot seeds, by its registered name."""
    return [
        (f"4a/{bias}-{heads}", _run(bias, heads, Profile.FULL))
        for bias in ("log", "lin")
        for heads in HEADS
    ]


def as_meant(profile: Profile) -> Study:
    """The arms `log-H` and `lin-H`, tuned."""
    full = profile is Profile.FULL
    sizes = tuple((bias, heads) for bias in ("log", "lin") for heads in HEADS) if full else JUDGED
    judges = profile is not Profile.SMOKE
    further = alike("4a", "lin", "log", ENERGY) if full else ()
    return Study(
        "4a",
        Variant.AS_MEANT,
        "Heavy tail: log or lin bias?",
        "Do log heads learn a heavy-tailed memory better than lin heads?",
        tuple(_tuned_arm(bias, heads, profile) for bias, heads in sizes),
        tuple(range(SEEDS[profile])),
        hypotheses=(*claims(), *further) if judges else (),
        existences=(existence(),) if judges else (),
        x_label="heads",
        y_label="population MSE",
        shown=SHOWN,
        notes=(OUTSIDE,),
    )


def claims() -> tuple[Hypothesis, ...]:
    """The paper's claims about training."""
    trained = Hypothesis(
        "4a",
        Kind.TRAINED,
        "On a heavy-tailed memory one trained log head gets below 1e-5.",
        (Part("1 log head", BelowThreshold("log-1", REPORTED["log-1"])),),
        ENERGY,
        FIGURES,
        notes=(OUTSIDE, EXACT),
    )
    beats = Benefit(
        "lin-64",
        "log-1",
        Scale.LOG10_RATIO,
        expected=math.log10(REPORTED["lin-64"] / REPORTED["log-1"]),
    )
    contrast = Hypothesis(
        "4a",
        Kind.CONTRAST,
        "On a heavy-tailed memory one log head learns better than 64 lin heads.",
        (Part("1 log head, 64 lin heads", beats),),
        ENERGY,
        FIGURES,
        notes=(OUTSIDE, EXACT),
    )
    return trained, contrast


def existence() -> Existence:
    """What weights can do: one log head is exact, and 8 lin heads are enough."""
    lin = f"64 lin heads, of which {ENOUGH} are used,"
    return Existence(
        "4a",
        "On a heavy-tailed memory one log head can get below 1e-5, and 64 lin heads cannot: they"
        " stay near 0.19.",
        (
            Can("models of one log head", lambda: _numbers("log", 1), REPORTED["log-1"]),
            Cannot(lin, lambda: _numbers("lin", ENOUGH), REPORTED["log-1"]),
        ),
        FIGURES,
        notes=(OUTSIDE,),
    )


def learning_rates(profile: Profile) -> Study:
    """The loss after all steps against the learning rate, constant, rates from U(0, 1)."""
    smoke = profile is Profile.SMOKE
    return Study(
        "4a",
        Variant.FURTHER,
        "Heavy tail: the learning rate decides",
        "What is the loss after 10,000 steps at each learning rate?",
        tuple(_arm(bias, heads, profile) for bias, heads in (MAPPED[:2] if smoke else MAPPED)),
        tuple(range(SHOWN if profile is Profile.FULL else 1)),
        rate_cells(LEARNING_RATES[2:4] if smoke else LEARNING_RATES),
        x_label="learning rate",
        y_label="population MSE",
        notes=("constant learning rate, initial rates from U(0, 1): nothing is tuned",),
        role=StudyRole.HEADLINE,
    )


def readings() -> Study:
    """Every reading of what the paper leaves open, for the two sizes that it gives figures of."""
    return Study(
        "4a",
        Variant.AS_WRITTEN,
        "Readings of the printed 4a",
        "Which reading of what the paper leaves open gives 1e-5 and 0.19?",
        tuple(_reading(reading, *size) for size in JUDGED for reading in READINGS),
        tuple(range(SHOWN)),
        rate_cells(READ_RATES),
        x_label="reading",
        y_label="MSE",
        notes=(
            *READING_NOTES,
            "bare: heads of size 1 alone; a lin head then sees lag 0, which the target lacks",
        ),
        role=StudyRole.READING_MAP,
    )


def _run(bias: str, heads: int, profile: Profile) -> dict[str, Any]:
    return kernel_run(MEMORY, AROUND.model(bias, heads), STEPS[profile])


def _numbers(bias: str, heads: int) -> Numbers:
    return kernel_numbers(KERNEL, bias, heads, LENGTH, residual=True)


def _arm(bias: str, heads: int, profile: Profile) -> Arm:
    """The cell has its learning rate."""
    name = f"{bias}-{heads}"
    return Arm(
        name,
        _run(bias, heads, profile),
        lambda: _numbers(bias, heads),
        bias,
        heads,
        REPORTED.get(name),
    )


def _tuned_arm(bias: str, heads: int, profile: Profile) -> Arm:
    arm = _arm(bias, heads, profile)
    return dataclasses.replace(arm, run=tuned(f"4a/{arm.name}", arm.run))


def _reading(reading: Reading, bias: str, heads: int) -> Arm:
    numbers = _numbers if reading.residual else _bare_numbers
    return reading.arm(
        MEMORY, bias, heads, lambda: numbers(bias, heads), REPORTED[f"{bias}-{heads}"]
    )


def _bare_numbers(bias: str, heads: int) -> Numbers:
    """Without a residual a steep lin head must cancel lag 0, which the others see: what one head
    fewer reaches is possible, and what no head sum with a residual reaches is out of reach.
    """
    if bias == "log":
        return kernel_numbers(KERNEL, bias, heads, LENGTH)
    all_heads = _numbers(bias, heads)
    fewer = _numbers(bias, heads - 1)
    note = f"{fewer.note}, and a head of large rate that cancels lag 0"
    return dataclasses.replace(
        fewer, lower=all_heads.lower, certificate=all_heads.certificate, note=note
    )
