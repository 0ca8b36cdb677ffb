"""Depth: how far back can lin heads reach with L layers? A fixed lag T; trained loss by T and L.

One lin head decays, so 4 of them isolate lag T only with weights that grow like (3 + 2 sqrt 2)^T
(docs/theory.md#weight), and no H < T of them do (Theorem A; x_t comes free through the residual,
else H <= T). Layers compose: the lags of successive layers add up, so T = T_1 + … + T_L with T_i
about T/L.

Linear model (no networks, no normalisation, so that a head is e^{-p s} exactly), Boolean tokens,
exact population loss: the loss is ||1{s=T} - kernel||_2^2, and answering 0 costs 1. Floors: L = 1
the best l2 fit with its certificate; L > 1 what the composition of the best single-layer fits
gives, computed by convolving them (an upper bound of the floor; no lower bound is known): once
unrounded, and once for each number format, with the heads that are best in it as it draws them. Lag
0 is free in every layer: a layer's heads write to a channel of their own, and whoever reads it, the
next layer's values or the readout, subtracts from it any multiple of the channel that the heads
read, which the residual has kept.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headcount.experiments.floors import fitted, kernel_numbers, l2_problem, representable
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.memory.kernels import Lag
from headcount.theory.rounding import Dtype, rounded_kernel

HEADS = 4
LENGTH = 32
SIZES: Mapping[Profile, Mapping[str, Any]] = {
    Profile.SMOKE: {"lags": (1, 4), "layers": (1,), "steps": 2000, "seeds": 2},
    Profile.LAPTOP: {"lags": (1, 2, 4, 8), "layers": (1, 2, 3), "steps": 10000, "seeds": 3},
    Profile.FULL: {"lags": (1, 2, 4, 8), "layers": (1, 2, 3), "steps": 30000, "seeds": 5},
}


def studies(profile: Profile) -> tuple[Study, ...]:
    """One study: the arms `lag-T-layers-L`."""
    size = SIZES[profile]
    arms = tuple(
        _arm(lag, layers, size["steps"]) for layers in size["layers"] for lag in size["lags"]
    )
    return (
        Study(
            "depth",
            Variant.FURTHER,
            "Depth: how far back do lin heads reach?",
            "A fixed lag T grows; does depth keep it in reach where more weight would be needed?",
            arms,
            tuple(range(size["seeds"])),
            x_label="lag",
            y_label="population MSE",
            notes=(
                f"{HEADS} lin heads per layer, no networks, normalisation-free;"
                " answering 0 costs 1",
            ),
        ),
    )


def _arm(lag: int, layers: int, steps: int) -> Arm:
    run = {
        "memory": {"kind": "fixed", "lags": [lag]},
        "model": {
            "layers": layers,
            "heads": HEADS,
            "width": 8,
            "head_dim": 2,
            "attention": "dp-free",
            "bias": {"kind": "lin"},
            "normaliser": "none",
            "ffn": "none",
        },
        "train": {"steps": steps, "length": LENGTH, "loss": "population", "lr": 0.003, "log": 10},
    }
    return Arm(
        f"lag-{lag}-layers-{layers}",
        run,
        functools.partial(composed_numbers, lag, layers),
        f"{layers} layers",
        lag,
    )


def split(lag: int, layers: int) -> tuple[int, ...]:
    """The lag as a sum of at most `layers` positive parts, as equal as can be.

    >>> split(8, 3), split(1, 2)
    ((3, 3, 2), (1,))
    """
    parts = min(layers, lag)
    return tuple(lag // parts + (i < lag % parts) for i in range(parts))


def composed_numbers(lag: int, layers: int) -> Numbers:
    """The floor of L layers of HEADS lin heads for 1{s = lag}."""
    if layers == 1:
        return kernel_numbers(Lag(lag), "lin", HEADS, LENGTH, residual=True)
    lags = " + ".join(map(str, split(lag, layers)))
    return Numbers(
        promised_text="none: Theorem 3.1 is about one layer",
        possible=_composed(lag, layers, _layer),
        certificate="none",
        float32=_composed(lag, layers, functools.partial(_rounded_layer, Dtype.FLOAT32)),
        bfloat16=_composed(lag, layers, functools.partial(_rounded_layer, Dtype.BFLOAT16)),
        note=(
            f"the best single-layer fits of lags {lags} or of fewer layers, convolved in float64;"
            " float32 and bfloat16: of the heads that are best in the format, their kernels as it"
            " draws them; others may do better"
        ),
    )


def _composed(lag: int, layers: int, layer: Callable[[int], np.ndarray]) -> float:
    """The loss on 1{s = lag} of at most so many layers in a row: any of them may be idle."""
    kernels = [
        functools.reduce(np.convolve, [layer(part) for part in split(lag, used)])[:LENGTH]
        for used in range(1, layers + 1)
    ]
    return min(float(((kernel - (np.arange(LENGTH) == lag)) ** 2).sum()) for kernel in kernels)


def _layer(lag: int) -> np.ndarray:
    """What one layer of the best heads draws for 1{s = lag}, lag >= 1, lag 0 free.  [LENGTH]"""
    kernel = fitted(Lag(lag), "lin", HEADS, LENGTH, residual=True).drawn()[:LENGTH]
    kernel[0] = 0.0
    return kernel


def _rounded_layer(dtype: Dtype, lag: int) -> np.ndarray:
    """The same in a number format: the heads that are best in it, as it draws them.  [LENGTH]"""
    heads = representable(Lag(lag), "lin", HEADS, LENGTH, True, str(dtype)).head_sum
    assert heads is not None
    problem = l2_problem(Lag(lag), "lin", LENGTH, residual=True)
    kernel = np.zeros(LENGTH)
    kernel[problem.first_lag :] = rounded_kernel(problem, heads, dtype)
    return kernel
