"""A function as neurons: f on the memory slots by two-layer networks, with an error over a whole
domain and a Lipschitz constant.

The answer's error is E_FFN + Lip(network) * (error of the slots): the network, not f, is what meets
the perturbed slots, so its own Lipschitz constant counts. It holds everywhere.

Where all neurons look along one direction (linear, parity, triangle wave, interpolation along a
line) the network is a piecewise linear function of one number, whose steepest piece is the
Lipschitz constant exactly; the general bound of `ReluNetwork.lipschitz` adds up neurons that are
never active together.

How far a network is from a function, certified where that is feasible. The domain is a finite set
of points (all combinations of letters, the zero vector of a missing token included), or all stacks
of slots of norm up to R each. Then |error| is largest

- on a finite set: at one of its points, all of which are evaluated;
- for two networks that look along one direction: at a knot or at an end of the interval (piecewise
  linear);
- for functions of up to three numbers (the span of all directions): between the largest |error| on
  a grid, and that plus the local Lipschitz constant times the distance to the nearest grid point.
  Cells that cannot hold the maximum are dropped, the others split.
"""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from headcount.construct.blocks.layers import Neurons, linear_readout, relu_ffn
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound
from headcount.core.claims import Status
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.ffn import NoFFN, ReLU

PARALLEL = 1e-12  # relative: directions closer than this are one
MOST_CELLS = 200_000
GAP = 0.03  # relative distance of upper and lower bound at which splitting stops
GRID_DIMENSIONS = 3

Function = Callable[[np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class NetworkFit:
    """One network per output coordinate; `error` bounds |f - network| on the unperturbed slots, as
    `method` says.

    Status PROVED: for these very weights. MEASURED: `notes` tells what the error rests on.
    """

    networks: tuple[ReluNetwork, ...]
    error: float
    method: str
    status: Status = Status.PROVED
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


@dataclasses.dataclass(frozen=True, eq=False)
class LinearReadout:
    """The answer as a linear map of (token, memories), without neurons; x_t itself is exact."""

    matrix: np.ndarray  # [1, slots d]
    d: int
    size: float  # of a token

    error = 0.0
    method = "linear, no neurons"
    status = Status.PROVED
    notes: tuple[str, ...] = ()

    @property
    def lipschitz(self) -> float:
        """In the memories."""
        return float(np.linalg.norm(self.matrix[0, self.d :]))

    def answer(self, slots: Bound, radius: float) -> Bound:
        """As for a network; `radius` does not matter."""
        rounding = 8 * self.matrix.size * float(np.abs(self.matrix).sum()) * self.size
        return slots.through(self.lipschitz, rounding)

    def ffn(self, space: Space, reads: tuple[str, ...]) -> NoFFN:
        """No neurons."""
        return linear_readout(space, self.matrix, reads)


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


@dataclasses.dataclass(frozen=True)
class Domain:
    """Where the network must be right: `points`, or `slots` vectors of size d and norm up to
    `radius` each.
    """

    slots: int
    d: int
    radius: float
    points: np.ndarray | None = None  # [N, slots d]

    @property
    def finite(self) -> bool:
        return self.points is not None

    @property
    def reach(self) -> float:
        """The largest coordinate, at least 1: R of the sampling bounds (docs/errata.md#e24)."""
        return max(1.0, self.radius)

    @property
    def whole_radius(self) -> float:
        """Of the stack of slots."""
        return self.radius * float(np.sqrt(self.slots))

    def dense(self, count: int, seed: int = 0) -> np.ndarray:
        """All points of a finite domain; else random stacks, half of them with every slot at the
        boundary.  [N, slots d]
        """
        if self.points is not None:
            return self.points
        generator = np.random.default_rng(seed)
        z = generator.standard_normal((count, self.slots, self.d))
        z /= np.linalg.norm(z, axis=2, keepdims=True)
        z[count // 2 :] *= generator.uniform(0, 1, (count - count // 2, self.slots, 1)) ** (
            1 / self.d
        )
        return (self.radius * z).reshape(count, -1)

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Every slot moved to the nearest point of its ball: a projection, so Lipschitz
        constants carry over.  [N, slots d]
        """
        z = points.reshape(-1, self.slots, self.d)
        sizes = np.linalg.norm(z, axis=2, keepdims=True)
        return (z * np.minimum(1.0, self.radius / np.maximum(sizes, 1e-300))).reshape(points.shape)


def sup_of(net: ReluNetwork, domain: Domain) -> float | None:
    """An upper bound of |net| on the domain; None where the domain is too large to search."""
    if domain.points is not None:
        return float(np.abs(net(domain.points)).max(initial=0.0))
    ridge = ridge_of(net)
    if ridge is not None:
        reach = domain.radius * float(
            np.linalg.norm(ridge.direction.reshape(domain.slots, domain.d), axis=1).sum()
        )
        u = np.concatenate([ridge.knots[np.abs(ridge.knots) < reach], [-reach, reach]])
        return float(np.abs(net(u[:, None] * ridge.direction)).max())
    basis = span(net.b)
    if len(basis) > GRID_DIMENSIONS:
        return None
    small = ReluNetwork(net.a, net.b @ basis.T, net.c)
    return grid_sup(
        small, lambda u, reach: local_lipschitz(small, u, reach), len(basis), domain.whole_radius
    )


def local_lipschitz(net: ReluNetwork, points: np.ndarray, reach: float) -> np.ndarray:
    """A Lipschitz constant within `reach` of each point: neurons that cannot switch there have one
    gradient together.  [N]

    The others contribute s a b with s in [0, 1], that is a b/2 give or take ||a b||/2.
    """
    before, sizes = points @ net.b.T + net.c, np.linalg.norm(net.b, axis=1)  # [N, m], [m]
    open_ = np.abs(before) <= reach * sizes
    share = np.where(open_, 0.5, before > 0)
    return np.linalg.norm((share * net.a) @ net.b, axis=1) + 0.5 * open_ @ (np.abs(net.a) * sizes)


def span(b: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the directions.  [r, n]"""
    _, sizes, rows = np.linalg.svd(b, full_matrices=False)
    return rows[sizes > 1e-12 * sizes.max(initial=1e-300)]


def grid_sup(
    function: Function,
    steepness: Callable[[np.ndarray, float], np.ndarray],
    dimensions: int,
    radius: float,
) -> float:
    """An upper bound of |function| on the ball, from its values at centres of ever smaller cubes
    and its Lipschitz constants there.
    """
    side = 2 * radius / 8
    axis = np.linspace(-radius + side / 2, radius - side / 2, 8)
    centres = np.array(list(itertools.product(axis, repeat=dimensions)))  # [cells, r]
    least, dropped = 0.0, 0.0  # what is attained, and the largest bound of a cell left behind
    while True:
        reach = side * float(np.sqrt(dimensions)) / 2
        centres = centres[np.linalg.norm(centres, axis=1) <= radius + reach]
        # nearer to every point of the ball than the centre itself
        seen = _into_ball(centres, radius)
        values = np.abs(function(seen))
        least = max(least, float(values.max(initial=0.0)))
        tops = values + steepness(seen, reach) * reach
        held = tops > least * (1 + GAP) + 1e-12
        dropped = max(dropped, float(tops[~held].max(initial=0.0)))
        if not held.any():
            return max(dropped, least)
        if held.sum() * 2**dimensions > MOST_CELLS:
            return max(dropped, float(tops.max()))
        side /= 2
        steps = np.array(list(itertools.product((-side / 2, side / 2), repeat=dimensions)))
        centres = (centres[held][:, None, :] + steps[None]).reshape(-1, dimensions)


def _into_ball(points: np.ndarray, radius: float) -> np.ndarray:
    return points * np.minimum(
        1.0, radius / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)
    )
