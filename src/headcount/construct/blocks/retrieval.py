"""Layers that find tokens at lags which other tokens ask for: the frame of Theorems 4.1 and 4.4 and
of what goes beyond them.

Stream: `token` (x_t), `memory_1` … `memory_M` (what was found), `lag_1` … `lag_M` (how far back to
look), `one` (a constant).

    layer 1    attention idle (errata 3); FFN writes the lags of the first stage from `token`
    layer j+1  attention finds the tokens of stage j; FFN writes the lags of stage j+1 from `token`
      and the memories so far
    last       attention finds the last stage; FFN reads out f(token, memory_1, …, memory_M)

A stage is what one layer finds: for H^Adap(K, M) the memories 1, 2, …, K one by one and the rest
together, r = K + 1{M > K} stages and r + 1 layers (errata 7). How a lag becomes attention weights
is the `AbstractRetrieval`'s business: a sum of lin or log heads moved by a dot product (4.1), the
same moved by TMX (4.3), or one peak.

Why errors do not add up along the chain: lags are whole numbers, rounding makes them exact while E
is small (`lag_networks`), so memory i is off by its own kernel's error alone, whatever came before;
blocks are orthogonal, E_Attn = sqrt(sum e_i^2) (errata 12).
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headcount.construct.blocks.lag_networks import LagNetwork
from headcount.construct.blocks.layers import (
    Neurons,
    constant,
    idle,
    layer,
    real_embedding,
    relu_ffn,
)
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.space import Space
from headcount.construct.draft import AbstractConstruction, Bound, Claim, Draft, Request
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget
from headcount.model.attention import Attention
from headcount.model.ffn import AbstractFFN, Rounding
from headcount.model.ffn import Precision as PrecisionFFN
from headcount.model.transformer import Layer, Transformer

Stages = tuple[tuple[int, ...], ...]  # memories, counted from 1, layer by layer


class AbstractAdaptive(AbstractConstruction):
    """A construction for adaptive memories, by whatever name they are asked for."""

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        return (
            self._refusals(found, request)
            if isinstance(found, AdaptiveMemory)
            else [f"{target.kind} is no adaptive memory"]
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        found = unnamed(target)
        assert isinstance(found, AdaptiveMemory)
        return self._draft(found, request)

    @abc.abstractmethod
    def _refusals(self, target: AdaptiveMemory, request: Request) -> list[str]:
        """Every reason why it cannot serve this adaptive memory."""

    @abc.abstractmethod
    def _draft(self, target: AdaptiveMemory, request: Request) -> Draft:
        """The weights and the claims; `_refusals` was empty."""


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
    request: Request
    stages: Stages
    networks: list[LagNetwork]
    retrieval: AbstractRetrieval
    readout: NetworkFit
    theorem: Ref
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    only_longest: bool = False

    @property
    def memories(self) -> list[str]:
        return [f"memory_{i}" for i in range(1, len(self.networks) + 1)]

    @property
    def space(self) -> Space:
        d, lags = self.target.inputs.dim, [f"lag_{i}" for i in range(1, len(self.networks) + 1)]
        last = {} if self.retrieval.one is None else {"one": 1}
        return Space(token=d, **dict.fromkeys(self.memories, d), **dict.fromkeys(lags, 1), **last)


def assemble(wiring: Wiring) -> Draft:
    """The layers, with a claim for every subspace written; the rounding conditions are checked
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
    slots = Bound(
        math.hypot(*(b.error for b in bounds)), math.hypot(*(b.amplification for b in bounds))
    )
    radius = wiring.target.inputs.bound * math.sqrt(len(bounds) + 1) + slots.error
    rounding = [
        {"lag_function": n.index, "off": m.error, "allowed": n.tolerance, "lipschitz": n.lipschitz}
        for n, m in zip(wiring.networks, margins, strict=True)
    ]
    facts = {"rounding": rounding, "readout": wiring.readout.method, **wiring.facts}
    return Draft(
        model,
        _claims(wiring, space, bounds),
        wiring.readout.answer(slots, radius),
        wiring.theorem,
        wiring.notes,
        facts,
        wiring.only_longest,
    )


def _rounding(wiring: Wiring, net: LagNetwork, bounds: list[Bound]) -> Bound:
    """The condition for one lag function: it sees x_t exactly and the first memories with their
    errors.
    """
    seen = bounds[: net.arguments - 1]
    tokens = Bound(
        math.hypot(*(b.error for b in seen)), math.hypot(*(b.amplification for b in seen))
    )
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


def _claims(wiring: Wiring, space: Space, bounds: list[Bound]) -> tuple[Claim, ...]:
    found = by_definition(wiring.target)
    claims = []
    for number, stage in enumerate(wiring.stages, start=1):
        for i in stage:
            net, name = wiring.networks[i - 1], f"lag_{i}"
            # a whole number is exact, its logarithm rounded
            exact = Bound(0.0, 16 * (math.log(net.largest) if net.log else 0.0))
            rounds = (
                f"{net.network.neurons} neurons, then rounding to"
                f" {'log of ' if net.log else ''}whole numbers"
            )
            claims.append(
                Claim(
                    number, "ffn", name, space.where(name), _lag(found, i, net.log), exact, rounds
                )
            )
    if wiring.retrieval.one is not None:
        one = wiring.retrieval.one
        claims.append(
            Claim(
                1,
                "ffn",
                "one",
                space.where("one"),
                lambda x: np.full((len(x), 1), one),
                Bound(0.0, 16.0),
                "one neuron",
            )
        )
    for number, stage in enumerate(wiring.stages, start=2):
        for i in stage:
            name = f"memory_{i}"
            claims.append(
                Claim(
                    number,
                    "attention",
                    name,
                    space.where(name),
                    memory_of(found, i),
                    bounds[i - 1],
                    wiring.retrieval.why(i),
                )
            )
    return tuple(claims)


Found = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _lag(found: Found, i: int, log: bool) -> Callable[[np.ndarray], np.ndarray]:
    def exact(x: np.ndarray) -> np.ndarray:
        lags = found(x)[0][:, i - 1 : i]
        return np.log(lags) if log else lags

    return exact


def memory_of(found: Found, i: int) -> Callable[[np.ndarray], np.ndarray]:
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
