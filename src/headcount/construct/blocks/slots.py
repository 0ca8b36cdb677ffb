"""Memory slots, and a readout that sees them: how every model of this folder that has slots ends.

Stream: `token` (x_t), then one slot per memory, each of the size of a token. The embedding puts x_t
into `token`, and `direct_k` x_t into slot k: lag 0 belongs to the residual stream, so what the
heads miss there is repaired exactly (docs/errata.md#e5). Heads read `token` alone and never see the
repair.

Slots are orthogonal blocks, so an error e_k in each is sqrt(sum e_k^2) in all (docs/errata.md#e12),
and the answer is off by at most E_FFN + Lip(network) times that. The slots lie in balls of radius
`radius` (1 for lags, ||rho||_1 for kernels: docs/errata.md#e14).

A tolerance is split the same way: the readout's own error first, then equal parts for the slots
(`share_of_tolerance`). `finish` makes the draft, for one layer or many: the answer's bound, the
readout's notes and status enter there and nowhere else.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

from headcount.construct.blocks.layers import layer
from headcount.construct.blocks.networks import LinearReadout, NetworkFit
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Request, SlotPromise, Unreachable
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import AbstractKernel
from headcount.model.attention import Attention
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.transformer import Transformer

KERNELS_SHARE = 0.95  # of what the readout leaves of a tolerance


@dataclasses.dataclass(frozen=True)
class Slot:
    """What one slot must hold after attention, how far off it may be, and what the residual
    gives it of x_t.
    """

    exact: Callable[[np.ndarray], np.ndarray]  # [N, d] → [N, d], slowly, from the definition
    bound: Bound
    why: str
    direct: float = 0.0


@dataclasses.dataclass(frozen=True)
class Ending:
    """What a draft says beside its weights and its bound."""

    theorem: Ref
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    first: int = 1  # the first position with a promise


def slot_names(count: int) -> list[str]:
    """memory_1, …, memory_M."""
    return [f"memory_{k}" for k in range(1, count + 1)]


def slot_space(count: int, d: int, **further: int) -> Space:
    """`token` and the slots."""
    return Space(token=d, **dict.fromkeys(slot_names(count), d), **further)


def memory_count(target: FixedMemory | EssentialMemory | AdaptiveMemory) -> int:
    """M."""
    if isinstance(target, FixedMemory):
        return len(target.lags)
    return len(target.kernel if isinstance(target, EssentialMemory) else target.lag_functions)


def share_of_tolerance(
    request: Request, readout: NetworkFit | LinearReadout, size: float, memories: int
) -> float:
    """The l1 error that each memory's kernel may have, for tokens of norm up to `size`."""
    assert request.tol is not None
    if not readout.error < request.tol:
        limit = "" if request.width is None else f" with at most {request.width} neurons"
        raise Unreachable(
            f"a readout error of {readout.error:.3g}{limit}",
            f"below the tolerance {request.tol:g}",
            "allow more neurons (--width) or raise the tolerance",
        )
    steep = max(readout.lipschitz, 1e-300) * size * math.sqrt(memories)
    return KERNELS_SHARE * (request.tol - readout.error) / steep


def one_layer(
    space: Space,
    attend: Attention,
    slots: Sequence[Slot],
    readout: NetworkFit | LinearReadout,
    radius: float,
    ending: Ending,
    **constants: float,
) -> Draft:
    """Attention fills the slots, the readout sees them. `radius` bounds the norm of the
    unperturbed slots together; `constants` stand in named coordinates of the stream.
    """
    names = slot_names(len(slots))
    weight = space.write("token") + sum(
        slot.direct * space.write(name) for slot, name in zip(slots, names, strict=True)
    )
    embedding = LinearEmbedding(weight, space.vector(**constants), NoPosition())  # type: ignore[arg-type]
    only = layer(attend, readout.ffn(space, ("token", *names)), reads_out=True)
    promises = tuple(
        SlotPromise(1, "attention", name, space.where(name), slot.exact, slot.bound, slot.why)
        for name, slot in zip(names, slots, strict=True)
    )
    off = together([slot.bound for slot in slots])
    return finish(
        Transformer(embedding, (only,), None, None), promises, off, radius, readout, ending
    )


def finish(
    model: Transformer,
    promises: Sequence[SlotPromise],
    off: Bound,
    radius: float,
    readout: NetworkFit | LinearReadout,
    ending: Ending,
) -> Draft:
    """The draft of a model whose readout sees slots that are off by `off` together."""
    return Draft(
        model,
        tuple(promises),
        readout.answer(off, radius + off.error),
        ending.theorem,
        (*ending.notes, *readout.notes),
        {**ending.facts, "readout": readout.method},
        ending.first,
        readout.status,
    )


def together(bounds: Sequence[Bound]) -> Bound:
    """Orthogonal blocks: sqrt of the sum of squares (docs/errata.md#e12)."""
    return Bound(
        math.hypot(*(b.error for b in bounds)), math.hypot(*(b.amplification for b in bounds))
    )


def shifted(x: np.ndarray, lag: int) -> np.ndarray:
    """x_{t-lag}, zero before the first token.  [N, d]"""
    return np.concatenate([np.zeros((min(lag, len(x)), x.shape[1])), x[: max(len(x) - lag, 0)]])


def convolved(x: np.ndarray, kernel: AbstractKernel) -> np.ndarray:
    """(X*rho)(t) = sum_{s<t} rho(s) x_{t-s} from the definition, lag by lag.  [N, d]"""
    x = np.asarray(x, np.float64)  # a Python weight would not widen a float32 sequence
    total = np.zeros(x.shape)
    for s, weight in enumerate(_table(kernel, len(x))):
        total[s:] += weight * x[: len(x) - s]
    return total


@functools.lru_cache(maxsize=64)
def _table(kernel: AbstractKernel, length: int) -> tuple[float, ...]:
    return tuple(float(kernel.at(s, mpmath.mp)) for s in range(length))


def kernel_mass(kernel: AbstractKernel, length: int) -> float:
    """||rho||_1 over the lags of sequences up to `length`: the radius of the slot for tokens of
    norm 1 (docs/errata.md#e14).
    """
    return float(np.abs(kernel.values(length)).sum()) * (1 + 1e-12)
