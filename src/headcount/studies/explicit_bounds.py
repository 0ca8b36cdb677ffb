"""What the explicit bounds say of a trained model: the claims shown beside a learning curve.

    held out         Hoeffding and empirical Bernstein, from the losses of this model on as many new
                     sequences as there are samples (at most `HELD_OUT`)
    path norm        of its weights, where it is a two-layer network on its window
    identification   samples that find the weakest lag of a linear fixed memory
    head deficit     where it has fewer heads than simultaneous retrievals

Losses must be bounded: squared errors of answers clipped to the largest |y| of the memory, or wrong
labels (0 or 1). Where tokens or the readout are unbounded there is no held-out claim.
"""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from headcount.memory.fixed import FixedMemory
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget
from headcount.model.base import AbstractModel
from headcount.studies.known_floors import linear_kernel
from headcount.theory.path_norm import path_norm
from headcount.theory.sample_bounds import (
    SampleClaim,
    empirical_bernstein,
    head_deficit,
    hoeffding,
    lag_samples,
    path_norm_gap,
)

DELTA, HELD_OUT, SEED = 0.05, 4000, 78


def loss_range(target: AbstractTarget) -> float | None:
    """B of losses in [0, B]; None where they are unbounded."""
    if target.labels:
        return 1.0
    limit = largest_answer(target)
    return None if limit is None else 4 * limit**2


def held_out_losses(model: AbstractModel, target: AbstractTarget, length: int, n: int) -> Any:
    """One loss per new sequence, [n]: the mean over its reads, in [0, B]."""
    made = target.sample(jax.random.key(SEED), n, length)
    answers = np.asarray(model(made.x, target.read), np.float64)
    mask = np.asarray(made.mask)
    if target.labels:
        each = (answers.argmax(-1) != np.asarray(made.y)).astype(float)  # [n, R]
    else:
        limit = largest_answer(target) or math.inf
        off = np.clip(answers, -limit, limit) - np.asarray(made.y, np.float64)
        each = (off**2).sum(axis=-1)
    return (each * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)


def of_weights(
    model: AbstractModel, target: AbstractTarget, length: int, samples: int, *,
    independent: bool = True, noise: bool = False,
) -> list[SampleClaim]:  # fmt: skip
    """Held-out claims and the path norm of trained weights; `samples` count as independent."""
    top = loss_range(target)
    if top is None:
        return []
    losses = held_out_losses(model, target, length, max(2, min(samples, HELD_OUT)))
    found = [
        hoeffding(float(losses.mean()), len(losses), top, DELTA),
        empirical_bernstein(losses, top, DELTA),
    ]
    norm = None if noise or target.labels else path_norm(model, length)
    if norm is not None:
        found.append(
            path_norm_gap(
                norm,
                samples,
                length * target.dim,
                lipschitz=2 * math.sqrt(top),
                loss_range=top,
                delta=DELTA,
                independent=independent,
            )
        )
    return found


def of_design(
    target: AbstractTarget, model: Mapping[str, Any], length: int, noise: float
) -> list[SampleClaim]:
    """What can be said before any training."""
    found: list[SampleClaim | None] = []
    kernel, memory = linear_kernel(target), unnamed(target)
    if kernel is not None and isinstance(memory, FixedMemory):
        weights = kernel.values(length) ** 2 * memory.inputs.variance
        share = float(weights[weights > 0].min() / (weights.sum() + noise**2))
        if share < 1:
            found.append(lag_samples(share, length))
    if "kind" not in model and "heads" in model:
        heads, width = int(model["heads"]), int(model.get("width", 64))
        size = int(model.get("head_dim", 0)) or max(1, width // heads)
        profile = target.memory_profile()
        found.append(head_deficit(length, profile.memories - profile.nesting, heads, size))
    return [claim for claim in found if claim is not None]


def largest_answer(target: AbstractTarget) -> float | None:
    """sup |y|, where tokens and the readout are bounded; None where not."""
    inputs = getattr(unnamed(target), "inputs", None)
    if target.labels or inputs is None or not math.isfinite(inputs.bound):
        return None
    profile = target.memory_profile()
    if profile.lipschitz is None:
        return None
    norms = [k.tail(0) for k in profile.kernels] or [1.0] * (profile.memories + 1)
    reach = inputs.bound * math.sqrt(sum(n**2 for n in norms))
    zero = np.zeros((1, max(target.shortest, 1), target.dim))
    start = float(np.abs(target.reference(zero)).max())
    return start + profile.lipschitz * reach if math.isfinite(reach) else None
