"""A random two-layer ReLU teacher of unit variance: the paper's 64-neuron g* (Section 6), tamed.

Weights come from a NumPy generator: a ~ N(0, 1), b ~ N(0, 1/p) on each coordinate of the p slots
that take part (so that b.z has variance 1 on tokens of norm 1), c ~ N(0, 1). The output is divided
by its standard deviation over the Boolean tokens {-1, +1}^d / sqrt(d): predicting the mean costs a
squared loss of exactly 1 there. The deviation is exact over all vertices up to 12 bits, and taken
over 4096 random vertices (from the same generator) beyond. The g* that the paper prints has other
weights: `relu_sum`.

**Seeds.** A teacher of seed s is the same in every run. Without a seed (None) it is drawn anew for
each: that of seed s in the run of seed s (`left_open`). It has no values before the run fills it
in.
"""

import abc
import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import InputError, require
from headcount.core.sizes import require_memory
from headcount.memory.readouts.base import PAPER_6, AbstractReadout, memories, readouts, taking_part
from headcount.memory.readouts.network import ReluNetwork

EXACT_BITS = 12


class AbstractNetwork(AbstractReadout):
    """What is a two-layer ReLU network of the slots."""

    current: bool

    @abc.abstractmethod
    def weights(self, slots: int, d: int) -> ReluNetwork:
        """The network on the slots that take part."""

    def __call__(self, z):
        net = self.weights(*z.shape[-2:])
        a, b, c = (jnp.asarray(w, z.dtype) for w in (net.a, net.b, net.c))
        part = memories(z, self.current)
        hidden = (
            jnp.einsum("...n,mn->...m", part.reshape(*part.shape[:-2], -1), b, precision="highest")
            + c
        )
        return jnp.einsum("...m,m->...", jax.nn.relu(hidden), a, precision="highest")[..., None]

    def reference(self, z):
        net = self.weights(*z.shape)
        inputs = [float(v) for row in memories(z, self.current) for v in row]
        pre = [
            math.fsum(w * v for w, v in zip(row, inputs, strict=True)) + shift
            for row, shift in zip(net.b, net.c, strict=True)
        ]
        return np.array([math.fsum(w * max(0.0, u) for w, u in zip(net.a, pre, strict=True))])

    def lipschitz(self, slots, d):
        return self.weights(slots, d).lipschitz

    def barron(self, slots, d):
        return self.weights(slots, d).path_norm

    def network(self, slots, d):
        net = self.weights(slots, d)
        unused = slots * d - net.b.shape[1]  # the coordinates of x_t
        return ReluNetwork(net.a, np.pad(net.b, ((0, 0), (unused, 0))), net.c)

    def holds(self, radius, alphabet):
        return True


@dataclasses.dataclass(frozen=True, eq=False)
class Filled(AbstractNetwork):
    """A teacher whose weights a run has filled in; they may be traced."""

    net: ReluNetwork
    current: bool

    def weights(self, slots, d):
        return self.net


class AbstractTeacher(AbstractNetwork):
    """A random network, by its seed or by that of the run."""

    neurons: int
    seed: int | None

    @abc.abstractmethod
    def draw(self, seed: int, slots: int, d: int) -> ReluNetwork:
        """The network of a seed on so many slots, all of which take part."""

    def __post_init__(self):
        require(self.neurons >= 1, f"{self.neurons} neurons", "at least 1", "the paper has 64")
        require(
            self.seed is None or self.seed >= 0,
            f"seed {self.seed}",
            "at least 0, or none for that of the run",
            "choose another seed",
        )

    def check(self, slots, d):
        self.draw(self.seed or 0, taking_part(slots, self.current), d)

    def weights(self, slots, d):
        if self.seed is None:
            raise InputError(
                f"the values of a {self.kind} without a seed",
                "a run, whose seed it has",
                "give the seed of the run",
            )
        return self.draw(self.seed, taking_part(slots, self.current), d)

    def left_open(self, slots, d, seed):
        if self.seed is not None:
            return ()
        net = self.draw(seed, taking_part(slots, self.current), d)
        return net.a, net.b, net.c

    def filled(self, weights):
        return Filled(ReluNetwork(*weights), self.current) if weights else self


@readouts.register(
    "teacher",
    formula="f(z) = sum_k a_k relu(b_k . z + c_k), random, unit variance on Boolean tokens",
    ref=PAPER_6,
)
@dataclasses.dataclass(frozen=True)
class Teacher(AbstractTeacher):
    """A random two-layer ReLU network of the memories (and of x_t with `current`)."""

    neurons: int = 64
    seed: int | None = 0
    current: bool = False

    def draw(self, seed, slots, d):
        return _teacher(self.neurons, seed, slots, d)


@functools.lru_cache(maxsize=256)
def _teacher(neurons: int, seed: int, slots: int, d: int) -> ReluNetwork:
    n = slots * d
    require_memory(
        8.0 * neurons * (2 ** min(n, EXACT_BITS) + n),
        f"a teacher of {neurons} neurons on {n} inputs",
        "use fewer neurons",
    )
    generator = np.random.default_rng([seed, neurons, slots, d])
    a, c = generator.standard_normal(neurons), generator.standard_normal(neurons)
    b = generator.standard_normal((neurons, n)) / math.sqrt(slots)
    exact = n <= EXACT_BITS
    bits = (
        (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        if exact
        else generator.integers(0, 2, (4096, n))
    )
    vertices = (2.0 * bits - 1.0) / math.sqrt(d)  # [vertices, n]
    scale = ReluNetwork(a, b, c)(vertices).std()
    varies = scale > 1e-6
    require(
        varies,
        f"the teacher of seed {seed} is constant on Boolean tokens",
        "one that varies",
        "take another seed or more neurons",
    )
    return ReluNetwork(a / scale, b, c)
