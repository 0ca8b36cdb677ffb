"""Selective copy: content scattered among noise is asked for, item by item, in order.

Tokens 0, …, symbols-1 are content, `symbols` is noise and `symbols + 1` asks. At the j-th asking
token the label is the j-th content token so far; everywhere else, or if there are fewer, there is
no answer. Samples hide `items` content tokens at random places and end with `items` asking tokens.

Worked example — content {0, 1, 2}, noise 3, asking 4: the content 2, 0 is copied through the noise:

    >>> import jax.numpy as jnp
    >>> SelectiveCopy(items=2, symbols=3).evaluate(jnp.array([[3, 2, 3, 3, 0, 3, 4, 4]])).tolist()
    [[-1, -1, -1, -1, -1, -1, 2, 0]]
"""

import dataclasses

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import UNDEFINED, AbstractTokens, pick, without_repeats
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import Family, MemoryProfile, targets


@targets.register(
    "selective-copy",
    formula="y_t = j-th content token, j = asking tokens up to t",
    ref=Ref("gu-dao-2023", "Section 3.1, selective copying"),
)
@dataclasses.dataclass(frozen=True)
class SelectiveCopy(AbstractTokens):
    """Copy the content, leave the noise."""

    items: int = 4
    symbols: int = 8
    read: AbstractRead = Everywhere()

    def __post_init__(self):
        require(
            self.items >= 1, f"{self.items} items", "at least 1", "there must be something to copy"
        )
        require(
            self.symbols >= 2,
            f"{self.symbols} symbols",
            "at least 2",
            "with one symbol the answer never changes",
        )

    @property
    def vocabulary(self):
        return self.symbols + 2

    @property
    def noise(self) -> int:
        return self.symbols

    @property
    def ask(self) -> int:
        return self.symbols + 1

    @property
    def shortest(self):
        return 2 * self.items

    def tokens(self, key, batch, length):
        for_content, for_places = jax.random.split(key)
        body = length - self.items
        content = jax.random.randint(for_content, (batch, body), 0, self.symbols)
        places = without_repeats(for_places, batch, self.items, body)  # [B, items]
        chosen = jnp.zeros((batch, body), bool).at[jnp.arange(batch)[:, None], places].set(True)
        asking = jnp.full((batch, self.items), self.ask)
        return jnp.concatenate([jnp.where(chosen, content, self.noise), asking], axis=1)

    def answers(self, x, rows):
        content = (x >= 0) & (x < self.symbols)
        seen = content.cumsum(axis=1)  # [B, N] content tokens so far
        asked = (x == self.ask).cumsum(axis=1)
        # place[j] = row of the j-th content token: scatter, the rest goes to the unused place 0
        rank = jnp.where(content, seen, 0)
        every = jnp.broadcast_to(jnp.arange(x.shape[1]), x.shape)
        place = (
            jnp.zeros((x.shape[0], x.shape[1] + 1), int)
            .at[jnp.arange(x.shape[0])[:, None], rank]
            .set(every)
        )
        answered = (x == self.ask) & (asked <= seen)
        found = jnp.where(answered, jnp.take_along_axis(place, asked, axis=1), UNDEFINED)  # [B, N]
        return pick(x, found[:, rows])

    def answer(self, sequence, t):
        past = sequence[: t + 1]
        content = [token for token in past if 0 <= token < self.symbols]
        j = past.count(self.ask)
        return content[j - 1] if sequence[t] == self.ask and j <= len(content) else UNDEFINED

    def memory_profile(self):
        return MemoryProfile(
            Family.ADAPTIVE,
            1,
            note=(
                "the lag depends on counts over the whole past, not on x_t alone: outside H^Adap(K,"
                " M) for bounded K"
            ),
        )
