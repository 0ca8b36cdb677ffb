"""Bias: every positional bias on essentially sparse memories, light to heavy tails, trained at N =
64 and tested at N = 256.

A linear model of a few dot-product-free heads, exact population losses at both lengths:
`train_loss` is the loss at the trained length, `eval_loss` that at the longer one, which asks for
nothing new where the kernel has died out within 64 lags. Floors are those of the longer length
(`bias_floors.py`). The residual gives lag 0 to every arm.
"""

import functools
from collections.abc import Mapping
from typing import Any

from headcount.experiments.further.bias_floors import bias_numbers
from headcount.lab.study import Arm, Profile, Study, Variant

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
