"""The adaptive sparse Boolean function (paper, Section 4, Example I): bits decide the lags.

    t_1 = g_1(x_t),  t_2 = g_2(x_t, x_{t-t_1}),  y_t = f(x_{t-t_1}, x_{t-t_2}),  x_t = ±1,

with K = M = 2.

Here each g spells its lag in binary: t_1 = 1 + [x_t > 0], t_2 = 3 + [x_t > 0] + 2 [x_{t-t_1} > 0],
and f is the parity. The second lag needs the token that the first one finds, so two retrievals
follow each other and three layers suffice (K = 1, M = 2 describes the same function:
docs/errata.md#e7).

Worked example — x_t = +1 gives t_1 = 2; the token there, -1, gives t_2 = 4; the token there is +1:

    >>> import jax.numpy as jnp
    >>> x = jnp.array([1.0, -1.0, -1.0, 1.0, 1.0])[None, :, None]
    >>> float(AdaptiveBoolean().evaluate(x).item())                # (-1) (+1)
    -1.0
"""

import dataclasses

from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.inputs import Boolean
from headcount.memory.lag_functions import Bits
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import AbstractReadout, Parity
from headcount.memory.target import targets


@targets.register(
    "adaptive-boolean",
    formula=(
        "y_t = f(x_{t-t1}, x_{t-t2}), t1 = 1 + [x_t > 0], t2 = 3 + [x_t > 0] + 2 [x_{t-t1} > 0]"
    ),
    ref=Ref("wang-e-2024", "Section 4, Example I"),
)
@dataclasses.dataclass(frozen=True)
class AdaptiveBoolean(AbstractNamed):
    """The paper's adaptive sparse Boolean function, K = M = 2."""

    readout: AbstractReadout = Parity()
    read: AbstractRead = Last()

    def describe(self):
        return AdaptiveMemory(
            (Bits(first=1), Bits(first=3)),
            nesting=2,
            readout=self.readout,
            inputs=Boolean(),
            read=self.read,
        )
