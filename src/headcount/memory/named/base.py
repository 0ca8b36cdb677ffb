"""Two ways to write a named target in a few lines.

`AbstractNamed` describes an instance of a family (fixed, adaptive, essential): a subclass says
which, and everything is delegated to it. `AbstractTokens` is for integer tokens: a subclass says
how sequences are made and what the answer at a position is, once fast and once as a plain Python
loop.
"""

import abc
import functools

import jax
import jax.numpy as jnp
import numpy as np

from headcount.memory.read import AbstractRead
from headcount.memory.target import AbstractTarget, Batch

UNDEFINED = -1  # the label where a question has no answer; such reads are masked out


class AbstractNamed(AbstractTarget):
    """A name for one instance of a memory family. Subclasses are frozen dataclasses that define
    `describe`.
    """

    @abc.abstractmethod
    def describe(self) -> AbstractTarget:
        """The member of the family, from this target's options."""

    def __post_init__(self):
        self.target  # noqa: B018 — bad options are refused when made, not when used

    @functools.cached_property  # kept beside the frozen fields, so the family is built once
    def target(self) -> AbstractTarget:
        return self.describe()

    @property
    def read(self):  # type: ignore[override]  # a subclass that lets the user choose has a field of this name instead
        return self.target.read

    @property
    def dim(self):
        return self.target.dim

    @property
    def vocabulary(self):
        return self.target.vocabulary

    @property
    def outputs(self):
        return self.target.outputs

    @property
    def labels(self):
        return self.target.labels

    @property
    def shortest(self):
        return self.target.shortest

    def left_open(self, seed):
        return self.target.left_open(seed)

    def filled(self, weights):
        return self.target.filled(weights) if weights else self

    def sample(self, key, batch, length):
        self.check_length(length)
        return self.target.sample(key, batch, length)

    def evaluate(self, x, read=None):
        return self.target.evaluate(x, read or self.read)

    def reference(self, x, read=None):
        return self.target.reference(x, read or self.read)

    def memory_profile(self):
        return self.target.memory_profile()


class AbstractTokens(AbstractTarget):
    """Integer tokens 0, …, V-1 and, as labels, tokens again; `UNDEFINED` (and masked) where
    there is no answer.
    """

    @property
    def dim(self):
        return 0

    @property
    @abc.abstractmethod
    def vocabulary(self) -> int:
        """Number V of different tokens."""

    @property
    def outputs(self):
        return self.vocabulary

    @property
    def labels(self):
        return True

    @abc.abstractmethod
    def tokens(self, key: jax.Array, batch: int, length: int) -> jax.Array:
        """Random sequences on which the question has an answer.  [B, N] int32"""

    @abc.abstractmethod
    def answers(self, x: jax.Array, rows: np.ndarray) -> jax.Array:
        """The labels at static rows of any token sequences.  [B, N] → [B, R]"""

    @abc.abstractmethod
    def answer(self, sequence: list[int], t: int) -> int:
        """The label at row t of one sequence, from the definition, in plain Python."""

    def sample(self, key, batch, length):
        self.check_length(length)
        x = self.tokens(key, batch, length).astype(jnp.int32)
        y = self.evaluate(x)
        return Batch(x, y, y != UNDEFINED)

    def evaluate(self, x, read: AbstractRead | None = None):
        self.check_input(x)
        return self.answers(x, (read or self.read).rows(x.shape[1])).astype(jnp.int32)

    def reference(self, x, read: AbstractRead | None = None):
        rows = (read or self.read).rows(x.shape[1])
        # [B, R]
        return np.array(
            [[self.answer(sequence, int(t)) for t in rows] for sequence in np.asarray(x).tolist()]
        )


def pick(x: jax.Array, index: jax.Array) -> jax.Array:
    """The token at each row index, `UNDEFINED` where it is negative.  [B, N], [B, R] → [B, R]"""
    return jnp.where(index >= 0, jnp.take_along_axis(x, jnp.maximum(index, 0), axis=1), UNDEFINED)


def latest_equal(x: jax.Array, rows: np.ndarray, among: jax.Array) -> jax.Array:
    """The last s < t with x_s = x_t and `among` true at s, for each row t; else -1.  [B, R]

    One fused compare-and-maximum: the [B, R, N] comparison is never stored.
    """
    s = np.arange(x.shape[1])
    before = jnp.asarray(s[None, :] < rows[:, None])  # [R, N]
    # [B, R, N]
    match = before[None] & among[:, None, :] & (x[:, rows][:, :, None] == x[:, None, :])
    return jnp.where(match, jnp.asarray(s)[None, None, :], -1).max(axis=-1)


def without_repeats(key: jax.Array, batch: int, count: int, choices: int) -> jax.Array:
    """`count` different numbers below `choices` per row, in random order.  [B, count]"""
    return jnp.argsort(jax.random.uniform(key, (batch, choices)), axis=1)[:, :count]


def unnamed(target: AbstractTarget) -> AbstractTarget:
    """The member of a memory family behind a name; a target that has none is itself."""
    return unnamed(target.target) if isinstance(target, AbstractNamed) else target
