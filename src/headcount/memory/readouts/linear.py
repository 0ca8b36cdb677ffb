"""Linear readouts: the only f for which population losses have a closed form."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.memory.readouts.base import BARRON, AbstractReadout, on_slots, readouts
from headcount.memory.readouts.network import ReluNetwork


@readouts.register("linear", formula="f(z) = sum_i weights_i (1/sqrt d) sum_j z_ij", ref=BARRON)
@dataclasses.dataclass(frozen=True)
class Linear(AbstractReadout):
    """A weighted sum of slots, coordinates averaged; by default 1 per memory, 0 for x_t itself.

    With one weight fewer than slots, the weights are those of the memories and x_t gets 0.

    >>> Linear(weights=(2.0, -1.0)).reference(np.array([[9.0], [1.0], [0.5]]))
    array([1.5])
    """

    weights: tuple[float, ...] = ()

    def full(self, slots: int) -> np.ndarray:
        """One weight per slot, x_t first.  [slots]"""
        if not self.weights:
            return np.array([0.0] + [1.0] * (slots - 1)) if slots > 1 else np.ones(1)
        return (
            np.array([0.0, *self.weights])
            if len(self.weights) == slots - 1
            else np.array(self.weights)
        )

    def check(self, slots, d):
        fits = not self.weights or len(self.weights) in (slots - 1, slots)
        require(
            fits,
            f"{len(self.weights)} weights",
            f"{slots - 1} or {slots}",
            "give one weight per memory (and one for x_t first)",
        )
        require(
            np.all(np.isfinite(self.weights)),
            f"weights {self.weights}",
            "finite numbers",
            "remove NaN and inf",
        )

    def __call__(self, z):
        weights = jnp.asarray(self.full(z.shape[-2]), z.dtype) / math.sqrt(z.shape[-1])
        return jnp.einsum("...sd,s->...", z, weights, precision="highest")[..., None]

    def reference(self, z):
        return np.array(
            [
                sum(w * c for w, row in zip(self.full(len(z)), z, strict=True) for c in row)
                / math.sqrt(z.shape[1])
            ]
        )

    def lipschitz(self, slots, d):
        return float(np.linalg.norm(self.full(slots)))

    def barron(self, slots, d):
        # w.z = relu(w.z) - relu(-w.z), each of weight ||w||_1.
        return 2.0 * float(np.abs(self.full(slots)).sum()) * math.sqrt(d)

    def network(self, slots, d):
        w = on_slots(self.full(slots), slots, d)
        return ReluNetwork(np.array([1.0, -1.0]), np.stack([w, -w]), np.zeros(2))

    def holds(self, radius, alphabet):
        return True
