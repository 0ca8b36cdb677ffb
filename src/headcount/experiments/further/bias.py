"""Bias: every positional bias on essentially sparse memories, light to heavy tails, trained at
N = 64 and tested at N = 256.

A linear model of a few dot-product-free heads, exact population losses at both lengths:
`train_loss` is the loss at the trained length, `eval_loss` that at the longer one, which asks for
nothing new where the kernel has died out within 64 lags. Floors are those of the longer length.
The residual gives lag 0 to every arm.

What each bias could reach on a positive kernel with lag 0 given by the residual, where the loss is
the sum of (rho(s) - heads(s))^2 over 1 <= s < N:

    lin, log, log1p  the best l2 fit found and its certificate (`kernel_numbers`, lag 0 free)
    peak             the best sum of peaks found, also with centres before lag 0; no bound from
                     below
    kerple-power,    contain lin and log1p (exponent 1, scale 1): their fit, or a better one with
    kerple-log       two numbers per head
    alibi, none      fixed curves: least squares, which is the floor exactly
    t5               any function that is constant on buckets: the variance within buckets, exactly,
                     for every number of heads
    table            any positive kernel with one head: 0
    rope, fire       not computed

Representable (alibi, none, t5, table): the same heads as `theory.rounding` evaluates them: logits
and softmax in float32, then the probabilities and the heads' weights are rounded to the format, and
products add up in float32.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

from headcount.experiments.floors import kernel_numbers
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.memory.kernels import AbstractKernel, kernels
from headcount.model.biases.shaped import T5
from headcount.theory.rounding import Dtype

FITTED = {
    "lin": "lin",
    "log": "log",
    "log1p": "log1p",
    "peak": "peak",
    "kerple-power": "lin",
    "kerple-log": "log1p",
}
PROJECTION = "least squares in float64"


def trivial_loss(kernel: str, length: int) -> float:
    """Of answering with the residual alone: all lags but 0."""
    values = kernels.build(kernel).values(length)[1:]
    return float(values @ values)


@functools.lru_cache(maxsize=256)
def bias_numbers(kernel: str, bias: str, heads: int, length: int) -> Numbers:
    """The floor of `heads` heads of a bias on a kernel over `length` lags."""
    built = kernels.build(kernel)
    if bias in FITTED:
        return _fitted(built, bias, heads, length)
    values = built.values(length)[1:]
    if bias == "table":
        exact = Numbers(
            promised_text="none",
            possible=0.0,
            lower=0.0,
            certificate="a loss is not negative",
            note="one head draws any positive kernel",
        )
        return _with_one_head(exact, values, values)
    if bias in ("alibi", "none"):
        curves = _curves(bias, heads, length)
        found, numbers = _projected(values, curves, "fixed curves: exact for this number of heads")
        return _rounded(numbers, values, np.concatenate([np.ones_like(curves[:1]), curves]), found)
    if bias == "t5":
        buckets = _buckets(length)
        found, numbers = _projected(
            values, buckets, "constant on buckets: exact for every number of heads"
        )
        return _with_one_head(numbers, values, buckets @ found)
    return Numbers(
        promised_text="none", certificate="none", note=f"no floor is computed for {bias}"
    )


def _fitted(kernel: AbstractKernel, bias: str, heads: int, length: int) -> Numbers:
    found = kernel_numbers(kernel, FITTED[bias], heads, length, residual=True)
    if bias not in LOGITS:
        return found
    known = Numbers(
        promised_text="none",
        possible=found.possible,
        certificate="none",
        float32=found.float32,
        bfloat16=found.bfloat16,
        note=found.note if bias == FITTED[bias] else f"contains {FITTED[bias]}: {found.note}",
    )
    values = kernel.values(length)[1:]
    curves, coefficients, loss = _searched(values, bias, heads)
    better = _rounded(
        dataclasses.replace(
            known, possible=loss, note="least squares over both numbers of every head"
        ),
        values,
        curves,
        coefficients,
    )
    return min(known, better, key=lambda numbers: numbers.floor or 0.0)


# of the lag, log of the rate, second number
LOGITS: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "peak": lambda s, u, v: -np.exp(u) * (s - v) ** 2,
    "kerple-log": lambda s, u, v: -np.exp(u) * np.log1p(np.exp(np.clip(v, -30, 30)) * s),
    "kerple-power": lambda s, u, v: -np.exp(u) * s ** np.clip(v, 0.01, 2.0),
}
# where the search starts from
SECOND = {"peak": (-2000.0, 64.0), "kerple-log": (-6.0, 6.0), "kerple-power": (0.05, 2.0)}
STARTS = 16


def _searched(values: np.ndarray, bias: str, heads: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The best of several local optima in the heads' numbers, coefficients eliminated: curves
    [length, H], lag 0 first, coefficients, loss.
    """
    lags = np.arange(len(values) + 1.0)[:, None]  # [length, 1]

    def drawn(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u, v = theta.reshape(2, heads)
        logits = LOGITS[bias](lags, np.clip(u, -30, 30), v)
        curves = np.exp(logits - logits.max(axis=0))
        return curves, np.linalg.lstsq(curves[1:], values, rcond=None)[0]

    def left(theta: np.ndarray) -> np.ndarray:
        curves, coefficients = drawn(theta)
        return values - curves[1:] @ coefficients

    rng = np.random.default_rng(0)
    starts = [
        np.concatenate([rng.uniform(-12, 2, heads), rng.uniform(*SECOND[bias], heads)])
        for _ in range(STARTS)
    ]
    found = min(
        (least_squares(left, start, max_nfev=200) for start in starts), key=lambda each: each.cost
    )
    return *drawn(found.x), float(2 * found.cost)


def _curves(bias: str, heads: int, length: int) -> np.ndarray:
    """[length - 1, H]: 2^{-8h/H} are ALiBi's slopes."""
    rates = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads) if bias == "alibi" else np.zeros(1)
    return np.exp(-rates[None, :] * np.arange(1, length)[:, None])


def _buckets(length: int) -> np.ndarray:
    """[length - 1, buckets] indicators of the default T5 buckets, from the model's own map."""
    bias = T5(jnp.zeros((1, 32)), 128)
    index = np.asarray(bias.bucket(jnp.arange(1, length)))
    return (index[:, None] == np.unique(index)[None, :]).astype(float)


def _projected(values: np.ndarray, columns: np.ndarray, note: str) -> tuple[np.ndarray, Numbers]:
    """The best coefficients of the columns, and what they leave."""
    found, *_ = np.linalg.lstsq(columns, values, rcond=None)
    off = values - columns @ found
    loss = float(off @ off)
    return found, Numbers(
        promised_text="none", possible=loss, lower=loss, certificate=PROJECTION, note=note
    )


def _with_one_head(exact: Numbers, values: np.ndarray, drawn: np.ndarray) -> Numbers:
    """The formats of a kernel that one head draws, its logits the logarithms: lag 0, which the
    residual gives, and values below 0 get none.
    """
    return _rounded(
        exact, values, np.maximum(np.concatenate([[0.0], drawn]), 0.0)[:, None], np.ones(1)
    )


def _rounded(
    exact: Numbers, values: np.ndarray, curves: np.ndarray, coefficients: np.ndarray
) -> Numbers:
    """With the loss in each format of heads with these curves [length, H], lag 0 first, and
    coefficients [H].
    """
    with np.errstate(divide="ignore"):
        logits = np.log(curves).astype(np.float32)
    unnormalised = np.exp(logits - logits.max(axis=0))
    probabilities = unnormalised / unnormalised.sum(axis=0, dtype=np.float32)
    weights = coefficients * curves.sum(axis=0)

    def loss(dtype: Dtype) -> float:
        p, w = (z.astype(dtype.scalar).astype(np.float32) for z in (probabilities, weights))
        off = values - (p @ w)[1:].astype(np.float64)
        return float(off @ off)

    return dataclasses.replace(exact, float32=loss(Dtype.FLOAT32), bfloat16=loss(Dtype.BFLOAT16))


TRAINED, TESTED = 64, 256
HEADS = 2
BIASES: Mapping[str, Mapping[str, Any]] = {
    "lin": {},
    "log": {},
    "log1p": {},
    "kerple-log": {},
    "kerple-power": {},
    "alibi": {},
    "t5": {},
    "table": {"window": TESTED},  # untrained entries beyond the trained length
    "peak": {"reach": float(TRAINED)},
    "rope": {},
    "fire": {},
    "none": {},
}
KERNELS = ("exp:0.5", "exp:0.05", "power:2.5", "power:1.2", "power:0.5")
SIZES: Mapping[Profile, Mapping[str, Any]] = {
    Profile.SMOKE: {
        "kernels": ("power:2.5",),
        "biases": ("lin", "table"),
        "steps": 1000,
        "seeds": 2,
    },
    Profile.LAPTOP: {
        "kernels": ("exp:0.5", "power:0.5"),
        "biases": tuple(BIASES),
        "steps": 5000,
        "seeds": 2,
    },
    Profile.FULL: {"kernels": KERNELS, "biases": tuple(BIASES), "steps": 20000, "seeds": 5},
}


def studies(profile: Profile) -> tuple[Study, ...]:
    """One study: the arms `bias kernel`."""
    size = SIZES[profile]
    arms = tuple(
        _arm(bias, kernel, i, size["steps"])
        for i, kernel in enumerate(size["kernels"])
        for bias in size["biases"]
    )
    return (
        Study(
            "bias",
            Variant.FURTHER,
            "Which bias for which tail, also on longer sequences?",
            "Which positional bias learns an essentially sparse memory, and keeps it on sequences"
            " longer than trained?",
            arms,
            tuple(range(size["seeds"])),
            x_label=f"kernel: {', '.join(size['kernels'])}",
            y_label=f"population MSE at length {TESTED}",
            x_log=False,
            notes=(
                (
                    f"{HEADS} dot-product-free heads, linear readout; trained at length {TRAINED},"
                    f" tested at {TESTED}"
                ),
                f"table: {TESTED} entries, of which training reaches {TRAINED}",
            ),
        ),
    )


def _arm(bias: str, kernel: str, place: int, steps: int) -> Arm:
    run = {
        "memory": {"kind": "essential", "kernel": [kernel]},
        "model": {
            "heads": HEADS,
            "width": 2 * HEADS,
            "head_dim": 8 if bias == "rope" else 2,  # rotary: four frequencies
            "attention": "dp-free",
            "ffn": "none",
            "bias": {"kind": bias, **BIASES[bias]},
        },
        "train": {
            "steps": steps,
            "length": TRAINED,
            "loss": "population",
            "lr": 0.003,
            "log": 10,
            "evaluation": {"length": TESTED},
        },
    }
    return Arm(
        f"{bias} {kernel}",
        run,
        functools.partial(bias_numbers, kernel, bias, HEADS, TESTED),
        bias,
        place,
    )
