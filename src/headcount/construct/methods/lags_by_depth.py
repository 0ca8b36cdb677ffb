"""Long lags by depth: a chain of short lags, one a layer, in place of weights that no format holds.

One layer needs sum|a| of about 5.8^T for lag T (Theorem B). A lag of 1 costs almost nothing, and
lags add up over layers: layer l moves a carrier by d_l <= `step` lags, so that after it the carrier
holds x_{t-(d_1+…+d_l)}. A memory is copied where the chain passes its lag; M memories share one
chain, whose length is the sum of ceil((T_k - T_{k-1})/step).

Stream: `token` (x_t), `carrier` (starts as x_t), `arrived` (0), `memory_1` … `memory_{M-1}`. A
layer's heads read `carrier` and write `arrived`; its FFN then moves  carrier += arrived - carrier,
memory_k += arrived  where lag T_k is reached, and  arrived -= arrived,  each by pairs relu(v) -
relu(-v) = v, exact up to one rounding. The last layer's FFN reads out (token, memories, arrived).

Error. The carrier after l layers is K_l * … * K_1 * x with kernels K_j = 1{s=d_j} + E_j, ||E_j||_1
<= e. Convolution multiplies l1 norms at most, and the product of (delta + E_j) minus the product of
deltas is at most (1 + e)^l - 1. Rounding enters in the same way: a layer in a type of unit u
computes K_j up to u A more, so (1 + e + u A)^l - (1 + e)^l, convex in u, is at most linear in u up
to the unit asked for.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np

from headcount.construct.blocks.decaying_heads import (
    DECAYING,
    KernelHeads,
    heads_for_count,
    heads_for_tol,
)
from headcount.construct.blocks.layers import Neurons, layer, relu_ffn
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.normalised import Gathering, gather, normaliser_refusals
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.blocks.slots import shifted, slot_names, together
from headcount.construct.blocks.space import Space
from headcount.construct.draft import (
    AbstractConstruction,
    Bound,
    Claim,
    Draft,
    Request,
    constructions,
)
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Lag
from headcount.memory.named import unnamed
from headcount.memory.readouts.network import ReluNetwork
from headcount.memory.target import AbstractTarget
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.ffn import ReLU
from headcount.model.transformer import Transformer

REF = Ref("headcount", "depth in place of precision: lags add up over layers")
MOST_LAYERS = 128
MOVING = 8  # roundings of the FFN that moves the carrier, in units of its size


@constructions.register(
    "composed",
    formula="carrier_l = 1{s=d_l} * carrier_{l-1}, sum of d_l = T: ceil(T/step) layers",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Composed(AbstractConstruction):
    """Many layers, dot-product-free; lin, log or log1p bias, lags of at most `step` a layer."""

    step: int = 1
    ref = REF
    cost = 5

    def __post_init__(self):
        require(self.step >= 1, f"step {self.step}", "at least 1", "lags a layer, 1 or 2")

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        if not isinstance(found, FixedMemory):
            return [f"{target.kind} is no fixed memory"]
        reasons = (
            []
            if request.bias in DECAYING
            else [
                f"bias {request.bias} is not one of {', '.join(DECAYING)} (others reach any lag in"
                " one layer)"
            ]
        )
        if request.normaliser == "softmax":
            reasons.append(
                "plain softmax is exact at one position alone, and a chain passes through many; use"
                " softmax-bos or softmax-tail"
            )
        count = len(moves_of(found.lags, self.step))
        if count > MOST_LAYERS:
            reasons.append(f"it would take {count} layers, more than {MOST_LAYERS}")
        if not math.isfinite(found.inputs.bound):
            reasons.append(
                f"{found.inputs.kind} tokens are unbounded, so that no kernel error bounds the"
                " answer's"
            )
        return (
            reasons
            + normaliser_refusals(target, request)
            + readout_refusals(found.readout, len(found.lags) + 1, found.inputs)
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        found = unnamed(target)
        assert isinstance(found, FixedMemory)
        readout = readout_for(found.readout, len(found.lags) + 1, found.inputs, request)
        moves = moves_of(found.lags, self.step)
        return assemble(found, request, self._heads(found, request, readout, moves), readout)

    @staticmethod
    def _heads(
        found: FixedMemory, request: Request, readout: NetworkFit, moves: list[int]
    ) -> list[KernelHeads]:
        if request.heads is not None:
            return [
                heads_for_count(Lag(d), request.bias, request.heads, request.precision)
                for d in moves
            ]
        assert request.tol is not None
        whole = (
            0.95
            * (request.tol - readout.error)
            / (max(readout.lipschitz, 1e-300) * found.inputs.bound * math.sqrt(len(found.lags)))
        )
        each = math.expm1(math.log1p(max(whole, 0.0)) / len(moves))  # (1 + e)^L - 1 = whole
        return [heads_for_tol(Lag(d), request.bias, each, request.precision) for d in moves]


def moves_of(lags: tuple[int, ...], step: int) -> list[int]:
    """How far each layer moves: full steps, and a shorter one where a memory lies between."""
    moves = []
    for before, lag in itertools.pairwise((0, *lags)):
        full, rest = divmod(lag - before, step)
        moves += [step] * full + [rest] * (rest > 0)
    return moves


def chain_bounds(heads: list[KernelHeads], request: Request, size: float) -> list[Bound]:
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
    found: FixedMemory, request: Request, heads: list[KernelHeads], readout: NetworkFit
) -> Draft:
    """The chain with its claims, layer by layer."""
    d, size = found.inputs.dim, found.inputs.bound
    taps = slot_names(len(found.lags))[:-1]
    space = Space(token=d, carrier=d, arrived=d, **dict.fromkeys(taps, d))
    places = list(itertools.accumulate(own.kernel.T for own in heads))  # type: ignore[attr-defined]
    bounds = chain_bounds(heads, request, size)
    layers, claims = [], []
    for number, (own, place, bound) in enumerate(zip(heads, places, bounds, strict=True), start=1):
        attend = gather(space, [Gathering(own, "arrived", "carrier")], request)
        last = number == len(heads)
        reached = [name for name, T in zip(taps, found.lags, strict=False) if T == place]
        ffn = readout.ffn(space, ("token", *taps, "arrived")) if last else moving(space, reached)
        layers.append(layer(attend, ffn, reads_out=last))
        why = f"l1 error {own.error:.3g} of lag {own.kernel.T}, (1+e)^{number} - 1 so far"  # type: ignore[attr-defined]
        claims.append(
            Claim(
                number,
                "attention",
                "arrived",
                space.where("arrived"),
                functools.partial(shifted, lag=place),
                bound,
                why,
            )
        )
        moved = Bound(bound.error, bound.amplification + MOVING * size)
        for name in [] if last else ["carrier", *reached]:
            claims.append(
                Claim(
                    number,
                    "ffn",
                    name,
                    space.where(name),
                    functools.partial(shifted, lag=place),
                    moved,
                    why,
                )
            )
    embedding = LinearEmbedding(
        weight=space.write("token") + space.write("carrier"),
        offset=np.zeros(space.width),
        position=NoPosition(),
    )  # type: ignore[arg-type]
    off = together([bounds[places.index(T)] for T in found.lags]) + Bound(0.0, MOVING * size)
    output = readout.answer(off, size * math.sqrt(len(found.lags) + 1) + off.error)
    facts = {
        "layers": len(heads),
        "kernel_errors": [own.error for own in heads],
        "coefficient_sums": [float(np.abs(own.coefficients).sum()) for own in heads],
        "composed_errors": [bounds[places.index(T)].error for T in found.lags],
        "readout": readout.method,
    }
    told = (
        (f"holds for sequences up to {request.length} tokens",)
        if request.normaliser == "softmax-tail"
        else ()
    )
    return Draft(
        Transformer(embedding, tuple(layers), None, None),
        tuple(claims),
        output,
        REF,
        told + readout.notes,
        facts,
    )


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
