"""What a run trains, validates and tests on.

A target gives fresh sequences for training, and for testing those of `held_out()` on another stream
of seeds. Arrays are shuffled once and split by rows; no row is in two splits.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.bits import fold
from headcount.core.seeds import Seeds
from headcount.memory.named.text import repeated
from headcount.memory.target import AbstractTarget, Batch
from headcount.train.compiled import compiled
from headcount.train.data import Arrays, Sampler
from headcount.train.run_plan import Plan
from headcount.train.run_spec import Effort, Loss


class Splits(NamedTuple):
    """What a run holds in memory. `train` is None for fresh data; the others are [batches, B, …].

    `slices` are parts of the test reads, one for each name in `plan.slices`.
    """

    train: Batch | None
    validation: Batch | None
    test: Batch | None
    slices: tuple[jax.Array, ...] = ()  # each [batches, B, R] bool


def splits_of(plan: Plan, seeds: Seeds) -> Splits:
    """The sequences of a run, from its own streams of seeds: train and test never meet."""
    source = plan.source
    if isinstance(source, Arrays):
        return _rows(source, plan, seeds.root)
    if plan.loss is Loss.POPULATION:
        return Splits(None, None, None)
    test = _drawn(source.held_out(), plan.precision, *plan.test)(seeds.data("test"))
    slices = _slices(plan, test) if plan.slices else ()
    if not plan.samples:
        return Splits(None, None, test, slices)
    count = plan.samples + plan.validation
    every = _drawn(source, plan.precision, 1, count, plan.length)(seeds.data("train"))
    every = jax.tree.map(lambda a: np.asarray(a)[0], every)
    train, kept = (
        jax.tree.map(lambda a, part=part: a[part], every)
        for part in (slice(plan.samples), slice(plan.samples, None))
    )
    return Splits(train, in_batches(kept, plan.batch) if plan.validation else None, test, slices)


def _slices(plan: Plan, test: Batch) -> tuple[jax.Array, jax.Array]:
    """Reads of a text whose answer repeats an earlier context of the window, and the others."""
    x, mask = np.asarray(test.x), np.asarray(test.mask)
    copies = repeated(x.reshape(-1, x.shape[-1])).reshape(x.shape)
    copies = copies[..., plan.read.rows(x.shape[-1])]
    return jnp.asarray(copies & mask), jnp.asarray(~copies & mask)


@functools.lru_cache(maxsize=16)
def _drawn(
    source: AbstractTarget | Sampler, precision: str, batches: int, batch: int, length: int
) -> Callable[[jax.Array], Batch]:
    """A compiled function from a key to [batches, B, …] sequences (`precision` tells calls in
    different float types apart).
    """

    def draw(key: jax.Array) -> Batch:
        return jax.lax.map(
            lambda i: source.sample(fold(key, i), batch, length), jnp.arange(batches)
        )

    return compiled(draw, jax.random.key(0), effort=Effort.LOW).call  # runs once


def _rows(source: Arrays, plan: Plan, seed: int) -> Splits:
    """Rows in random order: first test, then validation, then training."""
    n = len(source.batch.x)
    order = np.random.default_rng([seed, n]).permutation(n)
    tested = n - plan.samples - plan.validation
    parts = np.split(order, [tested, tested + plan.validation])
    test, kept, train = (
        jax.tree.map(lambda a, rows=rows: np.asarray(a)[rows], source.batch) for rows in parts
    )
    return Splits(
        train,
        in_batches(kept, plan.batch) if plan.validation else None,
        in_batches(test, plan.test.batch),
    )


def in_batches(rows: Batch, size: int) -> Batch:
    """[n, …] → [batches, B, …]; the last one is filled up with rows that do not count."""
    n = len(rows.x)
    size = min(size, n)
    missing = -n % size

    def cut(array: Any) -> Any:
        widths = [(0, missing)] + [(0, 0)] * (array.ndim - 1)
        return np.pad(array, widths).reshape(-1, size, *array.shape[1:])

    return Batch(*(cut(np.asarray(a)) for a in rows))
