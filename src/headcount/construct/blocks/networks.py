"""A function as neurons: f on the memory slots by two-layer networks, with an error and a Lipschitz
constant.

The answer's error is E_FFN + Lip(network) * (error of the slots): the network, not f, is what meets
the perturbed slots, so its own Lipschitz constant counts. It holds everywhere.

Where all neurons look along one direction (linear, parity, triangle wave, interpolation along a
line) the network is a piecewise linear function of one number, whose steepest piece is the
Lipschitz constant exactly; the general bound of `ReluNetwork.lipschitz` adds up neurons that are
never active together.
"""

import dataclasses

import numpy as np

from headcount.construct.blocks.layers import Neurons, relu_ffn
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.ffn import ReLU

PARALLEL = 1e-12  # relative: directions closer than this are one


@dataclasses.dataclass(frozen=True)
class NetworkFit:
    """One network per output coordinate; `error` bounds |f - network| on the unperturbed slots, as
    `method` says.

    `certified`: the error is proved for these very weights. Otherwise `notes` tells what it rests
    on.
    """

    networks: tuple[ReluNetwork, ...]
    error: float
    method: str
    certified: bool = True
    notes: tuple[str, ...] = ()

    @property
    def lipschitz(self) -> float:
        """Of the vector of outputs, Euclidean norm in, largest output out."""
        return max(lipschitz_of(net) for net in self.networks)

    @property
    def neurons(self) -> int:
        return sum(net.neurons for net in self.networks)

    def answer(self, slots: Bound, radius: float) -> Bound:
        """The answer's error for slots with this error and size: E_FFN + Lip * E_slots, and the
        neurons' own rounding.
        """
        size = max(
            float(np.abs(n.a) @ (np.linalg.norm(n.b, axis=1) * radius + np.abs(n.c)))
            * (n.b.shape[1] + n.neurons + 8)
            for n in self.networks
        )
        return Bound(self.error) + slots.through(self.lipschitz, size)

    def ffn(self, space: Space, reads: tuple[str, ...]) -> ReLU:
        """The readout layer's FFN."""
        answer = Space(answer=len(self.networks))
        return relu_ffn(
            space, [Neurons(net, reads, "answer", o) for o, net in enumerate(self.networks)], answer
        )


@dataclasses.dataclass(frozen=True)
class Ridge:
    """A network of one direction: piecewise linear in u = direction . z, ||direction|| = 1."""

    direction: np.ndarray  # [n]
    knots: np.ndarray  # [k], increasing
    slopes: np.ndarray  # [k + 1]: before the first knot, between, after the last


def ridge_of(net: ReluNetwork) -> Ridge | None:
    """The network as a function of one number; None where its neurons look in several
    directions.
    """
    sizes = np.linalg.norm(net.b, axis=1)
    bent = (sizes > 0) & (net.a != 0)  # a neuron without direction is a constant
    if not bent.any():
        return Ridge(np.eye(net.b.shape[1])[0], np.empty(0), np.zeros(1))
    direction = net.b[np.flatnonzero(bent)[0]] / sizes[np.flatnonzero(bent)[0]]
    along = net.b[bent] @ direction  # [k], plus or minus the size
    if np.any(
        np.linalg.norm(net.b[bent] - along[:, None] * direction, axis=1) > PARALLEL * sizes[bent]
    ):
        return None
    knots, weight = -net.c[bent] / along, net.a[bent] * along
    order = np.argsort(knots, kind="stable")
    # A neuron that looks forward turns its slope on at its knot, one that looks back turns it off.
    changes = np.where(along > 0, weight, -weight)[order]
    start = weight[along < 0].sum()
    return Ridge(direction, knots[order], start + np.concatenate([[0.0], np.cumsum(changes)]))


def lipschitz_of(net: ReluNetwork) -> float:
    """An upper bound of the Lipschitz constant everywhere; exact for a function of one number."""
    ridge = ridge_of(net)
    if ridge is None:
        return net.lipschitz
    distinct = (
        np.concatenate([[True], np.diff(ridge.knots) > 0, [True]])
        if len(ridge.knots)
        else np.array([True])
    )
    return min(net.lipschitz, float(np.abs(ridge.slopes[distinct]).max()) * (1 + 1e-12))


def difference(first: ReluNetwork, second: ReluNetwork) -> ReluNetwork:
    """first - second as one network."""
    return ReluNetwork(
        np.concatenate([first.a, -second.a]),
        np.concatenate([first.b, second.b]),
        np.concatenate([first.c, second.c]),
    )
