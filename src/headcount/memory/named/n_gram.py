"""N-gram: the label is a fixed function of the last n tokens, y_t = table[x_{t-n+1}, …, x_t].

A fixed memory with lags 1, …, n-1 whose readout is a lookup table (drawn once from `seed`). Where
the context starts before the first token, or holds padding, there is no answer.

Worked example — bigrams of two symbols; the table has one entry for each of 00, 01, 10, 11:

    >>> import jax.numpy as jnp
    >>> target = NGram(n=2, symbols=2, seed=1)
    >>> ngram_table(2, 2, 1).tolist()
    [0, 1, 1, 1]
    >>> target.evaluate(jnp.array([[0, 0, 1, 1]])).tolist()        # none, 00, 01, 11
    [[-1, 0, 1, 1]]
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import UNDEFINED, AbstractTokens
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import Family, MemoryProfile, targets

LARGEST_TABLE = 2**20


@functools.lru_cache(maxsize=16)
def ngram_table(n: int, symbols: int, seed: int) -> np.ndarray:
    """Labels of all contexts, the oldest token the most significant digit.  [symbols**n]"""
    return np.random.default_rng(seed).integers(symbols, size=symbols**n)


@targets.register(
    "n-gram", formula="y_t = table[x_{t-n+1}, …, x_t]", ref=Ref("shannon-1948", "Section 3")
)
@dataclasses.dataclass(frozen=True)
class NGram(AbstractTokens):
    """A random table over the last n tokens."""

    n: int = 3
    symbols: int = 4
    seed: int = 0
    read: AbstractRead = Everywhere()

    def __post_init__(self):
        require(self.n >= 1, f"n = {self.n}", "at least 1", "the context counts the current token")
        require(self.symbols >= 2, f"{self.symbols} symbols", "at least 2", "use more symbols")
        fits = self.symbols**self.n <= LARGEST_TABLE
        require(
            fits,
            f"a table of {self.symbols}^{self.n} entries",
            f"at most {LARGEST_TABLE}",
            "use a smaller n",
        )

    @property
    def vocabulary(self):
        return self.symbols

    @property
    def shortest(self):
        return self.n

    def tokens(self, key, batch, length):
        return jax.random.randint(key, (batch, length), 0, self.symbols)

    def answers(self, x, rows):
        lags = np.arange(self.n - 1, -1, -1)
        index = rows[:, None] - lags[None, :]  # [R, n]
        # [B, R, n]
        context = jnp.where(jnp.asarray(index >= 0)[None], x[:, np.maximum(index, 0)], UNDEFINED)
        code = (context * jnp.asarray(self.symbols**lags)).sum(axis=-1)
        known = ((context >= 0) & (context < self.symbols)).all(axis=-1)
        return jnp.where(
            known,
            jnp.asarray(ngram_table(self.n, self.symbols, self.seed))[jnp.where(known, code, 0)],
            UNDEFINED,
        )

    def answer(self, sequence, t):
        code = 0
        for s in range(t - self.n + 1, t + 1):
            if s < 0 or not 0 <= sequence[s] < self.symbols:
                return UNDEFINED
            code = code * self.symbols + sequence[s]
        return int(ngram_table(self.n, self.symbols, self.seed)[code])

    def memory_profile(self):
        return MemoryProfile(
            Family.FIXED,
            self.n - 1,
            lags=tuple(range(1, self.n)),
            note="the readout is a lookup table",
        )
