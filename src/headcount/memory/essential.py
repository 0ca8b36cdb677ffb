"""H^Ess: memories that decay (paper, eq. (13)).

    y_t = f((X*rho_1)(t), …, (X*rho_M)(t)),   (X*rho)(t) = sum_{s>=0} rho(s) x_{t-s}.

The memory is dense, and sparse only in effect: the kernels decay. On a finite sequence the sum
stops at the first token. Readouts see x_t as slot 0 (it is X*delta_0, and the residual's block 0:
docs/errata.md#e5) and leave it out unless told otherwise. A kernel that is not in l1 (power with
exponent <= 1) is no member of the class: the target is still well defined on finite sequences, and
the profile says that it is outside the assumptions (docs/errata.md#e18).

Worked example — the sum of all earlier tokens, each weighted by 1/lag:

    >>> import jax.numpy as jnp
    >>> from headcount.memory.kernels import Power
    >>> target = EssentialMemory((Power(1.0),))
    >>> float(target.evaluate(jnp.array([[[1.0], [1.0], [-1.0]]])).item())   # x_2/1 + x_1/2
    1.5
"""

import dataclasses

import jax
import jax.numpy as jnp
import mpmath
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.inputs import AbstractInputs, Boolean
from headcount.memory.kernels import AbstractKernel
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import AbstractReadout, Linear
from headcount.memory.target import AbstractMemory, Family, MemoryProfile, targets

DENSE_SIZE = 2**16  # rows times tokens up to which one matrix product beats the FFT


@targets.register(
    "essential",
    formula="y_t = f((X*rho_1)(t), …, (X*rho_M)(t))",
    ref=Ref("wang-e-2024", "Section 5, eq. (13)"),
)
@dataclasses.dataclass(frozen=True)
class EssentialMemory(AbstractMemory):
    """An essentially sparse memory: M decaying kernels."""

    kernel: tuple[AbstractKernel, ...]
    readout: AbstractReadout = Linear()
    inputs: AbstractInputs = Boolean()
    read: AbstractRead = Last()

    def __post_init__(self):
        require(
            self.kernel,
            "an essential memory without kernels",
            "at least one",
            "give kernel=power:1.5 or the like",
        )
        self.readout.check(len(self.kernel) + 1, self.inputs.dim)

    def evaluate(self, x, read=None):
        self.check_input(x)
        rows = (read or self.read).rows(x.shape[1])
        values = np.stack([kernel.values(x.shape[1]) for kernel in self.kernel])  # [M, N]
        current = jnp.take(x, jnp.asarray(rows), axis=1)[:, :, None]  # [B, R, 1, d]
        return self.readout(jnp.concatenate([current, filtered(x, values, rows)], axis=2))

    def reference(self, x, read=None):
        rows = (read or self.read).rows(x.shape[1])
        x = np.asarray(x, np.float64)
        tables = [
            [float(kernel.at(s, mpmath.mp)) for s in range(max(rows) + 1)] for kernel in self.kernel
        ]
        answers = [
            [
                self.readout.reference(
                    np.stack(
                        [
                            seq[t],
                            *(sum(rho[s] * seq[t - s] for s in range(t + 1)) for rho in tables),
                        ]
                    )
                )
                for t in rows
            ]
            for seq in x
        ]
        return np.array(answers)  # [B, R, o]

    def memory_profile(self):
        norms = [kernel.tail(0) for kernel in self.kernel]
        lipschitz, barron = self.readout.bounds(
            len(self.kernel) + 1, self.inputs, max(norms) * self.inputs.bound
        )
        ends = [kernel.support for kernel in self.kernel if kernel.support is not None]
        lags = tuple(range(1, max(ends))) if len(ends) == len(self.kernel) else None
        outside = [kernel.kind for kernel in self.kernel if not kernel.summable]
        return MemoryProfile(
            Family.ESSENTIAL,
            len(self.kernel),
            lags=lags,
            kernels=self.kernel,
            lipschitz=lipschitz,
            barron=barron,
            note=(
                f"{', '.join(outside)} kernel not summable: outside Theorem 5.1, defined on finite"
                " sequences only"
                if outside
                else ""
            ),
        )


def filtered(x: jax.Array, values: np.ndarray, rows: np.ndarray) -> jax.Array:
    """(X*rho_m)(t) at the rows: one product with a matrix of kernel values, or the FFT where that
    would be large.

    [B, N, d], [M, N] float64, [R] → [B, R, M, d]
    """
    length = x.shape[1]
    if len(rows) == 1 or len(rows) * length <= DENSE_SIZE:
        lag = rows[:, None] - np.arange(length)[None, :]  # [R, N]
        weights = np.where(lag >= 0, values[:, np.maximum(lag, 0)], 0.0)  # [M, R, N]
        return jnp.einsum("mrn,bnd->brmd", jnp.asarray(weights, x.dtype), x, precision="highest")
    size = _smooth(2 * length - 1)
    spectrum = jnp.fft.rfft(x, size, axis=1)[:, :, None, :]  # [B, F, 1, d]
    # [1, F, M, 1]
    kernel = jnp.asarray(np.fft.rfft(values, size, axis=1).T, spectrum.dtype)[None, :, :, None]
    whole = jnp.fft.irfft(spectrum * kernel, size, axis=1)
    return jnp.take(whole, jnp.asarray(rows), axis=1)


def _smooth(size: int) -> int:
    """The next product of 2, 3 and 5: lengths that the FFT likes."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1
