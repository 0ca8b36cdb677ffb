"""Failures: heads and bias are made too small or unfit on purpose; do the signatures
(`lab/judge/signatures.py`) name what was planted?

Eight signs at lags 1, 2, 8, 12, …, 28 with weights of alternating sign, so that a head spread over
many lags reads none of them. Linear models, exact population loss, so the record has the error at
every lag:

    peak-3            three heads that each read one lag: too few heads
    lin-8, log-8      a head for every lag, of a bias that tells lag 8 from its neighbours only
                      with huge weights: the wrong bias
    peak-32, table-2  nothing is planted: peaks start near every lag; a table draws the positive
                      lags with one head and the negative ones with another

A depth that is too small shows on pointer chains (`heads`), a bias that fails beyond the trained
length on kernels (`bias`).
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.experiments.floors import kernel_numbers, loss_bound, question
from headcount.experiments.recipes import linear_model
from headcount.experiments.sparse_floors import GENEROUS, lag_claim, lag_problem
from headcount.lab.judge.signatures import Failure
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.memory.kernels import ArrayKernel

LAGS = (1, 2, 8, 12, 16, 20, 24, 28)
WEIGHTS = (1.0, -1.0) * 4
LENGTH = 32
PEAKS = {"kind": "peak", "reach": 30.0, "rate": 0.05}
DECAYS = {"low": 0.0, "high": 4.0, "spacing": "uniform"}
MODELS: Mapping[str, tuple[Mapping[str, Any], int, Failure]] = {
    "peak-3": (PEAKS, 3, Failure.HEADS),
    "lin-8": ({"kind": "lin", **DECAYS}, 8, Failure.BIAS),
    "log-8": ({"kind": "log", **DECAYS}, 8, Failure.BIAS),
    "peak-32": (PEAKS, 32, Failure.NONE),
    "table-2": ({"kind": "table", "window": LENGTH}, 2, Failure.NONE),
}
SIZES: Mapping[Profile, Mapping[str, Any]] = {
    Profile.SMOKE: {"arms": ("peak-3", "table-2"), "steps": 3000, "seeds": 1},
    Profile.LAPTOP: {"arms": tuple(MODELS), "steps": 10000, "seeds": 3},
    Profile.FULL: {"arms": tuple(MODELS), "steps": 10000, "seeds": 10},
}


def studies(profile: Profile) -> tuple[Study, ...]:
    """One study: the arms of `MODELS`."""
    size = SIZES[profile]
    return (
        Study(
            "failures",
            Variant.FURTHER,
            "Planted failures: is each one named?",
            "A model lacks heads, or has a bias that does not fit: does the error by lag say"
            " which?",
            tuple(_arm(name, size["steps"]) for name in size["arms"]),
            tuple(range(size["seeds"])),
            x_label="model",
            y_label="population MSE",
            notes=(
                (
                    f"signs at lags {', '.join(map(str, LAGS))}, weights of alternating sign;"
                    f" answering 0 costs {len(LAGS)}"
                ),
                "planted: " + "; ".join(f"{name}: {MODELS[name][2].text}" for name in size["arms"]),
                "what each run was found to lack is in the table of failure signatures",
            ),
        ),
    )


def _arm(name: str, steps: int) -> Arm:
    bias, heads, _ = MODELS[name]
    run = {
        "memory": {
            "kind": "fixed",
            "lags": list(LAGS),
            "readout": {"kind": "linear", "weights": list(WEIGHTS)},
        },
        "model": linear_model(bias, heads),
        "train": {"steps": steps, "length": LENGTH, "loss": "population", "lr": 0.01, "log": 10},
    }
    return Arm(name, run, functools.partial(_numbers, str(bias["kind"]), heads), str(bias["kind"]))


def _numbers(bias: str, heads: int) -> Numbers:
    """The best fit of the eight lags; for decaying heads a certified bound at any number of
    heads of moderate weight.
    """
    kernel = np.zeros(LENGTH)
    kernel[list(LAGS)] = WEIGHTS
    found = kernel_numbers(ArrayKernel(tuple(kernel)), bias, heads, LENGTH, residual=True)
    if bias not in ("lin", "log"):
        return found
    claim = lag_claim(LAGS, WEIGHTS, bias, GENEROUS, LENGTH)
    asked = question(lag_problem(LAGS, WEIGHTS, bias, GENEROUS, LENGTH), heads)
    bound = loss_bound(claim, asked)
    assert bound is not None, "the dual certificate is always complete"
    return dataclasses.replace(
        found, lower=bound.value, lower_for=bound.holds_for, certificate=bound.certificate
    )
