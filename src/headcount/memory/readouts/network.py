"""Two-layer ReLU networks as data: f(z) = sum_k a_k relu(b_k . z + c_k), with the norms the
theorems ask for.

A readout that can be written as such a network exactly (on its domain) hands it out: its path norm
sum |a_k| (||b_k||_1 + |c_k|) is an upper bound of the Barron norm (docs/errata.md#e24), and a
construction can copy the weights into a feed-forward layer.
"""

import dataclasses

import numpy as np

from headcount.core.errors import require


@dataclasses.dataclass(frozen=True, eq=False)
class ReluNetwork:
    """A scalar network of m neurons on n inputs, in float64."""

    a: np.ndarray  # [m]
    b: np.ndarray  # [m, n]
    c: np.ndarray  # [m]

    def __post_init__(self):
        fits = (
            self.a.ndim == 1
            and self.b.ndim == 2
            and self.a.shape == self.c.shape == self.b.shape[:1]
        )
        require(
            fits,
            f"shapes {self.a.shape}, {self.b.shape}, {self.c.shape}",
            "[m], [m, n] and [m]",
            "one row per neuron",
        )

    @property
    def neurons(self) -> int:
        return len(self.a)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """[..., n] → [...]."""
        return np.maximum(points @ self.b.T + self.c, 0.0) @ self.a

    @property
    def path_norm(self) -> float:
        """sum |a| (||b||_1 + |c|), at least the Barron norm."""
        return float(np.abs(self.a) @ (np.abs(self.b).sum(1) + np.abs(self.c)))

    @property
    def lipschitz(self) -> float:
        """An upper bound of the Lipschitz constant, everywhere.

        The gradient is sum_k s_k a_k b_k with s_k in {0, 1}. With s = (1 + sigma)/2 its norm is at
        most half of ||sum a_k b_k|| + sqrt(m) ||diag(a) B||_op; the triangle inequality gives
        sum |a_k| ||b_k||. The smaller counts.
        """
        rows = self.a[:, None] * self.b  # [m, n]
        halves = 0.5 * (np.linalg.norm(rows.sum(0)) + np.sqrt(len(rows)) * np.linalg.norm(rows, 2))
        return float(min(halves, np.linalg.norm(rows, axis=1).sum()))


def zigzag(direction: np.ndarray, knots: np.ndarray, values: np.ndarray) -> ReluNetwork:
    """The piecewise linear function of u = direction . z through (knots, values), for u at or above
    the first knot.

    f(u) = values_0 relu(1) + sum_j (slope_j - slope_{j-1}) relu(u - knot_j): one neuron per change
    of slope.
    """
    slopes = np.diff(values) / np.diff(knots)  # [k-1]
    changes = np.diff(slopes, prepend=0.0)
    a = np.concatenate([values[:1], changes])
    b = np.concatenate([np.zeros((1, len(direction))), np.tile(direction, (len(changes), 1))])
    c = np.concatenate([[1.0], -knots[:-1]])
    used = a != 0
    return ReluNetwork(a[used], b[used], c[used])


def interpolate(points: np.ndarray, values: np.ndarray) -> ReluNetwork:
    """A network that takes the given values on finitely many points: project on a line, then one
    neuron per point.

    A generic direction keeps the points apart (docs/errata.md#e24). Several are tried, all with
    ||direction||_1 = 1, and the network with the smallest path norm wins.
    """
    found = [
        net
        for net in (_along(w, points, values) for w in _directions(points.shape[1]))
        if net is not None
    ]
    require(found, "two equal points with different values", "distinct points", "merge them")
    return min(found, key=lambda net: net.path_norm)


def _directions(n: int) -> list[np.ndarray]:
    """Axes, sums, counters in bases 2 and 3 (they keep bits and ternary digits apart), and
    random directions.
    """
    powers = [float(base) ** -np.arange(n) for base in (2, 3)]
    ladder = np.arange(1.0, n + 1)
    random = np.random.default_rng(0).standard_normal((8, n))
    every = [*np.eye(n)[:16], np.ones(n), *powers, *(w[::-1] for w in powers), ladder, *random]
    return [w / np.abs(w).sum() for w in every]


def _along(direction: np.ndarray, points: np.ndarray, values: np.ndarray) -> ReluNetwork | None:
    """The interpolant along one direction; None where points of different values coincide."""
    shadows = points @ direction
    order = np.argsort(shadows, kind="stable")
    u, v = shadows[order], values[order]
    new = np.diff(u, prepend=-np.inf) > 1e-9 * (1 + np.abs(u).max())
    if np.any(~new & (v != np.concatenate([v[:1], v[:-1]]))):
        return None
    return zigzag(direction, u[new], v[new])
