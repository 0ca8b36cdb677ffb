"""Pointer chain: each token says how far back to look, and the label is the token found after
`hops` jumps.

At position t start at s_0 = t and jump s_{i+1} = s_i - (x_{s_i} + 1); the label is x_{s_K},
K = `hops`. In the paper's terms t_1 = g(x_t), t_2 = t_1 + g(x_{t-t_1}), …, with g(v) = v + 1: an
adaptive memory with M = K retrievals, the i-th depending on the token that the one before found
(nesting K - 1). Keep `symbols` at 6 or more: with few, the union of the lags is so small that one
layer learns it as a fixed memory. A chain that leaves the sequence has no answer.

Worked example — two hops from the last token: 1 points two back at 0, which points one back at 2:

    >>> import jax.numpy as jnp
    >>> target = PointerChain(hops=2, symbols=3)
    >>> target.evaluate(jnp.array([[0, 2, 0, 1, 1]])).tolist()
    [[-1, -1, -1, -1, 2]]
"""

import dataclasses

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import UNDEFINED, AbstractTokens, pick
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import Family, MemoryProfile, targets


@targets.register(
    "pointer-chain",
    formula="s_0 = t, s_{i+1} = s_i - x_{s_i} - 1, y_t = x_{s_K}",
    ref=Ref("sanford-2024", "k-hop induction"),
)
@dataclasses.dataclass(frozen=True)
class PointerChain(AbstractTokens):
    """Follow `hops` lag pointers; the label is the token at the end."""

    hops: int = 2
    symbols: int = 6
    read: AbstractRead = Everywhere()

    def __post_init__(self):
        require(
            self.hops >= 1,
            f"{self.hops} hops",
            "at least 1",
            "a chain of no hops is the current token",
        )
        require(
            self.symbols >= 2,
            f"{self.symbols} symbols",
            "at least 2",
            "with one symbol there is one lag and one answer",
        )

    @property
    def vocabulary(self):
        return self.symbols

    @property
    def shortest(self):
        return self.hops * self.symbols + 1

    def tokens(self, key, batch, length):
        return jax.random.randint(key, (batch, length), 0, self.symbols)

    def answers(self, x, rows):
        place = jnp.broadcast_to(jnp.asarray(rows)[None, :], (x.shape[0], len(rows)))  # [B, R]
        token = pick(x, place)
        for _ in range(self.hops):
            place = place - (token + 1)  # an undefined token, -1, stays where it is
            token = pick(x, place)
        return token

    def answer(self, sequence, t):
        for _ in range(self.hops):
            if sequence[t] < 0:
                return UNDEFINED
            t -= sequence[t] + 1
            if t < 0:
                return UNDEFINED
        return sequence[t]

    def memory_profile(self):
        return MemoryProfile(
            Family.ADAPTIVE,
            self.hops,
            nesting=self.hops - 1,
            lags=tuple(range(1, self.hops * self.symbols + 1)),
            note="pointer doubling needs only about log2(hops) layers (2402.09268)",
        )
