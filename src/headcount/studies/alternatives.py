"""The cheaper designs that the paper suggests, each against the standard one on a few memories.

    without dot products     the same model with W_Q = W_K = 0
    tmx                      a bias measured from the lag that the token asks for, O(D) numbers
    deeper, fewer heads      two layers of 2 heads for one of 8, not more parameters
    log bias                 one number a head for a free number per lag and head

A cell asks whether the standard design is better by more than the margin: "supported" means that
the cheaper one is as good there. Steps and learning rate are such that the standard design learns
the memory on pilot seeds (90 to 92), also in half as many steps: of two models that have learned
nothing neither is better. TMX is tried as the paper has it, without a normaliser: softmax
cancels its term (docs/errata.md#e17).
"""

import dataclasses
from typing import Any

from headcount.lab.judge.hypothesis import NoBenefit
from headcount.lab.judge.statistics import Scale
from headcount.studies.probes import (
    FIRST,
    HOPS,
    ON_TOKENS,
    RATIO,
    RECALL,
    SECOND,
    SHARE,
    TEACHER,
    Probe,
    gpt,
    small,
)

CHOICE, BOOLEAN = "prop42", "adaptive-boolean"
HOP = "pointer-chain:hops=1,symbols=4"


@dataclasses.dataclass(frozen=True)
class Alternative:
    """A cheaper design: its cells are probes, one a memory."""

    name: str
    instead_of: str
    probes: tuple[Probe, ...]


def _probes(
    name: str, scale: Scale, memories: dict[str, tuple[str, int]], cheap: dict[str, Any],
    standard: dict[str, Any],
) -> tuple[Probe, ...]:  # fmt: skip
    """The same pair of changes to a small model on every memory (name → text, length)."""
    make, train = (gpt, ON_TOKENS) if scale is Scale.NATS else (small, ON_NUMBERS)
    return tuple(
        Probe(
            f"{name}: {memory}",
            f"{name} is as good on {memory}",
            text,
            length,
            make(length) | cheap,
            make(length) | standard,
            NoBenefit(FIRST, SECOND, scale),
            **{**train, **LONGER.get(text, {})},
        )
        for memory, (text, length) in memories.items()
    )


ON_NUMBERS: dict[str, Any] = {"steps": 1200, "lr": 1e-2}
LONGER = {BOOLEAN: {"steps": 4800}, HOPS: {"steps": 1600}}
FREE = {"attention": "dp-free"}
DOT = {"attention": "dot"}
TMX = {"attention": "tmx", "normaliser": "none", "bias": {"kind": "lin"}}
DEEP, WIDE = {"layers": 2, "heads": 2, "hidden": 24}, {"layers": 1, "heads": 8, "hidden": 64}
LOG = {"bias": {"kind": "log1p"}, **FREE}
FIXED = {"two lags": (TEACHER, 16), "a choice of lags": (CHOICE, 16)}
CHOICES = {"a choice of lags": (CHOICE, 16), "a Boolean choice": (BOOLEAN, 16)}
TAILS = {"a heavy tail": ("essential:kernel=power:0.5", 128),
         "a light tail": ("essential:kernel=exp:0.3", 64), "two lags": (TEACHER, 16)}  # fmt: skip
ALTERNATIVES: tuple[Alternative, ...] = (
    Alternative("without dot products", "dot products", (
        *_probes("without dot products", SHARE, FIXED, FREE, DOT),
        *_probes("without dot products", Scale.NATS, {"recall": (RECALL, 16)},
                 FREE | {"layers": 2}, DOT | {"layers": 2}),
    )),
    Alternative("TMX", "dot products", (
        *_probes("TMX", SHARE, CHOICES, TMX, DOT),
        *_probes("TMX", Scale.NATS, {"one hop": (HOP, 16), "recall": (RECALL, 16)},
                 TMX | {"layers": 2}, DOT | {"layers": 2}),
    )),
    Alternative("deeper, fewer heads", "one wide layer", (
        *_probes("deeper, fewer heads", SHARE, FIXED, DOT | DEEP, DOT | WIDE),
        *_probes("deeper, fewer heads", Scale.NATS, {"two hops": (HOPS, 16)}, DEEP, WIDE),
    )),
    Alternative("log bias", "a number per lag",
                _probes("log bias", RATIO, TAILS, LOG, FREE)),
)  # fmt: skip
