"""How wrong answers are, where they count: sums over the reads that the mask marks."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from headcount.memory.target import Batch
from headcount.train.run_spec import Loss


class Sums(NamedTuple):
    """Loss and number of right answers over some number of reads."""

    loss: jax.Array
    right: jax.Array
    reads: jax.Array

    def means(self) -> "Sums":
        """Per read; 0 where there is none."""
        reads = jnp.maximum(self.reads, 1)
        return Sums(self.loss / reads, self.right / reads, self.reads)


def measured(kind: Loss, answer: jax.Array, batch: Batch) -> Sums:
    """Answers [B, R, o] against a batch; squared errors are averaged over the o outputs."""
    reads = jnp.sum(batch.mask).astype(answer.dtype)
    if kind is Loss.CROSS_ENTROPY:
        # [B, R, V]; no hit where the label is undefined
        hit = jnp.arange(answer.shape[-1]) == batch.y[..., None]
        # [B, R]
        each = jax.nn.logsumexp(answer, axis=-1) - jnp.sum(jnp.where(hit, answer, 0), axis=-1)
        right = jnp.argmax(jax.lax.stop_gradient(answer), axis=-1) == batch.y
        return Sums(_over(each, batch.mask), _over(right.astype(answer.dtype), batch.mask), reads)
    each = jnp.mean((answer - batch.y) ** 2, axis=-1)
    return Sums(_over(each, batch.mask), jnp.zeros_like(reads), reads)


def mean_loss(kind: Loss, answer: jax.Array, batch: Batch) -> jax.Array:
    """The training loss: the mean over the reads that count."""
    sums = measured(kind, answer, batch)
    return sums.loss / jnp.maximum(sums.reads, 1)


def _over(each: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(mask, each, 0))
