"""One head per memory, any lag, exact in float32: the head's logit is a peak at the lag that the
token asks for.

    z(t, s) = -p (s - lag_i)^2,   value x_{t-s}

(score `peak-tmx`, direction e_lag; W_V and W_O carry `token` to `memory_i`). Let g = lag_i, a whole
number thanks to the precision FFN, and eta = sum_{k >= 1} e^{-p k^2} <= e^{-p}/(1 - e^{-3p}), since
k^2 >= 1 + 3(k-1). All that the head sees beside lag g weighs at most 2 eta.

    none          weight 1 at lag g: l1 error <= 2 eta. If t - g is before the first token,
                  everything seen lies on one side: <= eta instead of the right 0. With p = 200,
                  e^{-p} is 1e-87: nothing in float64, and an exact 0 in float32.
    softmax-sink  sink logit -p/2, value 0. Where the token exists, its weight is 1/(1 + delta),
                  delta <= e^{-p/2} + 2 eta, and the rest weighs at most 2 eta: l1 error
                  <= e^{-p/2} + 4 eta. Where it does not, the row weighs at most
                  eta/(e^{-p/2} + eta) <= eta e^{p/2} <= e^{-p/2}/(1 - e^{-3p}). So a head may
                  look at nothing, and every position is right.
    softmax       no sink: l1 error <= 4 eta where the token exists. Where it does not, softmax
                  must look somewhere and takes the first token: so only for reads far enough
                  from the start (the last position, length > T).

Nothing cancels, so weights are 1 and rounding loses nothing: this is the bias that lin and log
heads lack (docs/numerics.md#precision). Lag 0 is a lag like any other. Layers as in Theorem 4.4;
for K = 0 there are two.
"""

import dataclasses
import math

import numpy as np

from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.retrieval import (
    AbstractRetrieval,
    Wiring,
    assemble,
    lag_networks,
    lag_refusals,
    stages,
)
from headcount.construct.blocks.slots import Ending
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.read import Everywhere
from headcount.model.attention import Attention
from headcount.model.biases import NoBias
from headcount.model.normalisers import AbstractNormaliser, NoNormaliser, Softmax, SoftmaxSink
from headcount.model.scores import PeakTMX

REF = Ref("headcount", "peak TMX: the token names the lag")
RATE = 200.0  # p: e^-p and e^{-p/2} are below the smallest float32


@methods.register(
    "peak-tmx",
    formula="memory_i = sum_s e^{-p (s - lag_i)^2} x_{t-s}, lag_i = [FFN(token, memories)]",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class PeakAtLag(AbstractMethod):
    """One peak-TMX head per memory; K-adaptive, float32-exact, any lag."""

    ref = REF
    attention = "peak-tmx"
    layers = None
    families = (AdaptiveMemory,)
    noun = "adaptive memory"
    biases = ("peak", "peak-tmx")
    normalisers = ("none", "softmax-sink", "softmax")
    reads_slots = True

    def further(self, target: AdaptiveMemory, request: Request) -> list[Refusal]:
        reasons = []
        if request.normaliser == "softmax" and reads_early(target, request.length):
            got = (
                "plain softmax must look somewhere even where the lag leads before the first token"
            )
            use = "read=last or softmax-sink"
            reasons.append(Refusal(RefusalKind.NORMALISER, got, expected=use))
        most = max(len(stage) for stage in stages(target))
        if request.heads is not None and request.heads < most:
            got = f"{request.heads} heads per layer for {most} memories in one"
            reasons.append(Refusal(RefusalKind.HEADS, got, "each needs its own"))
        return reasons + lag_refusals(target, request)

    def weights(self, target: AdaptiveMemory, request: Request) -> Draft:
        slots = len(target.lag_functions) + 1
        readout = readout_for(target.readout, slots, target.inputs, request)
        order, only = stages(target), request.normaliser == "softmax"
        told = (
            f"plain softmax: exact for reads at position {target.shortest} or later, where every"
            " lag leads to a token"
        )
        retrieval = PeakRetrieval(RATE, request.normaliser, target.inputs.bound)
        facts = {"rate": RATE, "kernel_error": retrieval.kernel_error}
        networks = lag_networks(target, request, order, log=False)
        ending = Ending(REF, (told,) if only else (), facts, target.shortest if only else 1)
        return assemble(Wiring(target, order, networks, retrieval, readout, ending))


def reads_early(target: AdaptiveMemory, length: int) -> bool:
    """Is some read so near to the start that a lag may lead before the first token?"""
    if isinstance(target.read, Everywhere):
        return True
    return int(target.read.rows(max(length, target.shortest)).min()) + 1 < target.shortest


@dataclasses.dataclass(frozen=True)
class PeakRetrieval(AbstractRetrieval):
    """One peak per memory."""

    rate: float
    normaliser: str
    size: float  # of a token

    log = False
    one = None

    @property
    def kernel_error(self) -> float:
        """The largest l1 error of the module docstring, over all positions that count."""
        eta = math.exp(-self.rate) / -math.expm1(-3 * self.rate)
        sink = math.exp(-self.rate / 2)
        return {
            "none": 2 * eta,
            "softmax": 4 * eta,
            "softmax-sink": max(sink + 4 * eta, sink / -math.expm1(-3 * self.rate)),
        }[self.normaliser]

    def attend(self, space: Space, memories: tuple[int, ...]) -> Attention:
        count = len(memories)
        heads = [Head("token", f"memory_{i}") for i in memories]
        score = PeakTMX(
            np.full(count, self.rate),  # type: ignore[arg-type]
            np.stack([space.vector(**{f"lag_{i}": 1.0}) for i in memories]),  # type: ignore[arg-type]
        )
        return attention(space, heads, score, NoBias(count), self.normaliser_of(count))

    def normaliser_of(self, count: int) -> AbstractNormaliser:
        """For so many heads; a sink loses to the lag asked for and beats all the rest."""
        if self.normaliser == "softmax-sink":
            return SoftmaxSink(np.full(count, -self.rate / 2))  # type: ignore[arg-type]
        return NoNormaliser() if self.normaliser == "none" else Softmax()

    def bound(self, memory: int) -> Bound:
        # one product and one quotient by 1
        return Bound(self.kernel_error * self.size, 4 * self.size)

    def why(self, memory: int) -> str:
        return f"one peak of rate {self.rate:g}: l1 error {self.kernel_error:.3g}"
