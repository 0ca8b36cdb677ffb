"""The memories that rivals and the zoo are tried on, from easy to out of reach of training, and
what counts as reached.

A memory is reached where a trained model leaves at most 1% of the variance, or answers 99% of the
questions right. Tasks are also plain iterators of arrays, so they serve alone in any trainer:

    >>> task = by_name("lag-5")
    >>> x, y, mask = next(task.batches(seed=0, batch=4))
    >>> x.shape, y.shape, bool(mask.all())
    ((4, 32, 1), (4, 1, 1), True)
"""

import dataclasses
import functools
from collections.abc import Iterator

import jax
import numpy as np

from headcount.core.errors import unknown
from headcount.memory.named import targets
from headcount.memory.target import AbstractTarget, Family

SHARE, RIGHT = 0.01, 0.99  # of the variance left; of the answers right


def share_right(accuracy: float) -> str:
    """A share of right answers; near 1 with a digit more, so that 98.5% is not told as 99%.

    >>> share_right(0.412), share_right(0.985), share_right(1.0)
    ('41%', '98.5%', '100%')
    """
    return f"{accuracy:.1%}" if 0.9 < accuracy < 0.9995 else f"{accuracy:.0%}"


@dataclasses.dataclass(frozen=True)
class MemoryTask:
    """One memory with the length of its sequences."""

    name: str
    text: str
    length: int
    depth: int = 1  # layers that a standard model is given

    @functools.cached_property
    def target(self) -> AbstractTarget:
        return targets.build(self.text)

    @property
    def family(self) -> Family:
        return self.target.memory_profile().family

    def batches(self, seed: int, batch: int = 100) -> Iterator[tuple[np.ndarray, ...]]:
        """Endless batches (x, y, mask): x [B, N, d] or [B, N] tokens, y [B, R, o] or labels
        [B, R], mask [B, R] marks what counts.
        """
        draw = jax.jit(lambda key: self.target.sample(key, batch, self.length))
        key, step = jax.random.key(seed), 0
        while True:
            made = draw(jax.random.fold_in(key, step))
            yield tuple(np.asarray(part) for part in made)
            step += 1

    def reached(self, relative_loss: float | None, accuracy: float | None) -> bool:
        """By accuracy where answers are labels, else by the share of the variance left."""
        if accuracy is not None:
            return accuracy >= RIGHT
        return relative_loss is not None and relative_loss <= SHARE


COLLECTION: tuple[MemoryTask, ...] = (
    MemoryTask("lag-1", "fixed:lags=1", 32),
    MemoryTask("lag-5", "fixed:lags=5", 32),
    MemoryTask("lag-30", "fixed:lags=30", 48),
    MemoryTask("two-lags", "fixed:lags=3+17", 32),
    MemoryTask("product", "fixed:lags=1+4,readout=product,inputs=uniform", 32),
    MemoryTask("parity-2", "parity:lags=5+12", 32),
    MemoryTask("parity-3", "fixed:lags=2+5+9,readout=parity", 32),
    MemoryTask("parity-8", "fixed:lags=1+3+4+7+9+12+14+17,readout=parity", 32),
    MemoryTask("teacher", "fixed:lags=1+6,readout=teacher(neurons=16,seed=1),inputs=uniform:2", 32),
    MemoryTask("triangle", "fixed:lags=2,readout=triangle:4,inputs=uniform", 32),
    MemoryTask("exp-fast", "essential:kernel=exp:0.3", 64),
    MemoryTask("exp-slow", "essential:kernel=exp:0.02", 256),
    MemoryTask("power-light", "essential:kernel=power:1.5", 128),
    MemoryTask("power-heavy", "essential:kernel=power:0.5", 256),
    MemoryTask("oscillation", "essential:kernel=osc:0.05,0.3", 128),
    MemoryTask("window", "essential:kernel=window:10", 64),
    MemoryTask("mexican-hat", "essential:kernel=mexican-hat(centre=12,scale=3)", 64),
    MemoryTask("choice", "prop42", 24),
    MemoryTask("boolean-choice", "adaptive-boolean", 24),
    MemoryTask("one-hop", "pointer-chain:hops=1,symbols=6", 24),
    MemoryTask("two-hops", "pointer-chain:hops=2,symbols=6", 32, depth=2),
    MemoryTask("three-hops", "pointer-chain:hops=3,symbols=6", 40, depth=3),
    MemoryTask("recall", "recall:pairs=4,symbols=8", 16, depth=2),
    MemoryTask("induction", "induction:symbols=6", 24, depth=2),
    MemoryTask("selective-copy", "selective-copy:items=3,symbols=6", 20, depth=2),
)


def by_name(name: str) -> MemoryTask:
    for task in COLLECTION:
        if task.name == name:
            return task
    raise unknown("memory of the zoo", name, [task.name for task in COLLECTION])


def chosen(names: tuple[str, ...] | list[str] | None) -> tuple[MemoryTask, ...]:
    """The tasks asked for, in the collection's order; none means all."""
    wanted = {by_name(name).name for name in names or ()}
    return tuple(task for task in COLLECTION if not wanted or task.name in wanted)
