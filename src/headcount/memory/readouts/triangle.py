"""A triangle wave of one memory: `teeth` teeth on [-1, 1] have 2 teeth - 1 breakpoints, so fewer
neurons cannot do it.

f rises and falls between -1 and 1 with slopes ± 2 teeth, starting from f(-1) = -1. It stands in for
a function of one ±1 bit, which two neurons represent whatever it is (docs/errata.md#e20). The exact
network has one neuron per piece,

    f(u) = -relu(1) + 2 teeth relu(u + 1)
           + sum_{k=1}^{2 teeth - 1} (-1)^k 4 teeth relu(u + 1 - k/teeth),

so its Lipschitz constant 2 teeth ||w||_2 and its path norm are read off, w being the direction of
u = w.z.
"""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.readouts.base import (
    AbstractReadout,
    averages,
    memories,
    on_slots,
    readouts,
    taking_part,
)
from headcount.memory.readouts.network import zigzag


@readouts.register(
    "triangle",
    formula="f(z) = 1 - 2|2 frac(teeth (u+1)/2) - 1|, u = first or mean memory",
    ref=Ref("headcount", "docs/errata.md#e20"),
)
@dataclasses.dataclass(frozen=True)
class Triangle(AbstractReadout):
    """A triangle wave with `teeth` teeth of the first memory, or of the mean of all.

    >>> wave = Triangle(teeth=2)
    >>> [float(wave.reference(np.array([[0.0], [u]]))[0]) for u in (-1.0, -0.5, 0.0, 0.25)]
    [-1.0, 1.0, -1.0, 0.0]
    """

    teeth: int = 32
    of: Literal["first", "mean"] = "first"
    current: bool = False

    def __post_init__(self):
        require(self.teeth >= 1, f"{self.teeth} teeth", "at least 1", "the default is 32")
        require(
            self.of in ("first", "mean"),
            f"of={self.of!r}",
            "'first' or 'mean'",
            "choose which memory the wave is a function of",
        )

    def check(self, slots, d):
        taking_part(slots, self.current)

    def _per_slot(self, slots: int) -> np.ndarray:
        """Weights of the slots that take part in u."""
        p = taking_part(slots, self.current)
        return np.eye(p)[0] if self.of == "first" else np.full(p, 1 / p)

    def __call__(self, z):
        part = averages(memories(z, self.current))
        u = part[..., :1] if self.of == "first" else part.mean(-1, keepdims=True)
        phase = self.teeth * (u + 1) / 2
        return 1 - 2 * jnp.abs(2 * (phase - jnp.floor(phase)) - 1)

    def reference(self, z):
        rows = [math.fsum(row) / math.sqrt(len(row)) for row in memories(z, self.current)]
        u = rows[0] if self.of == "first" else math.fsum(rows) / len(rows)
        nearest_valley = 2 * round((u + 1) * self.teeth / 2) / self.teeth - 1
        return np.array([2 * self.teeth * abs(u - nearest_valley) - 1])

    def lipschitz(self, slots, d):
        return 2 * self.teeth * float(np.linalg.norm(self._per_slot(slots)))

    def barron(self, slots, d):
        knots = sum(abs(1 - k / self.teeth) for k in range(1, 2 * self.teeth))
        spread = math.sqrt(d)  # ||w||_1: the slots' weights sum to 1
        return (
            1
            + 2 * self.teeth * (spread + 1)
            + 4 * self.teeth * ((2 * self.teeth - 1) * spread + knots)
        )

    def network(self, slots, d):
        knots = np.arange(2 * self.teeth + 1) / self.teeth - 1
        return zigzag(
            on_slots(self._per_slot(slots), slots, d),
            knots,
            -((-1.0) ** np.arange(2 * self.teeth + 1)),
        )
