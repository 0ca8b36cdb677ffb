"""Long lags by depth: a chain of short lags, one per layer, instead of weights no format holds.

A linear sum of decaying heads in one layer needs sum|a| that grows exponentially with lag T, where
lags beyond T exist too (Theorem B). A lag of 1 costs almost nothing, and
lags add up over layers: layer l moves a carrier by d_l <= `step` lags, so that after it the carrier
holds x_{t-(d_1+…+d_l)}. A memory is copied where the chain passes its lag; M memories share one
chain, whose length is the sum of ceil((T_k - T_{k-1})/step).

Stream: `token` (x_t), `carrier` (starts as x_t), `arrived` (0), `memory_1` … `memory_{M-1}`. A
layer's heads read `carrier` and write `arrived`; its FFN then moves

    carrier  += arrived - carrier,
    memory_k += arrived   where lag T_k is reached,
    arrived  -= arrived,

each by pairs relu(v) - relu(-v) = v, exact up to one rounding. The last layer's FFN reads out
(token, memories, arrived).

Error. The carrier after l layers is K_l * … * K_1 * x with kernels K_j = 1{s=d_j} + E_j,
||E_j||_1 <= e. Convolution multiplies l1 norms at most, and the product of (delta + E_j) minus the
product of deltas is at most (1 + e)^l - 1. Rounding enters in the same way: a layer in a type of
unit u computes K_j up to u A more, so (1 + e + u A)^l - (1 + e)^l, convex in u, is at most linear
in u up to the unit asked for.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np

from headcount.construct.blocks.decaying_heads import heads_for_count, heads_for_tol
from headcount.construct.blocks.drawn_heads import DECAYING, DrawnHeads, Gathering, gather
from headcount.construct.blocks.layers import Neurons, layer, relu_ffn
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.slots import (
    Ending,
    finish,
    share_of_tolerance,
    shifted,
    slot_names,
    together,
)
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Refusal, RefusalKind, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.sums_of_decays import NORMALISERS, one_position_reasons, window_of
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Lag
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.ffn import ReLU
from headcount.model.transformer import Transformer

REF = Ref("headcount", "depth in place of precision: lags add up over layers")
MOST_LAYERS = 128
MOVING = 8  # roundings of the FFN that moves the carrier, in units of its size


@methods.register(
    "composed",
    formula="carrier_l = 1{s=d_l} * carrier_{l-1}, sum of d_l = T: ceil(T/step) layers",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class LagsByDepth(AbstractMethod):
    """Many layers, dot-product-free; lin, log or log1p bias, lags of at most `step` per layer."""

    step: int = 1

    ref = REF
    cost = 5
    layers = None
    families = (FixedMemory,)
    noun = "fixed memory"
    biases = DECAYING
    normalisers = NORMALISERS
    hints = {"bias": "peak, table and rope heads reach any lag in one layer (theorem shaped)"}
    bounded_tokens = True
    reads_slots = True

    def __post_init__(self):
        require(self.step >= 1, f"step {self.step}", "at least 1", "lags per layer, 1 or 2")

    def further(self, target: FixedMemory, request: Request) -> list[Refusal]:
        reasons = one_position_reasons(target, request)
        if request.normaliser == "softmax":
            got = "plain softmax is exact at one position, and a chain passes through many"
            use = "softmax-bos or softmax-tail"
            reasons.append(Refusal(RefusalKind.NORMALISER, got, expected=use))
        count = len(moves_of(target.lags, self.step))
        if count > MOST_LAYERS:
            got = f"it would take {count} layers, more than {MOST_LAYERS}"
            reasons.append(Refusal(RefusalKind.LAYERS, got))
        return reasons

    def weights(self, target: FixedMemory, request: Request) -> Draft:
        readout = readout_for(target.readout, len(target.lags) + 1, target.inputs, request)
        moves = moves_of(target.lags, self.step)
        return assemble(target, request, moves, _heads(target, request, readout, moves), readout)


def _heads(
    target: FixedMemory, request: Request, readout: NetworkFit, moves: list[int]
) -> list[DrawnHeads]:
    """The heads of each layer. Kernels of lags below `length` stay so when convolved, so that each
    is judged on that window.
    """
    bias, precision = request.bias, request.precision
    windows = [window_of(Lag(d), request) for d in moves]
    if request.heads is not None:
        return [
            heads_for_count(Lag(d), bias, request.heads, precision, window)
            for d, window in zip(moves, windows, strict=True)
        ]
    whole = share_of_tolerance(request, readout, target.inputs.bound, len(target.lags))
    each = math.expm1(math.log1p(max(whole, 0.0)) / len(moves))  # (1 + e)^L - 1 = whole
    return [
        heads_for_tol(Lag(d), bias, each, precision, window)
        for d, window in zip(moves, windows, strict=True)
    ]


def moves_of(lags: tuple[int, ...], step: int) -> list[int]:
    """How far each layer moves: full steps, and a shorter one where a memory lies between."""
    moves = []
    for before, lag in itertools.pairwise((0, *lags)):
        full, rest = divmod(lag - before, step)
        moves += [step] * full + [rest] * (rest > 0)
    return moves


def chain_bounds(heads: list[DrawnHeads], request: Request, size: float) -> list[Bound]:
    """After each layer's attention: (1+e)^l - 1 in exact arithmetic, and the rounding that adds
    (module docstring).
    """
    unit = request.precision.unit
    exact, rounded, bounds = 1.0, 1.0, []
    for own in heads:
        one = own.bound(request.length, 1.0)
        exact, rounded = (
            exact * (1 + one.error),
            rounded * (1 + one.error + unit * (one.amplification + MOVING)),
        )
        bounds.append(Bound((exact - 1) * size, (rounded - exact) / unit * size))
    return bounds


def assemble(
    target: FixedMemory,
    request: Request,
    moves: list[int],
    heads: list[DrawnHeads],
    readout: NetworkFit,
) -> Draft:
    """The chain with its promises, layer by layer."""
    d, size = target.inputs.dim, target.inputs.bound
    taps = slot_names(len(target.lags))[:-1]
    space = Space(token=d, carrier=d, arrived=d, **dict.fromkeys(taps, d))
    places = list(itertools.accumulate(moves))
    bounds = chain_bounds(heads, request, size)
    layers, promises = [], []
    for number, (own, place, bound) in enumerate(zip(heads, places, bounds, strict=True), start=1):
        attend = gather(space, [Gathering(own, "arrived", "carrier")], request)
        last = number == len(heads)
        reached = [name for name, T in zip(taps, target.lags, strict=False) if T == place]
        ffn = readout.ffn(space, ("token", *taps, "arrived")) if last else moving(space, reached)
        layers.append(layer(attend, ffn, reads_out=last))
        why = f"l1 error {own.error:.3g} of lag {moves[number - 1]}, (1+e)^{number} - 1 so far"
        moved = Bound(bound.error, bound.amplification + MOVING * size)
        written = [] if last else [("ffn", name, moved) for name in ("carrier", *reached)]
        for part, name, allowed in [("attention", "arrived", bound), *written]:
            exact, where = functools.partial(shifted, lag=place), space.where(name)
            promises.append(SlotPromise(number, part, name, where, exact, allowed, why))
    both = space.write("token") + space.write("carrier")
    embedding = LinearEmbedding(both, np.zeros(space.width), NoPosition())  # type: ignore[arg-type]
    off = together([bounds[places.index(T)] for T in target.lags]) + Bound(0.0, MOVING * size)
    facts = {
        "layers": len(heads),
        "kernel_errors": [own.error for own in heads],
        "coefficient_sums": [own.weight for own in heads],
        "composed_errors": [bounds[places.index(T)].error for T in target.lags],
    }
    tail = request.normaliser == "softmax-tail"
    told = (f"holds for sequences up to {request.length} tokens",) if tail else ()
    model = Transformer(embedding, tuple(layers), None, None)
    radius = size * math.sqrt(len(target.lags) + 1)
    return finish(model, promises, off, radius, readout, Ending(REF, told, facts))


def moving(space: Space, reached: list[str]) -> ReLU:
    """carrier ← arrived, memory += arrived where its lag is reached, arrived ← 0."""
    pieces = []
    for i in range(space.sizes["token"]):
        pick = np.eye(space.sizes["token"])[i]
        pieces.append(
            Neurons(pair(np.concatenate([pick, -pick])), ("arrived", "carrier"), "carrier", i)
        )
        pieces.append(Neurons(pair(-pick), ("arrived",), "arrived", i))
        pieces += [Neurons(pair(pick), ("arrived",), name, i) for name in reached]
    return relu_ffn(space, pieces)


def pair(direction: np.ndarray) -> ReluNetwork:
    """v = relu(v) - relu(-v), v = direction . z."""
    return ReluNetwork(np.array([1.0, -1.0]), np.stack([direction, -direction]), np.zeros(2))
