"""The paper's g* as it prints it (Appendix H): f(z) = sum_k relu(w_k . z), w_k ~ N(0, I).

The outer weights are 1, there are no offsets, and nothing is normalised: of three signs its
variance is about 50, of one sign it is affine, sum_k relu(w_k x) = sum_k (|w_k| + w_k x) / 2.

    >>> f = ReluSum(neurons=3, seed=1)
    >>> high, low = (float(f.reference(np.array([[0.0], [x]]))[0]) for x in (1.0, -1.0))
    >>> half = float(np.abs(f.draw(1, 1, 1).b).sum() / 2)   # the answer to 0, halfway between
    >>> abs((high + low) / 2 - half) < 1e-12
    True
"""

import dataclasses
import functools

import numpy as np

from headcount.core.refs import Ref
from headcount.core.sizes import require_memory
from headcount.memory.readouts.base import readouts
from headcount.memory.readouts.network import ReluNetwork
from headcount.memory.readouts.teacher import AbstractTeacher


@readouts.register(
    "relu-sum",
    formula="f(z) = sum_k relu(w_k . z), w_k ~ N(0, I)",
    ref=Ref("wang-e-2024", "Appendix H"),
)
@dataclasses.dataclass(frozen=True)
class ReluSum(AbstractTeacher):
    """The printed g*: a sum of random ReLU neurons of the memories."""

    neurons: int = 64
    seed: int | None = 0
    current: bool = False

    def draw(self, seed, slots, d):
        return _sum(self.neurons, seed, slots * d)


@functools.lru_cache(maxsize=256)
def _sum(neurons: int, seed: int, inputs: int) -> ReluNetwork:
    require_memory(
        8.0 * neurons * inputs, f"{neurons} neurons on {inputs} inputs", "use fewer neurons"
    )
    generator = np.random.default_rng([seed, neurons, inputs])
    return ReluNetwork(
        np.ones(neurons), generator.standard_normal((neurons, inputs)), np.zeros(neurons)
    )
