"""Proposition 4.2: the target that separates attention with and without the dot product.

    y_t = x_{t-g(x_t)},  x_t in {-1, 0, 1},  g(-1), g(0), g(1) = 0, 1, 2.

With the dot product, H heads reach O(1/H); without it, and without an FFN, the error is at least
2/3 (paper) and indeed exactly 1, what answering 0 costs (docs/errata.md#e16). g = 0 is outside the
paper's own class, and an FFN behind attention without dot product solves it exactly (a fixed memory
with M = 2): the dot product buys economy, not possibility.

Worked example — the last token, 1, looks two back at -1; a 0 would look one back at 0:

    >>> import jax.numpy as jnp
    >>> x = jnp.array([[[-1.0], [0.0], [1.0]], [[-1.0], [0.0], [0.0]], [[-1.0], [0.0], [-1.0]]])
    >>> Prop42().evaluate(x)[:, 0, 0].tolist()
    [-1.0, 0.0, -1.0]
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.inputs import Ternary
from headcount.memory.lag_functions import Affine
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.target import targets


@targets.register(
    "prop42",
    formula="y_t = x_{t-g(x_t)}, g(-1, 0, 1) = (0, 1, 2)",
    ref=Ref("wang-e-2024", "Proposition 4.2"),
)
@dataclasses.dataclass(frozen=True)
class Prop42(AbstractNamed):
    """The target of Proposition 4.2."""

    read: AbstractRead = Last()

    def describe(self):
        lag = Affine(offset=1, slope=1, T=2, allow_zero=True)
        return AdaptiveMemory((lag,), nesting=0, inputs=Ternary(), read=self.read)

    def memory_profile(self):
        return dataclasses.replace(
            self.target.memory_profile(),
            note="g = 0 is outside H^Adap (lags start at 1): docs/errata.md#e16",
        )
