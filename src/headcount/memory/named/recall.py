"""Key-value recall: pairs are shown, then keys are asked, and the label is the value that was
stored with the key.

Tokens 0, …, symbols-1 are keys, the next `symbols` are values. A sequence shows `pairs` different
keys, each followed by its value, then asks for keys (each pair once before any comes again), each
question followed by its answer: k v k v … | k v k v …. In general, at a key that stood before,
directly followed by a value, the label is the value of its last such appearance; everywhere else
there is no answer. With pairs = 6 and 24 tokens this is the stand-in for the dot-product
experiment: one layer, or layers without dot product, did not learn it there.

Worked example — keys {0, 1}, values {2, 3}; 0 → 3 and 1 → 2 are stored, then 1 is asked:

    >>> import jax.numpy as jnp
    >>> target = Recall(pairs=2, symbols=2)
    >>> target.evaluate(jnp.array([[0, 3, 1, 2, 1]])).tolist()
    [[-1, -1, -1, -1, 2]]
"""

import dataclasses
import itertools

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import (
    UNDEFINED,
    AbstractTokens,
    latest_equal,
    pick,
    without_repeats,
)
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import Family, MemoryProfile, targets


@targets.register(
    "recall",
    formula="y_t = x_{s+1}, s = max{s < t: x_s = x_t, x_{s+1} a value}",
    ref=Ref("arora-2023", "multi-query associative recall"),
)
@dataclasses.dataclass(frozen=True)
class Recall(AbstractTokens):
    """Multi-query associative recall."""

    pairs: int = 6
    symbols: int = 12
    read: AbstractRead = Everywhere()

    def __post_init__(self):
        fits = 1 <= self.pairs <= self.symbols
        require(
            fits,
            f"{self.pairs} pairs of {self.symbols} keys",
            "1 <= pairs <= symbols",
            "keys are not repeated: use more symbols",
        )

    @property
    def vocabulary(self):
        return 2 * self.symbols

    @property
    def shortest(self):
        return 2 * self.pairs + 1

    def tokens(self, key, batch, length):
        for_keys, for_values, for_order = jax.random.split(key, 3)
        keys = without_repeats(for_keys, batch, self.pairs, self.symbols)  # [B, pairs]
        values = self.symbols + jax.random.randint(for_values, (batch, self.pairs), 0, self.symbols)
        rounds = -(-(length - 2 * self.pairs) // (2 * self.pairs))
        # [B, rounds * pairs]
        order = without_repeats(for_order, batch * rounds, self.pairs, self.pairs).reshape(
            batch, -1
        )
        shown = jnp.stack([keys, values], axis=-1)  # [B, pairs, 2]
        asked = jnp.take_along_axis(shown, order[:, :, None], axis=1)
        return jnp.concatenate([shown, asked], axis=1).reshape(batch, -1)[:, :length]

    def answers(self, x, rows):
        is_key = (x >= 0) & (x < self.symbols)
        # by a value
        followed = jnp.concatenate(
            [x[:, 1:] >= self.symbols, jnp.zeros_like(x[:, :1], bool)], axis=1
        )
        found = latest_equal(x, rows, is_key & followed)
        return pick(x, jnp.where(found >= 0, found + 1, UNDEFINED))

    def answer(self, sequence, t):
        stored = {}
        for token, after in itertools.pairwise(sequence[:t]):
            if 0 <= token < self.symbols <= after:
                stored[token] = after
        return stored.get(sequence[t], UNDEFINED)

    def memory_profile(self):
        return MemoryProfile(
            Family.ADAPTIVE,
            1,
            note=(
                "the lag is found by content, so it is no function of x_t alone: outside H^Adap(K,"
                " M) for bounded K"
            ),
        )
