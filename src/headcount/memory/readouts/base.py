"""The interface of a readout: y = f(z), z the memory slots, each a token or a filtered token.

Slot 0 is the current token x_t; slots 1..M are the memories: x_{t-T_i} (fixed), x_{t-t_i}
(adaptive) or (X*rho_i)(t) (essential, where the paper's f sees only the memories: x_t = X*delta_0
is one more kernel, and the residual's own block: docs/errata.md#e5). Readouts leave x_t out unless
`current` is set.

Every readout knows an upper bound of its Lipschitz constant (Euclidean norm on z) and of its Barron
norm inf E|a|(||b||_1 + |c|): the constants of ||f||_Lip and of E_FFN in the theorems. They hold
where every slot has norm at most 1 (the paper's setting) unless the readout says more or less
through `holds`. The two belong to the same extension of f, since a theorem perturbs the slots by
E_Attn before it applies f.
"""

import abc
import math
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.memory.readouts.network import ReluNetwork

if TYPE_CHECKING:
    from headcount.memory.inputs import AbstractInputs

BARRON = Ref("e-ma-wu-2019", "Section 2")
PAPER_6 = Ref("wang-e-2024", "Section 6")
Weights = tuple[Any, ...]  # arrays


class AbstractReadout(abc.ABC):
    """f: R^{slots x d} → R^o. Frozen dataclasses; sizes come with the call, weights from a seed."""

    kind: ClassVar[str]

    @property
    def outputs(self) -> int:
        """Size o of the output."""
        return 1

    @abc.abstractmethod
    def __call__(self, z: jax.Array) -> jax.Array:
        """[..., slots, d] → [..., o]."""

    @abc.abstractmethod
    def reference(self, z: np.ndarray) -> np.ndarray:
        """The same for one [slots, d] in NumPy float64, from the definition."""

    @abc.abstractmethod
    def lipschitz(self, slots: int, d: int) -> float | None:
        """Upper bound of |f(z)-f(z')| / ||z-z'||_2; None where unknown."""

    @abc.abstractmethod
    def barron(self, slots: int, d: int) -> float | None:
        """Upper bound of the Barron norm on the domain; None where unknown."""

    def network(self, slots: int, d: int) -> ReluNetwork | None:
        """A two-layer network on the flattened slots that equals f, where one is known."""
        return None

    def holds(self, radius: float, alphabet: tuple[tuple[float, ...], ...] | None) -> bool:
        """Do the two bounds hold for slots of this norm (made of these letters, where the tokens
        are finitely many)?
        """
        return radius <= 1 + 1e-9

    def bounds(
        self, slots: int, inputs: "AbstractInputs", radius: float | None = None
    ) -> tuple[float | None, float | None]:
        """Lipschitz and Barron bounds on these inputs; None for what does not hold there.

        `radius` is that of filtered tokens (essential memory: max ||rho||_1 times the inputs'
        bound).
        """
        filtered = radius is not None
        if not self.holds(
            inputs.bound if radius is None else radius, None if filtered else inputs.alphabet
        ):
            return None, None
        return self.lipschitz(slots, inputs.dim), self.barron(slots, inputs.dim)

    def left_open(self, slots: int, d: int, seed: int) -> Weights:
        """What a run of this seed fills in; nothing for most readouts."""
        return ()

    def filled(self, weights: Weights) -> "AbstractReadout":
        """With what was left open."""
        return self

    def check(self, slots: int, d: int) -> None:  # noqa: B027 — most readouts fit any shape
        """Refuse shapes that do not fit."""


readouts: Registry[AbstractReadout] = Registry("readout", AbstractReadout)


def memories(z: Any, current: bool) -> Any:
    """The slots that take part: all of them, or all but x_t.  [..., slots, d] → [..., p, d]"""
    return z if current else z[..., 1:, :]


def taking_part(slots: int, current: bool) -> int:
    """How many slots take part; at least one must."""
    require(
        slots > 1 or current,
        "a readout of the memories alone with no memory",
        "at least one memory",
        "set current=true or add a lag",
    )
    return slots if current else slots - 1


def averages(z: Any) -> Any:
    """Each slot as one number (1/sqrt d) sum_j z_ij, at most its norm; for d = 1 the slot
    itself.  [..., p, d] → [..., p]
    """
    return z.sum(-1) / math.sqrt(z.shape[-1])


def on_slots(per_slot: np.ndarray, slots: int, d: int) -> np.ndarray:
    """The direction w with w . z = sum_i per_slot_i (1/sqrt d) sum_j z_ij, flattened; slots
    before the last p get 0.
    """
    full = np.zeros((slots, d))
    full[slots - len(per_slot) :] = np.asarray(per_slot)[:, None] / math.sqrt(d)
    return full.ravel()
