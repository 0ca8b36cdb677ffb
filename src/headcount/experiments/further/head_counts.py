"""Heads: how many does an adaptive memory need, and what does nesting add? Pointer chains, trained.

Each token points 1 + x_t tokens back (6 symbols, so 6 lags), and the answer is the token after K
hops: an adaptive memory with nesting K - 1. One layer computes no address before it reads, so H
heads fetch about H of the 6 lags and the network picks; with fewer heads than lags the dot product
must address, which takes a layer more. Each further hop needs the token that the one before found:
layers (Theorem 4.4: K + 1 suffice; K where the embedding holds the first pointer, as here;
ceil(log2 K) + 1 by pointer doubling) or a head for every lag in reach. Accuracy by hops of equal
architectures is what the signature "too little depth" reads.
"""

from collections.abc import Mapping
from typing import Any

from headcount.experiments.recipes import gpt, recipe
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant

SYMBOLS = 6
SIZES: Mapping[Profile, Mapping[str, Any]] = {
    Profile.SMOKE: {"arms": ((1, 1, 6),), "steps": 40, "seeds": 1, "width": 24},
    Profile.LAPTOP: {
        "arms": tuple(
            (hops, layers, heads) for hops in (1, 2) for layers, heads in ((1, 2), (1, 6), (2, 6))
        ),
        "steps": 500,
        "seeds": 2,
        "width": 48,
    },
    Profile.FULL: {
        "arms": tuple(
            (hops, layers, heads)
            for hops in (1, 2, 3)
            for layers, heads in ((1, 1), (1, 2), (1, 6), (1, 12), (2, 2), (2, 6), (3, 6))
        ),
        "steps": 1500,
        "seeds": 3,
        "width": 48,
    },
}


def studies(profile: Profile) -> tuple[Study, ...]:
    """One study: the arms `hops-K-layers-L-heads-H`."""
    size = SIZES[profile]
    arms = tuple(
        _arm(hops, layers, heads, size["width"], size["steps"])
        for hops, layers, heads in size["arms"]
    )
    return (
        Study(
            "heads",
            Variant.FURTHER,
            "Adaptive memory: heads and nesting",
            "How many heads does an adaptive memory need, and do heads replace layers where lags"
            " are nested?",
            arms,
            tuple(range(size["seeds"])),
            x_label="heads",
            y_label="nats per answer",
            ratios=False,
            notes=(
                (
                    f"pointer chains over {SYMBOLS} symbols: guessing costs log {SYMBOLS} = 1.792"
                    f" nats and is right once in {SYMBOLS}"
                ),
            ),
        ),
    )


def _arm(hops: int, layers: int, heads: int, width: int, steps: int) -> Arm:
    length = max(40, hops * SYMBOLS + 1)
    run = {
        "memory": {"kind": "pointer-chain", "hops": hops, "symbols": SYMBOLS},
        "model": gpt(width, 8, length, layers=layers, heads=heads, hidden=4 * width, norm="none"),
        "train": recipe(length, 32, steps, 0.01, 256),
    }
    return Arm(
        f"hops-{hops}-layers-{layers}-heads-{heads}",
        run,
        _numbers,
        f"{hops} hops, {layers} layers",
        heads,
    )


def _numbers() -> Numbers:
    return Numbers(
        promised_text=(
            "Theorem 4.4 has K + 1 layers without normalisation; its bound is vacuous at these"
            " sizes"
        ),
        certificate="none",
        note=(
            "0 nats with enough layers and heads (headcount build pointer-chain); no floor is known"
            " below that"
        ),
    )
