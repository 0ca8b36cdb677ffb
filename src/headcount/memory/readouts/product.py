"""The product of the memories, a smooth interaction of order p.

With m_i = (1/sqrt d) sum_j z_ij in [-1, 1], f = m_1 … m_p. Each partial derivative is a product of
the others, so ||grad f||_2 <= sqrt(p) on the unit balls. For the Barron norm, polarisation writes f
by ridge functions:

    m_1 … m_p = 1/(2^p p!) sum_{e in {±1}^p} e_1 … e_p (e.m)^p,

and on [-p, p] the power g(u) = u^p is the network int g''(t) relu(u-t) dt over t > 0 plus its
mirror image. A neuron relu(±e.m - t) has ||b||_1 + |c| = p sqrt(d) + t, so (e.m)^p has norm at most

    2 int_0^p p(p-1) t^{p-2} (p sqrt(d) + t) dt = 2 p^p (p sqrt(d) + p - 1),

and f has that divided by p! (p = 1: 2 sqrt(d), as for a linear function).
"""

import dataclasses
import math

import numpy as np

from headcount.memory.readouts.base import (
    BARRON,
    AbstractReadout,
    averages,
    memories,
    readouts,
    taking_part,
)


@readouts.register("product", formula="f(z) = prod_i (1/sqrt d) sum_j z_ij", ref=BARRON)
@dataclasses.dataclass(frozen=True)
class Product(AbstractReadout):
    """The product of the memories (and of x_t with `current`).

    >>> Product().reference(np.array([[9.0], [0.5], [-0.5]]))
    array([-0.25])
    """

    current: bool = False

    def check(self, slots, d):
        taking_part(slots, self.current)

    def __call__(self, z):
        return averages(memories(z, self.current)).prod(-1, keepdims=True)

    def reference(self, z):
        return np.array(
            [math.prod(math.fsum(row) / math.sqrt(len(row)) for row in memories(z, self.current))]
        )

    def lipschitz(self, slots, d):
        return math.sqrt(taking_part(slots, self.current))

    def barron(self, slots, d):
        p = taking_part(slots, self.current)
        return 2 * p**p / math.factorial(p) * (p * math.sqrt(d) + p - 1)
