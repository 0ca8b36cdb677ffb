"""H^Adap(K, M): the lags depend on the tokens they lead to (paper, eq. (8)).

    t_1 = g_1(x_t),
    t_i = g_i(x_t, x_{t-t_1}, …, x_{t-t_{i-1}})   for i <= K+1,
    t_i = g_i(x_t, x_{t-t_1}, …, x_{t-t_K})       for K < i <= M,
    y_t = f(x_t, x_{t-t_1}, …, x_{t-t_M}).

K = 0 is the paper's warm-up class H^Adap(1, M) (docs/errata.md#e7). Lags all count back from t. A
token before the first reads as zero, in f and in the g that follow.

Worked example — Proposition 4.2, y_t = x_{t - (x_t + 1)} on tokens -1, 0, 1, at every position of
five:

    >>> import jax.numpy as jnp
    >>> from headcount.memory.lag_functions import Affine
    >>> from headcount.memory.inputs import Ternary
    >>> from headcount.memory.read import Everywhere
    >>> g = Affine(offset=1, slope=1, T=2, allow_zero=True)
    >>> target = AdaptiveMemory((g,), inputs=Ternary(), read=Everywhere())
    >>> x = jnp.array([[[1.0], [-1.0], [0.0], [1.0], [1.0]]])
    >>> target.evaluate(x)[0, :, 0].tolist()   # before the start, x_2, x_2, x_2, x_3
    [0.0, -1.0, -1.0, -1.0, 0.0]
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.inputs import AbstractInputs, Boolean
from headcount.memory.lag_functions import AbstractLagFunction
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import AbstractReadout, Linear
from headcount.memory.target import AbstractMemory, Family, MemoryProfile, targets


@dataclasses.dataclass(frozen=True)
class LagBound:
    """What Theorems 4.1 and 4.4 need of one lag function; None where tokens are not finite."""

    arguments: int
    largest: int  # T_i
    barron: float | None  # of g (lin bias)
    log_barron: float | None  # of log g (log bias)
    separation: float | None  # smallest distance of arguments with different lags


@targets.register(
    "adaptive",
    formula="y_t = f(x_t, x_{t-t1}, …, x_{t-tM}), t_i = g_i(x_t, x_{t-t1}, …, x_{t-t_min(i-1,K)})",
    ref=Ref("wang-e-2024", "Section 4, eq. (8)"),
)
@dataclasses.dataclass(frozen=True)
class AdaptiveMemory(AbstractMemory):
    """A K-adaptive, long but M-sparse memory."""

    lag_functions: tuple[AbstractLagFunction, ...]
    nesting: int = 0
    readout: AbstractReadout = Linear()
    inputs: AbstractInputs = Boolean()
    read: AbstractRead = Last()

    def __post_init__(self):
        count = len(self.lag_functions)
        require(
            count >= 1,
            "an adaptive memory without lag functions",
            "at least one",
            "give lag_functions=…",
        )
        nested = 0 <= self.nesting <= count
        require(
            nested,
            f"nesting {self.nesting} with {count} lag functions",
            f"from 0 to {count}",
            "K is at most M in H^Adap(K, M)",
        )
        for g, arguments in zip(self.lag_functions, self.arguments, strict=True):
            g.check(arguments, self.inputs.dim)
        self.readout.check(count + 1, self.inputs.dim)

    @property
    def arguments(self) -> tuple[int, ...]:
        """How many tokens each g_i sees: i up to K+1, then K+1."""
        return tuple(min(i, self.nesting + 1) for i in range(1, len(self.lag_functions) + 1))

    @property
    def shortest(self):
        return max(self._largest()) + 1

    def _largest(self) -> list[int]:
        return [
            g.largest(arguments)
            for g, arguments in zip(self.lag_functions, self.arguments, strict=True)
        ]

    def evaluate(self, x, read=None):
        self.check_input(x)
        rows = (read or self.read).rows(x.shape[1])
        slots = jnp.take(x, jnp.asarray(rows), axis=1)[:, :, None]  # [B, R, 1, d]
        for g, arguments in zip(self.lag_functions, self.arguments, strict=True):
            lag = g(slots[:, :, :arguments])  # [B, R]
            slots = jnp.concatenate([slots, fetched(x, rows, lag)[:, :, None]], axis=2)
        return self.readout(slots)

    def reference(self, x, read=None):
        rows = (read or self.read).rows(x.shape[1])
        x = np.asarray(x, np.float64)
        # [B, R, o]
        return np.array([[self.readout.reference(self._slots(seq, t)) for t in rows] for seq in x])

    def _slots(self, sequence: np.ndarray, t: int) -> np.ndarray:
        """(x_t, x_{t-t1}, …, x_{t-tM}) of one sequence, step by step from eq. (8)."""
        seen = [sequence[t]]
        for i, g in enumerate(self.lag_functions, start=1):
            lag = g.reference(np.stack(seen[: i if i <= self.nesting + 1 else self.nesting + 1]))
            seen.append(sequence[t - lag] if lag <= t else np.zeros(sequence.shape[1]))
        return np.stack(seen)

    def lag_bounds(self) -> tuple[LagBound, ...]:
        """The constants of every lag function on these inputs."""
        letters = self.inputs.alphabet
        return tuple(
            LagBound(
                n,
                g.largest(n),
                g.barron(n, letters),
                g.log_barron(n, letters),
                g.separation(n, letters),
            )
            for g, n in zip(self.lag_functions, self.arguments, strict=True)
        )

    def memory_profile(self):
        possible = {
            lag
            for g, n in zip(self.lag_functions, self.arguments, strict=True)
            for lag in g.possible(n)
        }
        lipschitz, barron = self.readout.bounds(len(self.lag_functions) + 1, self.inputs)
        separated = self.inputs.alphabet is not None
        return MemoryProfile(
            Family.ADAPTIVE,
            len(self.lag_functions),
            self.nesting,
            tuple(sorted(possible - {0})),
            lipschitz=lipschitz,
            barron=barron,
            note=(
                ""
                if separated
                else (
                    "tokens are no finite separated set: a whole-valued g is not continuous there"
                    " and has no Barron norm"
                )
            ),
        )


def fetched(x: jax.Array, rows: np.ndarray, lag: jax.Array) -> jax.Array:
    """x_{t-lag} for lags that differ by sequence and row, zero before the first token.

    [B, N, d], [B, R] → [B, R, d]
    """
    index = jnp.asarray(rows, jnp.int32)[None, :] - lag
    found = jnp.take_along_axis(x, jnp.maximum(index, 0)[:, :, None], axis=1)
    return jnp.where((index >= 0)[:, :, None], found, jnp.zeros((), x.dtype))
