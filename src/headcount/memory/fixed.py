"""H^Fix: y_t = f(x_t, x_{t-T1}, …, x_{t-TM}) with lags that never change (paper, eq. (5)).

Worked example — the sum of the tokens 1 and 3 steps back, read at the last of five positions:

    >>> import jax.numpy as jnp
    >>> target = FixedMemory(lags=(1, 3))
    >>> x = jnp.array([1.0, -1.0, 1.0, 1.0, -1.0])[None, :, None]
    >>> float(target.evaluate(x).item())   # x_4 + x_2
    0.0
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.inputs import AbstractInputs, Boolean
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import AbstractReadout, Linear
from headcount.memory.target import AbstractMemory, Family, MemoryProfile, targets


@targets.register(
    "fixed",
    formula="y_t = f(x_t, x_{t-T1}, …, x_{t-TM})",
    ref=Ref("wang-e-2024", "Section 3, eq. (5)"),
)
@dataclasses.dataclass(frozen=True)
class FixedMemory(AbstractMemory):
    """A fixed, long but M-sparse memory."""

    lags: tuple[int, ...]
    readout: AbstractReadout = Linear()
    inputs: AbstractInputs = Boolean()
    read: AbstractRead = Last()

    def __post_init__(self):
        increasing = all(a < b for a, b in zip((0, *self.lags), self.lags, strict=False))
        fix = "sort them and drop repeats (lag 0 is always a slot)"
        require(self.lags and increasing, f"lags {self.lags}", "1 <= T1 < T2 < … < TM", fix)
        self.readout.check(len(self.lags) + 1, self.inputs.dim)

    @property
    def shortest(self):
        return self.lags[-1] + 1

    def left_open(self, seed):
        return self.readout.left_open(len(self.lags) + 1, self.inputs.dim, seed)

    def filled(self, weights):
        return dataclasses.replace(self, readout=self.readout.filled(weights)) if weights else self

    def evaluate(self, x, read=None):
        self.check_input(x)
        rows = (read or self.read).rows(x.shape[1])
        return self.readout(lagged(x, rows, (0, *self.lags)))

    def reference(self, x, read=None):
        rows = (read or self.read).rows(x.shape[1])
        zero = np.zeros(x.shape[2])
        answers = [
            [
                self.readout.reference(
                    np.stack([seq[t - s] if t >= s else zero for s in (0, *self.lags)])
                )
                for t in rows
            ]
            for seq in np.asarray(x, np.float64)
        ]
        return np.array(answers)  # [B, R, o]

    def memory_profile(self):
        lipschitz, barron = self.readout.bounds(len(self.lags) + 1, self.inputs)
        return MemoryProfile(
            Family.FIXED, len(self.lags), lags=self.lags, lipschitz=lipschitz, barron=barron
        )


def lagged(x: jax.Array, rows: np.ndarray, lags: tuple[int, ...]) -> jax.Array:
    """x_{t-s} for static rows and lags, zero before the first token.

    [B, N, d] → [B, R, lags, d]
    """
    index = rows[:, None] - np.asarray(lags)[None, :]  # [R, lags]
    found = jnp.take(x, jnp.asarray(np.maximum(index, 0)), axis=1)
    return jnp.where(jnp.asarray(index >= 0)[None, :, :, None], found, jnp.zeros((), x.dtype))
