"""Layers that find tokens at lags which other tokens ask for: the frame of Theorems 4.1 and 4.4 and
of what goes beyond them.

Stream: `token` (x_t), `memory_1` … `memory_M` (what was found), `lag_1` … `lag_M` (how far back to
look), `one` (a constant).

    layer 1    attention idle (docs/errata.md#e3);
               FFN writes the lags of the first stage from `token`
    layer j+1  attention finds the tokens of stage j;
               FFN writes the lags of stage j+1 from `token` and the memories so far
    last       attention finds the last stage;
               FFN reads out f(token, memory_1, …, memory_M)

A stage is what one layer finds: for H^Adap(K, M) the memories 1, 2, …, K one by one and the rest
together, r = K + 1{M > K} stages and r + 1 layers (docs/errata.md#e7). How a lag becomes attention
weights is the `AbstractRetrieval`'s business: a sum of lin or log heads moved by a dot product
(4.1), the same moved by TMX (4.3), or one peak.

Why errors do not add up along the chain: lags are whole numbers, rounding makes them exact while E
is small (`LagNetwork`), so memory i is off by its own kernel's error alone, whatever came before;
blocks are orthogonal, E_Attn = sqrt(sum e_i^2) (docs/errata.md#e12).

Lag functions as networks, and the condition under which rounding makes their lags exact
(docs/errata.md#e8, #e9, #e10).

Layer l writes g_i of the tokens it has found, or log g_i for log heads, through the precision FFN:
[z] = floor(z + 1/2) or log[e^z]. The network equals g_i on all letters (the zero of a missing token
included); the tokens found are off by E. Rounding returns the exact lag as long as

    lin   network error + Lip * E  <  1/2                (to the nearest whole number)
    log   network error + Lip * E  <  log(1 + 1/(2T))    (e^z must stay within 1/2 of g <= T)

This is measured and checked for every lag function of a build, not assumed: a build that breaks it
is refused with the numbers. Lip is the network's own constant, which holds beyond the letters too.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from headcount.construct.blocks.layers import (
    Neurons,
    constant,
    idle,
    layer,
    real_embedding,
    relu_ffn,
)
from headcount.construct.blocks.networks import NetworkFit, lipschitz_of
from headcount.construct.blocks.readout_networks import lag_network
from headcount.construct.blocks.slots import Ending, finish, slot_names, slot_space, together
from headcount.construct.blocks.space import Space
from headcount.construct.draft import (
    Bound,
    Draft,
    Refusal,
    RefusalKind,
    Request,
    SlotPromise,
    Unreachable,
)
from headcount.core.claims import Precision
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.lag_functions import combinations
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.attention import Attention
from headcount.model.ffn import AbstractFFN, Rounding
from headcount.model.ffn import Precision as PrecisionFFN
from headcount.model.transformer import Layer, Transformer

OPERATIONS = 8  # roundings per neuron, generously

Stages = tuple[tuple[int, ...], ...]  # memories, counted from 1, layer by layer


@dataclasses.dataclass(frozen=True)
class LagNetwork:
    """g_i (or log g_i) on `arguments` tokens: a network off by at most `error` on the letters."""

    index: int  # i, from 1
    arguments: int
    largest: int  # T_i
    network: ReluNetwork
    error: float
    log: bool

    @property
    def tolerance(self) -> float:
        """What rounding can mend."""
        return math.log1p(1 / (2 * self.largest)) if self.log else 0.5

    @functools.cached_property
    def lipschitz(self) -> float:
        return lipschitz_of(self.network)

    def found(self, tokens: Bound, radius: float) -> Bound:
        """How far the network may be off before rounding, for tokens that are off so much."""
        net = self.network
        size = float(np.abs(net.a) @ (np.linalg.norm(net.b, axis=1) * radius + np.abs(net.c))) * (
            net.b.shape[1] + net.neurons + OPERATIONS
        )
        return Bound(self.error) + tokens.through(self.lipschitz, size)

    def require_exact(self, tokens: Bound, radius: float) -> Bound:
        """The condition of the module docstring, or `Unreachable` with its numbers."""
        off = self.found(tokens, radius)
        if not off.at(Precision.FLOAT64) < self.tolerance:
            scale = "log(1 + 1/(2T))" if self.log else "1/2"
            raise Unreachable(
                f"lag function g_{self.index}: network error {self.error:.3g} + Lip"
                f" {self.lipschitz:.3g} x token error {tokens.error:.3g} = {off.error:.3g}",
                f"below {self.tolerance:.3g} ({scale}), so that rounding gives the exact lag",
                "ask for a smaller tolerance or more heads: the tokens found first must be more"
                " exact",
            )
        return off


def lag_refusals(target: AdaptiveMemory, request: Request) -> list[Refusal]:
    """Why the lags cannot be computed exactly, or not be seen by the heads."""
    if target.inputs.alphabet is None:
        why = (
            "a whole-valued continuous lag function is constant on connected sets"
            " (docs/errata.md#e8)"
        )
        got = f"inputs {target.inputs.kind} are not from a finite alphabet"
        return [Refusal(RefusalKind.TOKENS, got, why)]
    reasons = []
    for i, (g, n) in enumerate(zip(target.lag_functions, target.arguments, strict=True), start=1):
        points = combinations(target.inputs.alphabet, n)
        if points is None:
            got = f"g_{i} has too many combinations of letters for an exact network"
            reasons.append(Refusal(RefusalKind.LAGS, got))
        elif request.bias == "log" and min(g.reference(tokens) for tokens in points) < 1:
            got = f"g_{i} can ask for lag 0, which log heads never see (log 0)"
            reasons.append(Refusal(RefusalKind.LAGS, got, expected="lin or peak"))
    return reasons


def lag_networks(
    target: AdaptiveMemory, request: Request, stages: tuple[tuple[int, ...], ...], log: bool
) -> list[LagNetwork]:
    """A network for every lag function, exact unless the width (of the layer that holds a
    stage's functions and the constant) forbids it.
    """
    assert target.inputs.alphabet is not None  # else `lag_refusals` spoke
    together = {i: len(stage) for stage in stages for i in stage}
    made = []
    for i, (g, n) in enumerate(zip(target.lag_functions, target.arguments, strict=True), start=1):
        width = None if request.width is None else max((request.width - 1) // together[i], 1)
        fit = lag_network(g, n, target.inputs.alphabet, width, log)
        points = combinations(target.inputs.alphabet, n)
        assert fit is not None
        assert points is not None
        lags = np.array([g.reference(tokens) for tokens in points], dtype=np.float64)
        off = np.abs(
            fit.networks[0](points.reshape(len(points), -1)) - (np.log(lags) if log else lags)
        )
        # x_t itself is never missing
        present = np.array([tuple(tokens[0]) in target.inputs.alphabet for tokens in points])
        made.append(
            LagNetwork(i, n, int(lags[present].max()), fit.networks[0], float(off.max()), log)
        )
    return made


class AbstractRetrieval(abc.ABC):
    """How `lag_i` becomes attention. `log` says that it holds log g_i, `one` what the constant
    holds (None: there is none).
    """

    log: bool
    one: float | None

    @abc.abstractmethod
    def attend(self, space: Space, memories: tuple[int, ...]) -> Attention:
        """Heads that add x_{t - lag_i} to `memory_i` for these memories."""

    @abc.abstractmethod
    def bound(self, memory: int) -> Bound:
        """How far `memory_i` may be off where `lag_i` is exact."""

    @abc.abstractmethod
    def why(self, memory: int) -> str:
        """The lemma, in words."""


def stages(target: AdaptiveMemory) -> Stages:
    """Theorem 4.4: the first K one by one, the others together."""
    K, M = target.nesting, len(target.lag_functions)
    single = tuple((i,) for i in range(1, K + 1))
    return (*single, tuple(range(K + 1, M + 1))) if M > K else single


def one_by_one(target: AdaptiveMemory) -> Stages:
    """Proposition 4.5: a layer for every memory."""
    return tuple((i,) for i in range(1, len(target.lag_functions) + 1))


@dataclasses.dataclass(frozen=True)
class Wiring:
    """Everything `assemble` needs."""

    target: AdaptiveMemory
    stages: Stages
    networks: list[LagNetwork]
    retrieval: AbstractRetrieval
    readout: NetworkFit
    ending: Ending

    @property
    def memories(self) -> list[str]:
        return slot_names(len(self.networks))

    @property
    def space(self) -> Space:
        lags = dict.fromkeys((f"lag_{i}" for i in range(1, len(self.networks) + 1)), 1)
        last = {} if self.retrieval.one is None else {"one": 1}
        return slot_space(len(self.networks), self.target.inputs.dim, **lags, **last)


def assemble(wiring: Wiring) -> Draft:
    """The layers, with a promise for every subspace written; the rounding conditions are checked
    on the way.
    """
    space, retrieval = wiring.space, wiring.retrieval
    bounds = [retrieval.bound(i) for i in range(1, len(wiring.networks) + 1)]
    margins = [_rounding(wiring, net, bounds) for net in wiring.networks]
    layers: list[Layer] = [layer(idle(space), _lags(wiring, space, wiring.stages[0], first=True))]
    for stage, following in zip(wiring.stages, (*wiring.stages[1:], None), strict=True):
        attend = retrieval.attend(space, stage)
        ffn = (
            wiring.readout.ffn(space, ("token", *wiring.memories))
            if following is None
            else _lags(wiring, space, following)
        )
        layers.append(layer(attend, ffn, reads_out=following is None))
    model = Transformer(real_embedding(space), tuple(layers), None, None)
    radius = wiring.target.inputs.bound * math.sqrt(len(bounds) + 1)
    rounding = [
        {"lag_function": n.index, "off": m.error, "allowed": n.tolerance, "lipschitz": n.lipschitz}
        for n, m in zip(wiring.networks, margins, strict=True)
    ]
    ending = dataclasses.replace(wiring.ending, facts={"rounding": rounding, **wiring.ending.facts})
    promises = _promises(wiring, space, bounds)
    return finish(model, promises, together(bounds), radius, wiring.readout, ending)


def _rounding(wiring: Wiring, net: LagNetwork, bounds: list[Bound]) -> Bound:
    """The condition for one lag function: x_t is exact, the first memories have their errors."""
    tokens = together(bounds[: net.arguments - 1])
    return net.require_exact(
        tokens, wiring.target.inputs.bound * math.sqrt(net.arguments) + tokens.error
    )


def _lags(wiring: Wiring, space: Space, stage: tuple[int, ...], first: bool = False) -> AbstractFFN:
    """FFN~: the lags of a stage from the tokens that they depend on; the first one writes the
    constant too.
    """
    pieces = []
    for i in stage:
        net = wiring.networks[i - 1]
        pieces.append(
            Neurons(net.network, ("token", *wiring.memories[: net.arguments - 1]), f"lag_{i}")
        )
    if first and wiring.retrieval.one is not None:
        pieces.append(constant(wiring.retrieval.one, "one", "one"))
    return PrecisionFFN(
        relu_ffn(space, pieces), Rounding.LOG if wiring.retrieval.log else Rounding.LIN
    )


def _promises(wiring: Wiring, space: Space, bounds: list[Bound]) -> list[SlotPromise]:
    found, one, made = by_definition(wiring.target), wiring.retrieval.one, []

    def promise(number: int, part: str, name: str, exact: Exact, bound: Bound, why: str) -> None:
        made.append(SlotPromise(number, part, name, space.where(name), exact, bound, why))

    for number, stage in enumerate(wiring.stages, start=1):
        for i in stage:
            net = wiring.networks[i - 1]
            # a whole number is exact, its logarithm rounded
            bound = Bound(0.0, 16 * (math.log(net.largest) if net.log else 0.0))
            kind = f"{'log of ' if net.log else ''}whole numbers"
            rounds = f"{net.network.neurons} neurons, then rounding to {kind}"
            promise(number, "ffn", f"lag_{i}", _lag(found, i, net.log), bound, rounds)
    if one is not None:
        constant_one = functools.partial(_constant_rows, value=one)
        promise(1, "ffn", "one", constant_one, Bound(0.0, 16.0), "one neuron")
    for number, stage in enumerate(wiring.stages, start=2):
        for i in stage:
            exact, why = memory_of(found, i), wiring.retrieval.why(i)
            promise(number, "attention", f"memory_{i}", exact, bounds[i - 1], why)
    return made


Exact = Callable[[np.ndarray], np.ndarray]
Found = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _constant_rows(x: np.ndarray, value: float) -> np.ndarray:
    return np.full((len(x), 1), value)


def _lag(found: Found, i: int, log: bool) -> Exact:
    def exact(x: np.ndarray) -> np.ndarray:
        lags = found(x)[0][:, i - 1 : i]
        return np.log(lags) if log else lags

    return exact


def memory_of(found: Found, i: int) -> Exact:
    """x_{t-t_i} at every position."""
    return lambda x: found(x)[1][:, i]


def by_definition(target: AdaptiveMemory) -> Found:
    """Sequence → lags [N, M] and slots [N, M+1, d], step by step from eq. (8), in plain NumPy;
    remembered, since every claim asks.
    """

    @functools.lru_cache(maxsize=64)
    def walk(data: bytes, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        x = np.frombuffer(data).reshape(shape)
        lags = np.zeros((len(x), len(target.lag_functions)))
        slots = np.zeros((len(x), len(target.lag_functions) + 1, shape[1]))
        for t in range(len(x)):
            slots[t, 0] = x[t]
            for i, (g, arguments) in enumerate(
                zip(target.lag_functions, target.arguments, strict=True)
            ):
                lag = g.reference(slots[t, :arguments])
                lags[t, i] = lag
                if lag <= t:
                    slots[t, i + 1] = x[t - lag]
        return lags, slots

    return lambda x: walk(np.ascontiguousarray(x, dtype=np.float64).tobytes(), x.shape)
