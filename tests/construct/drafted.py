"""Drafts without a build: weights and promises, evaluated by the NumPy forward pass, so that no
test waits for a compiler.
"""

from typing import Any

import numpy as np

from headcount.construct import constructions
from headcount.construct.draft import Draft, Request
from headcount.core.claims import Precision
from headcount.memory.named import targets
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import AbstractTarget
from headcount.model.reference import forward


def drafted(
    theorem: str, target: AbstractTarget | str, **options: Any
) -> tuple[AbstractTarget, Draft]:
    """The target and its draft; refusals fail the test."""
    built, request = targets.build(target), Request(**{"length": 24, **options})
    construction = constructions.build(theorem)
    assert construction.refusals(built, request) == []
    return built, construction.draft(built, request)


def refused(theorem: str, target: AbstractTarget | str, **options: Any) -> str:
    """All reasons, joined."""
    built = targets.build(target)
    reasons = constructions.build(theorem).refusals(built, Request(**{"length": 24, **options}))
    return "; ".join(map(str, reasons))


def largest_error(
    target: AbstractTarget, draft: Draft, x: np.ndarray, read: AbstractRead | None = None
) -> float:
    """Of the answers, both sides from their definitions in NumPy."""
    read = read or Everywhere()
    return float(np.abs(forward(draft.model, x, read) - target.reference(x, read)).max())


def promised(draft: Draft) -> float:
    return draft.output.at(Precision.FLOAT64) * (1 + 1e-12) + 1e-13


def signs(batch: int, length: int, seed: int = 0) -> np.ndarray:
    """Random ±1 sequences, the first one constant.  [B, N, 1]"""
    x = np.random.default_rng(seed).choice([-1.0, 1.0], (batch, length, 1))
    x[0] = 1.0
    return x
