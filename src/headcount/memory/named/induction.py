"""Induction: the label is the token that followed the previous occurrence of the current token.

    y_t = x_{s+1},  s = max{s < t: x_s = x_t};  no answer where the token is new.

Samples are uniform, except that the token at the last read position repeats an earlier one, so that
at least this read has an answer. Two layers of attention do it (a previous-token head, then a
match); one needs exponential size.

Worked example — `7 4 9 7`: the 7 stood before, and 4 followed it:

    >>> import jax.numpy as jnp
    >>> Induction(symbols=10).evaluate(jnp.array([[7, 4, 9, 7]])).tolist()
    [[4]]
"""

import dataclasses

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import UNDEFINED, AbstractTokens, latest_equal, pick
from headcount.memory.read import AbstractRead, Last
from headcount.memory.target import Family, MemoryProfile, targets


@targets.register(
    "induction",
    formula="y_t = x_{s+1}, s = max{s < t: x_s = x_t}",
    ref=Ref("olsson-2022", "induction heads"),
)
@dataclasses.dataclass(frozen=True)
class Induction(AbstractTokens):
    """What came after the last time."""

    symbols: int = 16
    read: AbstractRead = Last()

    def __post_init__(self):
        require(
            self.symbols >= 2,
            f"{self.symbols} symbols",
            "at least 2",
            "with one symbol the answer never changes",
        )

    @property
    def vocabulary(self):
        return self.symbols

    @property
    def shortest(self):
        return 2

    def tokens(self, key, batch, length):
        row = int(self.read.rows(length)[-1])
        require(
            row >= 1,
            "induction read at position 1",
            "a read position of at least 2",
            "nothing stands before the first token",
        )
        for_tokens, for_source = jax.random.split(key)
        x = jax.random.randint(for_tokens, (batch, length), 0, self.symbols)
        source = jax.random.randint(for_source, (batch, 1), 0, row)
        return x.at[:, row].set(jnp.take_along_axis(x, source, axis=1)[:, 0])

    def answers(self, x, rows):
        found = latest_equal(x, rows, x >= 0)
        return pick(x, jnp.where(found >= 0, found + 1, UNDEFINED))

    def answer(self, sequence, t):
        for s in range(t - 1, -1, -1):
            if sequence[s] == sequence[t] >= 0:
                return sequence[s + 1]
        return UNDEFINED

    def memory_profile(self):
        return MemoryProfile(
            Family.ADAPTIVE,
            1,
            note=(
                "the lag is found by content, so it is no function of x_t alone: outside H^Adap(K,"
                " M) for bounded K"
            ),
        )
