"""What the explicit bounds say of a trained model: the claims shown beside a learning curve.

    held out         Hoeffding and empirical Bernstein, from the losses of this model on as many new
                     independent sequences as there are samples (at most `HELD_OUT`)
    path norm        of its weights, where it is a two-layer network on its window
    identification   samples that find the weakest lag of a linear fixed memory

Losses must be bounded: squared errors of answers clipped to the largest |y| of the memory, or wrong
labels (0 or 1). The curve shows the risk of answers as they are, which is another quantity; so each
claim carries the same quantity measured on other sequences, and that of the best constant answer.
Where tokens or the readout are unbounded there is no claim on losses.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import AbstractInputs, Embedded, OneHot
from headcount.memory.named import Noisy, Series, unnamed
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import Last
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractMemory, AbstractTarget, Batch
from headcount.model.base import AbstractModel
from headcount.studies.known_floors import linear_kernel
from headcount.theory.path_norm import path_norm
from headcount.theory.sample_bounds import (
    SampleClaim,
    effective_samples,
    empirical_bernstein,
    hoeffding,
    lag_samples,
    path_norm_gap,
)
from headcount.theory.sample_claims import Quantity, Rows, Unit

DELTA, HELD_OUT, SEED = 0.05, 4000, 78
MEASURED = 4000  # sequences of another seed, for what the claims are about


def loss_range(target: AbstractTarget) -> float | None:
    """B of losses in [0, B]; None where they are unbounded."""
    if target.labels:
        return 1.0
    limit = largest_answer(target)
    return None if limit is None else 4 * target.outputs * limit**2


def held_out_losses(
    model: AbstractModel, target: AbstractTarget, length: int, n: int, seed: int = SEED
) -> Any:
    """One loss per new sequence that has a question, [n or fewer]: the mean over its reads that
    count, in [0, B].
    """
    clean = target.held_out()
    made = clean.sample(jax.random.key(seed), n, length)
    answers = np.asarray(model(made.x, clean.read), np.float64)
    each = answers.argmax(-1) if target.labels else _clipped(answers, clean)
    return _losses(each, made, target.labels)


def of_weights(
    model: AbstractModel, target: AbstractTarget, length: int, samples: int, *,
    independent: bool = True, noise: bool = False,
) -> list[SampleClaim]:  # fmt: skip
    """Held-out claims and the path norm of trained weights. `samples` count as independent; where
    they come from a series they are its blocks.
    """
    top = loss_range(target)
    if not top:
        return []
    losses = held_out_losses(model, target, length, max(2, min(samples, HELD_OUT)))
    other = held_out_losses(model, target, length, MEASURED, SEED + 1)
    if len(losses) < 2 or not len(other):
        return []
    constant = _constant_risk(target, length)
    clip = None if target.labels else largest_answer(target)
    several = len(target.read.rows(length)) > 1 or len(other) < MEASURED
    unit = Unit.SEQUENCE if several else Unit.ANSWER
    kind = Quantity.WRONG if target.labels else Quantity.CLIPPED_RISK
    measured = float(other.mean())
    found = [
        claim.about(kind, clip=clip, unit=unit, measured=measured, constant=constant)
        for claim in (
            hoeffding(float(losses.mean()), len(losses), top, DELTA),
            empirical_bernstein(losses, top, DELTA),
        )
    ]
    gap = None if noise else _path_norm_claim(model, target, length, samples, independent)
    if gap is not None:
        found.append(gap.about(Quantity.CLIPPED_GAP, clip=clip, constant=constant))
    return found


def of_design(target: AbstractTarget, length: int, noise: float) -> list[SampleClaim]:
    """What can be said before any training."""
    kernel, memory = linear_kernel(target), unnamed(target)
    if kernel is None or not isinstance(memory, FixedMemory):
        return []
    weights = kernel.values(length) ** 2 * memory.inputs.variance
    share = float(weights[weights > 0].min() / (weights.sum() + noise**2))
    return [lag_samples(share, length)] if share < 1 else []


def largest_answer(target: AbstractTarget) -> float | None:
    """An upper bound of |y| in each output, where tokens and the readout are bounded; None where
    not. For a linear readout sum_i |w_i| r_i, r_i the largest norm of slot i; else |f(0)| and the
    Lipschitz constant times the norm of all slots that may take part.
    """
    memory = unnamed(target)
    if target.labels or not isinstance(memory, AbstractMemory):
        return None
    bound, profile = memory.inputs.bound, memory.memory_profile()
    past = [1.0] * profile.memories
    if isinstance(memory, EssentialMemory):
        past = [kernel.tail(0) for kernel in memory.kernel]
    if not math.isfinite(bound) or not np.all(np.isfinite(past)):
        return None
    slots = bound * np.array([1.0, *past])  # x_t first
    if isinstance(memory.readout, Linear):
        return float(np.abs(memory.readout.full(len(slots))) @ slots)
    if profile.lipschitz is None:
        return None
    first = 0 if getattr(memory.readout, "current", True) else 1  # may x_t take part?
    start = float(np.abs(memory.readout.reference(np.zeros((len(slots), memory.dim)))).max())
    return start + profile.lipschitz * float(np.linalg.norm(slots[first:]))


@dataclasses.dataclass(frozen=True)
class Useful:
    """From which of the sizes tried on, and at all larger ones, a bound says something; None: at
    none of them.
    """

    method: str
    below_range: int | None  # of the loss
    below_constant: int | None  # what the best constant answer has of the same quantity

    def sentence(self) -> str:
        if self.below_range is None:
            return (
                f"The {self.method} bound says no more than the range of the loss at these sizes."
            )
        after = (
            f"below that of the best constant answer from n = {self.below_constant} on"
            if self.below_constant is not None
            else "below that of the best constant answer at none"
        )
        return (
            f"Of the sizes tried, the {self.method} bound is below the range of the loss from n ="
            f" {self.below_range} on, and {after}."
        )


def useful(bounds: Sequence[tuple[int | None, SampleClaim]]) -> tuple[Useful, ...]:
    """Each method of the bounds that belong to a size."""
    at = [(n, claim) for n, claim in bounds if n]
    methods = dict.fromkeys(claim.method for _, claim in at)
    return tuple(
        Useful(
            method,
            _from_on([(n, not c.trivial) for n, c in at if c.method == method]),
            _from_on([(n, c.beats_constant) for n, c in at if c.method == method]),
        )
        for method in methods
    )


def _from_on(holds: Sequence[tuple[int, bool]]) -> int | None:
    failed = max((n for n, fine in holds if not fine), default=0)
    return min((n for n, _ in holds if n > failed), default=None)


def _path_norm_claim(
    model: AbstractModel, target: AbstractTarget, length: int, samples: int, independent: bool
) -> SampleClaim | None:
    """Of the samples that the model was trained on; none where they have noise, are read at several
    rows (each has kernels of its own), or come from a series of dependent tokens.
    """
    memory, top, kinds = unnamed(target), loss_range(target), list(_wrappers(target))
    noisy = any(isinstance(kind, Noisy) for kind in kinds)
    if target.labels or noisy or not top or not isinstance(memory, AbstractMemory):
        return None
    if not isinstance(target.read, Last):
        return None
    rows = Rows.INDEPENDENT
    if not independent or any(isinstance(kind, Series) for kind in kinds):
        if not _independent_tokens(memory.inputs):
            return None
        rows = Rows.WINDOWS
        samples = effective_samples(samples, length, False) if independent else samples
    radius = memory.inputs.bound
    norm = path_norm(model, length, radius)
    if norm is None:
        return None
    return path_norm_gap(
        norm, samples, length * target.dim, lipschitz=2 * math.sqrt(top), loss_range=top,
        delta=DELTA, rows=rows, radius=radius,
    )  # fmt: skip


def _independent_tokens(inputs: AbstractInputs) -> bool:
    return inputs.iid or isinstance(inputs, (OneHot, Embedded))  # these have a mean


def _wrappers(target: AbstractTarget) -> Iterator[AbstractTarget]:
    while isinstance(target, AbstractNamed):
        yield target
        target = target.target


def _clipped(answers: np.ndarray, target: AbstractTarget) -> np.ndarray:
    limit = largest_answer(target) or math.inf
    return np.clip(answers, -limit, limit)


def _losses(answers: np.ndarray, made: Batch, labels: bool) -> np.ndarray:
    """One per sequence with a read that counts; one without says nothing of the model."""
    mask, y = np.asarray(made.mask), np.asarray(made.y)
    each = (answers != y).astype(float) if labels else ((answers - y) ** 2).sum(axis=-1)  # [n, R]
    kept = mask.any(axis=1)
    return (each * mask)[kept].sum(axis=1) / mask[kept].sum(axis=1)


def _constant_risk(target: AbstractTarget, length: int) -> float:
    """What the best constant answer has of the bounded loss, on the sequences of `MEASURED`."""
    made = target.held_out().sample(jax.random.key(SEED + 1), MEASURED, length)
    mask, y = np.asarray(made.mask), np.asarray(made.y)
    shares = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)  # each sequence weighs 1
    best: Any  # a label, or [o]
    if target.labels:
        best = np.bincount(y[mask], weights=shares[mask], minlength=target.outputs).argmax()
    else:
        best = np.average(y[mask], axis=0, weights=shares[mask])
    return float(_losses(np.broadcast_to(best, y.shape), made, target.labels).mean())
