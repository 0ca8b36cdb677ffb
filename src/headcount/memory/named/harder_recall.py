"""Recall made harder, as in the tasks of mechanistic architecture design (MAD): noise between the
pairs, or keys of two tokens.

*noisy-recall*: as `recall`, with blocks of two noise tokens (2 symbols, …, 2 symbols + noise - 1)
scattered among the pairs that are shown. *fuzzy-recall*: a key is two tokens; the label stands at
the second one and is the value that followed the same two tokens last.

Worked example — keys {0, 1}, values {2, 3}: (0, 1) → 3 is stored, (1, 0) → 2, then (0, 1) is asked:

    >>> import jax.numpy as jnp
    >>> FuzzyRecall(pairs=2, symbols=2).evaluate(jnp.array([[0, 1, 3, 1, 0, 2, 0, 1]])).tolist()
    [[-1, -1, -1, -1, -1, -1, -1, 3]]
"""

import dataclasses

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
from headcount.memory.named.recall import Recall
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import Family, MemoryProfile, targets

CONTENT = "the lag is found by content, so it is no function of x_t alone"
MAD = Ref("poli-2024", "Section 3.1")


@targets.register(
    "noisy-recall", formula="recall with tokens between the pairs that mean nothing", ref=MAD
)
@dataclasses.dataclass(frozen=True)
class NoisyRecall(AbstractTokens):
    """Associative recall among noise."""

    pairs: int = 4
    symbols: int = 8
    noise: int = 4  # different noise tokens
    blocks: int = 2  # of two noise tokens each, among the pairs
    read: AbstractRead = Everywhere()

    def __post_init__(self):
        self.clean  # noqa: B018 — bad options are refused when made
        fine = self.noise >= 1 and self.blocks >= 0
        what = f"{self.blocks} blocks of {self.noise} noise tokens"
        require(fine, what, "at least one noise token", "use recall for none")

    @property
    def clean(self) -> Recall:
        """The same without noise."""
        return Recall(self.pairs, self.symbols, self.read)

    @property
    def vocabulary(self):
        return 2 * self.symbols + self.noise

    @property
    def shortest(self):
        return 2 * (self.pairs + self.blocks) + 1

    def tokens(self, key, batch, length):
        clean, places, drawn = jax.random.split(key, 3)
        pairs = self.clean.tokens(clean, batch, length - 2 * self.blocks)  # [B, N - 2 blocks]
        shown = pairs[:, : 2 * self.pairs].reshape(batch, self.pairs, 2)
        noise = jax.random.randint(drawn, (batch, self.blocks, 2), 0, self.noise)
        order = without_repeats(places, batch, self.pairs + self.blocks, self.pairs + self.blocks)
        both = jnp.concatenate([shown, 2 * self.symbols + noise], axis=1)
        mixed = jnp.take_along_axis(both, order[:, :, None], axis=1).reshape(batch, -1)
        return jnp.concatenate([mixed, pairs[:, 2 * self.pairs :]], axis=1)

    def answers(self, x, rows):
        hidden = jnp.where(x < 2 * self.symbols, x, UNDEFINED)  # noise is neither key nor value
        return self.clean.answers(hidden, rows)

    def answer(self, sequence, t):
        return self.clean.answer([x if x < 2 * self.symbols else UNDEFINED for x in sequence], t)

    def memory_profile(self):
        return MemoryProfile(Family.ADAPTIVE, 1, note=f"{CONTENT}: outside H^Adap(K, M)")


@targets.register("fuzzy-recall", formula="recall with keys (x_{t-1}, x_t) of two tokens", ref=MAD)
@dataclasses.dataclass(frozen=True)
class FuzzyRecall(AbstractTokens):
    """Associative recall by two tokens."""

    pairs: int = 3
    symbols: int = 4
    read: AbstractRead = Everywhere()

    def __post_init__(self):
        fits = 1 <= self.pairs <= self.symbols**2
        require(fits, f"{self.pairs} pairs of {self.symbols}^2 keys", "1 <= pairs <= symbols^2",
                "keys are not repeated: use more symbols")  # fmt: skip

    @property
    def vocabulary(self):
        return 2 * self.symbols

    @property
    def shortest(self):
        return 3 * self.pairs + 2

    def tokens(self, key, batch, length):
        for_keys, for_values, for_order = jax.random.split(key, 3)
        keys = without_repeats(for_keys, batch, self.pairs, self.symbols**2)  # [B, pairs]
        values = self.symbols + jax.random.randint(for_values, (batch, self.pairs), 0, self.symbols)
        shown = jnp.stack([keys // self.symbols, keys % self.symbols, values], axis=-1)
        rounds = -(-(length - 3 * self.pairs) // (3 * self.pairs))
        order = without_repeats(for_order, batch * rounds, self.pairs, self.pairs)
        asked = jnp.take_along_axis(shown, order.reshape(batch, -1)[:, :, None], axis=1)
        return jnp.concatenate([shown, asked], axis=1).reshape(batch, -1)[:, :length]

    def answers(self, x, rows):
        is_key = (x >= 0) & (x < self.symbols)
        none = jnp.full_like(x[:, :1], UNDEFINED)
        before, after = (jnp.concatenate(parts, axis=1)
                         for parts in ((none, x[:, :-1]), (x[:, 1:], none)))  # fmt: skip
        whole = is_key & (before >= 0) & (before < self.symbols)
        codes = jnp.where(whole, before * self.symbols + x, UNDEFINED)
        found = latest_equal(codes, rows, whole & (after >= self.symbols))
        return pick(x, jnp.where((found >= 0) & whole[:, rows], found + 1, UNDEFINED))

    def answer(self, sequence, t):
        stored = {}
        for a, b, value in zip(sequence[:t], sequence[1:t], sequence[2:t], strict=False):
            if 0 <= a < self.symbols and 0 <= b < self.symbols <= value:
                stored[a, b] = value
        return stored.get((sequence[t - 1], sequence[t]), UNDEFINED) if t else UNDEFINED

    def memory_profile(self):
        return MemoryProfile(Family.ADAPTIVE, 1, note=f"{CONTENT}: outside H^Adap(K, M)")
