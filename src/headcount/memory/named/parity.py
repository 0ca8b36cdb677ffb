"""Sparse parity: the product of the signs at a few lags. Fewer lags tell nothing about it.

    y_t = prod_i x_{t-T_i},  x_t = ±1.

Every proper subset of the lags is independent of y, so lags cannot be found one at a time: about M
ln S samples determine them, but finding them is a search over S^M sets.

Worked example — lags 1 and 3 at the last of four tokens: x_3 x_1:

    >>> import jax.numpy as jnp
    >>> SparseParity(lags=(1, 3)).evaluate(jnp.array([[[-1.0], [1.0], [1.0], [-1.0]]])).item()
    -1.0
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Boolean
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import Parity
from headcount.memory.target import targets


@targets.register(
    "parity", formula="y_t = prod_i x_{t-T_i}, x = ±1", ref=Ref("edelman-2022", "sparse parities")
)
@dataclasses.dataclass(frozen=True)
class SparseParity(AbstractNamed):
    """The product of the signs at given lags."""

    lags: tuple[int, ...] = (5, 12)
    read: AbstractRead = Last()

    def describe(self):
        return FixedMemory(self.lags, Parity(), Boolean(), self.read)
