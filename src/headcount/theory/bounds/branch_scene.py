"""What the search of `branch` looks at: the problem on blocks of lags and a grid of rates, linear
programmes for vectors, and the pool of vectors found so far. In floats: nothing here is trusted.
"""

import dataclasses
import itertools
import math

import numpy as np

from headcount.core.claims import Norm
from headcount.theory.bounds.check_branch import GRID
from headcount.theory.problem import Problem

RATES = 1200  # on which the search looks at g
LOOKED_AT = 32  # of them per slot in a linear programme
SINGLE, WIDE = 60, 40  # blocks of one lag each, then wider ones
MASS = 0.005  # of the kernel that may lie behind the lags that are used
FEWEST_LAGS, MOST_LAGS = 96, 2048
HEAVY = 1e4  # weight of the row that keeps a measure within its budget
INNER = 0.35  # of a slot's width: cuts nearer to its ends exclude too little
NOTHING = 1e-9  # of a measure
FEW_ATOMS = 14  # so many are grouped in the best way, more of them evenly

Slots = tuple[tuple[int, int, int], ...]  # first and last rate by number, sign


@dataclasses.dataclass(frozen=True)
class Solved:
    """The best vector for some slots, and the measure on them that it is the dual of."""

    y: np.ndarray  # [B]
    spots: list[np.ndarray]  # rates by number, slot by slot
    pull: list[np.ndarray]


class Scene:
    """The normalised problem, and the pool of vectors."""

    def __init__(self, problem: Problem):
        first = problem.first_lag
        self.norm, self.edges = problem.norm, _blocks(problem)
        lags = np.arange(first, self.edges[-1], dtype=np.float64)
        rho = problem.kernel.values(self.edges[-1])[first:]
        self.scale = float(np.linalg.norm(rho, {"l1": 1, "l2": 2, "sup": np.inf}[self.norm]))
        self.budget = problem.budget / self.scale
        starts = np.array(self.edges[:-1]) - first
        self.widths = np.diff(self.edges).astype(np.float64)
        self.mass = np.add.reduceat(rho, starts) / max(self.scale, 1e-300)
        fall = problem.decay.distance(lags)
        slow, fast = 1e-2 / fall.max(initial=1.0), 40.0 / fall[fall > 0].min(initial=40.0)
        steps = np.geomspace(slow, fast, RATES - 2)
        low = math.floor(problem.lowest_rate * GRID) / GRID
        self.rates = np.r_[low, low + np.ceil(steps * GRID) / GRID, math.inf]
        curves = problem.decay.columns(self.rates, lags)
        self.table = np.add.reduceat(curves, starts, axis=0)  # [B, RATES]
        self.vectors: list[np.ndarray] = []
        self.inner = np.zeros(0)
        self.curves = np.zeros((0, RATES))  # g of every vector

    def add(self, y: np.ndarray) -> int:
        """Put a vector into the pool; its number."""
        n = len(self.vectors)
        if n == len(self.curves):
            self.curves = np.vstack([self.curves, np.zeros((n + 64, RATES))])
            self.inner = np.append(self.inner, np.zeros(n + 64))
        self.vectors.append(y)
        self.inner[n], self.curves[n] = y @ self.mass, y @ self.table
        return n

    def bounds(self, slots: Slots) -> np.ndarray:
        """inner - C max(0, sign g) of every vector in the pool.  [V]"""
        n = len(self.vectors)
        tops = [(s * self.curves[:n, a : b + 1]).max(axis=1) for a, b, s in set(slots)]
        return self.inner[:n] - self.budget * np.maximum(np.max(tops, axis=0), 0.0)

    def value(self, y: np.ndarray, slots: Slots) -> float:
        """The same of one vector."""
        g = y @ self.table
        top = max(float((s * g[a : b + 1]).max()) for a, b, s in slots)
        return float(y @ self.mass) - self.budget * max(top, 0.0)

    def solve(self, slots: Slots) -> Solved | None:
        """The best vector for these slots."""
        spots = [np.unique(np.linspace(a, b, LOOKED_AT).astype(int)) for a, b, _ in slots]
        signed = [s * self.table[:, at].T for (_, _, s), at in zip(slots, spots, strict=True)]
        rows = np.concatenate(signed)
        found = self._least_squares(rows) if self.norm is Norm.L2 else self._programme(rows)
        if found is None:
            return None
        y, pulls = found
        pull = np.split(pulls, np.cumsum([len(x) for x in spots])[:-1])
        return Solved(y / max(self._size(y), 1.0), spots, pull)

    def _size(self, y: np.ndarray) -> float:
        """The dual norm."""
        if self.norm is Norm.L1:
            return float(np.abs(y).max())
        if self.norm is Norm.SUP:
            return float(self.widths @ np.abs(y))
        return float(np.sqrt(self.widths @ y**2))

    def _programme(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """y that maximises <y, rho> - C max(0, rows y), and the measure on the rows."""
        from scipy.optimize import linprog  # slow to load

        size, level = len(self.mass), -np.ones((len(rows), 1))
        if self.norm is Norm.L1:
            matrix, right = np.hstack([rows, level]), np.zeros(len(rows))
            cost, bounds = np.r_[-self.mass, self.budget], [(-1, 1)] * size + [(0, None)]
        else:  # sum over lags of |y| <= 1
            matrix = np.hstack([rows, -rows, level])
            matrix = np.vstack([matrix, np.r_[self.widths, self.widths, 0.0]])
            right = np.r_[np.zeros(len(rows)), 1.0]
            cost = np.r_[-self.mass, self.mass, self.budget]
            bounds = [(0, None)] * (2 * size + 1)
        done = linprog(cost, matrix, right, bounds=bounds, method="highs-ds")
        if done.x is None:
            return None
        y = done.x[:size] if self.norm is Norm.L1 else done.x[:size] - done.x[size : 2 * size]
        return y, -done.ineqlin.marginals[: len(rows)]

    def _least_squares(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The same in l2: y is what the best measure leaves, which meets its budget where it would
        break it (a heavy row)."""
        from scipy.optimize import nnls  # slow to load

        root = np.sqrt(self.widths)
        columns, right = (rows / root).T, self.mass / root
        try:
            measure = nnls(columns, right, maxiter=2000)[0]
            if measure.sum() > self.budget:
                heavy = np.full((1, columns.shape[1]), HEAVY / self.budget)
                both = np.vstack([columns, heavy]), np.append(right, HEAVY)
                measure = nnls(*both, maxiter=2000)[0]
        except RuntimeError:
            return None
        left = right - columns @ measure
        size = float(np.linalg.norm(left))
        return (left / root / size, measure) if size > 0 else None


def roots(heads: int) -> list[Slots]:
    """All rates, for every number of heads with a positive sign."""
    whole = (0, RATES - 1)
    return [((*whole, 1),) * plus + ((*whole, -1),) * (heads - plus) for plus in range(heads + 1)]


def parts(slots: Slots, at: int, cut: int) -> tuple[Slots, Slots]:
    """Slot `at` below the cut, or beyond. Slots of one sign are in the order of their rates."""
    sign = slots[at][2]
    below, beyond = list(slots), list(slots)
    for j, (a, b, s) in enumerate(slots):
        if s == sign and j <= at:
            below[j] = (a, min(b, cut), s)
        if s == sign and j >= at:
            beyond[j] = (max(a, cut), b, s)
    return tuple(below), tuple(beyond)


def is_empty(slots: Slots) -> bool:
    return any(a > b for a, b, _ in slots)


def widest(slots: Slots, solved: Solved | None) -> tuple[int, int]:
    """Where to cut so that the relaxation gains less: the slot whose measure (with that of others
    of its sign, inside of it) has the largest second moment about its mean, and the mean."""
    advice = max(range(len(slots)), key=lambda h: slots[h][1] - slots[h][0])
    best, cut = 0.0, (slots[advice][0] + slots[advice][1]) // 2
    for h, (low, high, sign) in enumerate(slots if solved else ()):
        assert solved is not None
        if high - low < 2:
            continue
        at, mass = _together(slots, solved, sign)
        mass = mass * (at >= low) * (at <= high)
        if not mass.sum() > 0:
            continue
        mean = float(mass @ at / mass.sum())
        moment = float(mass @ (at - mean) ** 2)
        if moment > best:
            edge = max(1, round(INNER * (high - low)))
            best, advice = moment, h
            cut = int(np.clip(round(mean), low + edge, high - edge))
    return advice, cut


def centres(slots: Slots, solved: Solved) -> tuple[int, ...]:
    """One rate per slot, by number: where the measure would be, were it one head per slot."""
    found = [(a + b) // 2 for a, b, _ in slots]
    for sign in (1, -1):
        ours = [j for j, slot in enumerate(slots) if slot[2] == sign]
        if not ours:
            continue
        at, mass = _together(slots, solved, sign)
        kept = mass > NOTHING * mass.sum()
        where, back = np.unique(at[kept], return_inverse=True)
        if len(where) == 0:
            continue
        means = _grouped(where, np.bincount(back, mass[kept]), min(len(ours), len(where)))
        means += means[-1:] * (len(ours) - len(means))
        for j, mean in zip(ours, means, strict=True):
            found[j] = int(np.clip(round(mean), slots[j][0], slots[j][1]))
    return tuple(found)


def _together(slots: Slots, solved: Solved, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """The measure of one sign: rates by number, and masses."""
    ours = [j for j, slot in enumerate(slots) if slot[2] == sign]
    at = np.concatenate([solved.spots[j] for j in ours])
    return at, np.maximum(np.concatenate([solved.pull[j] for j in ours]), 0.0)


def _grouped(at: np.ndarray, mass: np.ndarray, count: int) -> list[float]:
    """Means of `count` groups of neighbours with the smallest second moments, in order."""
    n = len(at)
    choices = [np.linspace(0, n, count + 1).astype(int)[1:-1].tolist()]
    if n <= FEW_ATOMS:
        choices = [list(cuts) for cuts in itertools.combinations(range(1, n), count - 1)]
    best, means = math.inf, []
    for cuts in choices:
        groups = [slice(a, b) for a, b in itertools.pairwise([0, *cuts, n])]
        mean = [float(mass[g] @ at[g] / mass[g].sum()) for g in groups]
        cost = sum(float(mass[g] @ (at[g] - m) ** 2) for g, m in zip(groups, mean, strict=True))
        if cost < best:
            best, means = cost, mean
    return means


def _blocks(problem: Problem) -> list[int]:
    """Edges of the blocks: single lags first, wider ones as far as the kernel has its mass."""
    first, values = problem.first_lag, np.abs(problem.target)
    left = values.sum() - np.cumsum(values)
    far = int(np.flatnonzero(left <= MASS * values.sum())[0]) + 1
    stop = min(problem.length, first + min(MOST_LAGS, max(FEWEST_LAGS, 2 * far)))
    near = min(stop, first + SINGLE)
    wide = np.geomspace(near, stop, WIDE) if stop > near else np.zeros(0)
    edges = sorted({*range(first, near), near, *map(int, wide), stop})
    return [a for a, b in itertools.pairwise(edges) if a < b] + [stop]
