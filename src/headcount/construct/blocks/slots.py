"""One layer whose heads fill memory slots and whose FFN reads them: what fixed and essential
memories have in common.

Stream: `token` (x_t), then one slot a memory, each of the size of a token. The embedding puts x_t
into `token`, and `direct_k` x_t into slot k: lag 0 belongs to the residual stream, so what the
heads miss there is repaired exactly (errata 5). Heads read `token` alone and never see the repair.

Slots are orthogonal blocks, so an error e_k in each is sqrt(sum e_k^2) in all (errata 12), and the
answer is off by at most E_FFN + Lip(network) times that. The slots lie in balls of radius `radius`
(1 for lags, ||rho||_1 for kernels: errata 14).
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import mpmath
import numpy as np

from headcount.construct.blocks.layers import layer
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Claim
from headcount.memory.kernels import AbstractKernel
from headcount.model.attention import Attention
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Slot:
    """What one slot must hold after attention, how far off it may be, and what the residual
    gives it of x_t.
    """

    exact: Callable[[np.ndarray], np.ndarray]  # [N, d] → [N, d], slowly, from the definition
    bound: Bound
    why: str
    direct: float = 0.0


def slot_names(count: int) -> list[str]:
    """memory_1, …, memory_M."""
    return [f"memory_{k}" for k in range(1, count + 1)]


def slot_space(count: int, d: int) -> Space:
    """`token` and the slots."""
    return Space(token=d, **dict.fromkeys(slot_names(count), d))


def with_slots(
    space: Space, attend: Attention, slots: Sequence[Slot], readout: NetworkFit, radius: float
) -> tuple[Transformer, tuple[Claim, ...], Bound]:
    """The model, its claims, and the bound of its answer. `radius` bounds the norm of the
    unperturbed slots together.
    """
    names = slot_names(len(slots))
    weight = space.write("token") + sum(
        slot.direct * space.write(name) for slot, name in zip(slots, names, strict=True)
    )
    embedding = LinearEmbedding(weight=weight, offset=np.zeros(space.width), position=NoPosition())  # type: ignore[arg-type]
    model = Transformer(
        embedding,
        (layer(attend, readout.ffn(space, ("token", *names)), reads_out=True),),
        None,
        None,
    )
    claims = tuple(
        Claim(1, "attention", name, space.where(name), slot.exact, slot.bound, slot.why)
        for name, slot in zip(names, slots, strict=True)
    )
    off = together([slot.bound for slot in slots])
    return model, claims, readout.answer(off, radius + off.error)


def together(bounds: Sequence[Bound]) -> Bound:
    """Orthogonal blocks: sqrt of the sum of squares (errata 12)."""
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
    norm 1 (errata 14).
    """
    return float(np.abs(kernel.values(length)).sum()) * (1 + 1e-12)
