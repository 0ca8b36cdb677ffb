"""Parity: the product of all signs of the memories. Fewer bits tell nothing about it.

Let n be the number of bits (slots that take part times d) and s = sqrt(d) sum_ij z_ij their sum,
from -n to n. On the vertices z_ij = ±1/sqrt(d) the product of the signs is (-1)^{(n-s)/2}; between
them f is the zigzag through these values, a function of s alone with slopes ±1. So f is a ridge
function with the exact network

    f = (-1)^n relu(1) ∓ relu(s + n) ± 2 sum_{k=1}^{n-1} (-1)^k relu(s + n - 2k),

whose path norm bounds the Barron norm, and whose gradient ± sqrt(d) (1, …, 1) has norm sqrt(d n). A
missing memory (zero) makes f = 0 when it is the only one.
"""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from headcount.core.refs import Ref
from headcount.memory.readouts.base import AbstractReadout, memories, readouts, taking_part
from headcount.memory.readouts.network import zigzag


@readouts.register(
    "parity",
    formula="f(z) = prod_ij sign(z_ij) on vertices, linear in sum z between them",
    ref=Ref("edelman-2022"),
)
@dataclasses.dataclass(frozen=True)
class Parity(AbstractReadout):
    """The product of the signs of the memories (and of x_t with `current`).

    >>> Parity().reference(np.array([[1.0], [-1.0], [1.0]]))
    array([-1.])
    """

    current: bool = False

    def check(self, slots, d):
        taking_part(slots, self.current)

    def __call__(self, z):
        part = memories(z, self.current)
        p, d = part.shape[-2:]
        u = (p * d - math.sqrt(d) * part.sum((-2, -1))) / 2  # the number of negative bits
        return (1 - 2 * jnp.abs(u - 2 * jnp.round(u / 2)))[..., None]

    def reference(self, z):
        bits = [math.sqrt(z.shape[1]) * v for row in memories(z, self.current) for v in row]
        negative = (len(bits) - math.fsum(bits)) / 2  # a whole number on the vertices
        whole = math.floor(negative)
        return np.array([(-1.0) ** whole * (1 - 2 * (negative - whole))])

    def lipschitz(self, slots, d):
        return d * math.sqrt(taking_part(slots, self.current))

    def barron(self, slots, d):
        n = d * taking_part(slots, self.current)
        spread = n * math.sqrt(d)  # ||b||_1 of every neuron
        return 1 + spread + n + sum(2 * (spread + abs(n - 2 * k)) for k in range(1, n))

    def network(self, slots, d):
        p = taking_part(slots, self.current)
        n = p * d
        direction = np.zeros((slots, d))
        direction[slots - p :] = math.sqrt(d)
        knots = np.arange(-n, n + 1, 2.0)
        return zigzag(direction.ravel(), knots, (-1.0) ** np.arange(n, -1, -1))
