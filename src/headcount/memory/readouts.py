"""Readouts f of the memory families: y = f(z), z the stack of memory slots, each a token or a filtered token.

Fixed and adaptive memories have the slots (x_t, x_{t-T1}, …, x_{t-TM}); essential ones (X*rho_1, …, X*rho_M).
Every readout knows an upper bound of its Lipschitz constant (Euclidean norm on z) and of its Barron norm
inf E|a|(||b||_1 + |c|), both on its stated domain: the constants of E_FFN and of ||f||_Lip in the theorems.
"""

import abc
import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry

BARRON = Ref("e-ma-wu-2019", "Section 2")


class AbstractReadout(abc.ABC):
    """f: R^{slots x d} → R^o. Frozen dataclasses; sizes come with the call, weights from a seed."""

    kind: ClassVar[str]

    @property
    def outputs(self) -> int:
        """Size o of the output."""
        return 1

    @abc.abstractmethod
    def __call__(self, z: jax.Array) -> jax.Array:
        """[..., slots, d] → [..., o]."""

    @abc.abstractmethod
    def reference(self, z: np.ndarray) -> np.ndarray:
        """The same for one [slots, d] in NumPy float64, from the definition."""

    @abc.abstractmethod
    def lipschitz(self, slots: int, d: int) -> float | None:
        """Upper bound of |f(z)-f(z')| / ||z-z'||_2; None where unknown."""

    @abc.abstractmethod
    def barron(self, slots: int, d: int) -> float | None:
        """Upper bound of the Barron norm on the domain; None where unknown."""

    def check(self, slots: int, d: int) -> None:  # noqa: B027 — most readouts fit any shape
        """Refuse shapes that do not fit."""


readouts: Registry[AbstractReadout] = Registry("readout", AbstractReadout)


@readouts.register("linear", formula="f(z) = sum_i weights_i (1/sqrt d) sum_j z_ij", ref=BARRON)
@dataclasses.dataclass(frozen=True)
class Linear(AbstractReadout):
    """A weighted sum of slots (coordinates of a slot are averaged). Default: 1 for every memory, 0 for x_t itself.

    With one weight fewer than slots, the weights are those of the memories and x_t gets 0.
    """

    weights: tuple[float, ...] = ()

    def _full(self, slots: int) -> np.ndarray:
        if not self.weights:
            return np.array([0.0] + [1.0] * (slots - 1)) if slots > 1 else np.ones(1)
        return np.array([0.0, *self.weights]) if len(self.weights) == slots - 1 else np.array(self.weights)

    def check(self, slots, d):
        fits = not self.weights or len(self.weights) in (slots - 1, slots)
        require(fits, f"{len(self.weights)} weights", f"{slots - 1} or {slots}", "give one weight a memory (and one for x_t first, if wanted)")

    def __call__(self, z):
        weights = jnp.asarray(self._full(z.shape[-2]), z.dtype) / math.sqrt(z.shape[-1])
        return jnp.einsum("...sd,s->...", z, weights)[..., None]

    def reference(self, z):
        return np.array([sum(w * c for w, row in zip(self._full(len(z)), z, strict=True) for c in row) / math.sqrt(z.shape[1])])

    def lipschitz(self, slots, d):
        return float(np.linalg.norm(self._full(slots)))

    def barron(self, slots, d):
        # w.z = relu(w.z) - relu(-w.z), each of weight ||w||_1.
        return 2.0 * float(np.abs(self._full(slots)).sum()) * math.sqrt(d)
