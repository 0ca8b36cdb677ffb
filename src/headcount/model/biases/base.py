"""The interface of positional biases: what a head's logit owes to the lag alone.

A bias answers for real lags too, because TMX attention evaluates it at w·x_t. `-inf` marks a lag
that the head cannot see. The class variables let attention choose an exact fast path:

- `toeplitz`: the logit depends on the lag only (not on the position), so heads are convolutions;
- `decreasing`: non-increasing in the lag, so the largest logit of every row is the first visible
  one;
- `rotary`: under dot-product scores the bias acts by turning queries and keys instead of adding a
  logit.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax

from headcount.core.registry import Registry


class AbstractBias(eqx.Module):
    """Logits of H heads as a function of the lag."""

    kind: ClassVar[str]
    toeplitz: ClassVar[bool] = True
    decreasing: ClassVar[bool] = False
    rotary: ClassVar[bool] = False
    first_lag: ClassVar[int] = 0  # the smallest lag a head can see

    @property
    @abc.abstractmethod
    def heads(self) -> int:
        """H."""

    @abc.abstractmethod
    def logits(self, lag: jax.Array, position: jax.Array) -> jax.Array:
        """[*] lags >= 0 (position counted from 1, same shape or broadcastable) → [H, *]; at
        least float32.
        """

    def decay(self) -> jax.Array | None:
        """Rates b of a bias -b s, for the linear recurrence; None for every other bias.  [H]"""
        return None

    def turn(
        self, queries: jax.Array, keys: jax.Array, rows: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Rotary biases turn [B, R, H, q] queries (at `rows`) and [B, N, H, q] keys; others
        leave them alone.
        """
        return queries, keys


biases: Registry[AbstractBias] = Registry("bias", AbstractBias)
