"""Few heads and a budget together: branch and bound over signs and rates.

A sum of H heads with sum|a| <= C is a choice of H *slots*, each with a sign and a rate. Let a node
of a search tree admit an interval of rates and one sign per slot. Relax "one head in the slot" to
"any measure of that sign on the interval". For every vector y over lags

    ||rho - f|| ||y||_*  >=  <y, rho - f>  >=  <y, rho> - C max(0, max_slots max_b sign g(b)),

g(b) = sum_s y_s phi(s; b): what the dual says with both signs on all rates (`dual`), which is the
root of the tree. The relaxation gives away the second order of an interval's width, so that few
cuts suffice near the best heads, and far from them wide slots are excluded at once.

Slots of one sign are in the order of their rates: a cut of one of them moves others along. The node
with the smallest bound is split next, in the middle of its widest slot; the bound of the tree is
the smallest of its leaves. One y serves every node whose slots it suits, so that a pool of them is
tried before a linear programme is solved. To keep programmes small y is constant on blocks of lags.

The search is in floats. Its tree and vectors are claimed only where `check_branch` proves, in
balls, that every choice of signs and rates ends in a leaf that excludes it.
"""

import dataclasses
import heapq
import itertools
import math
from typing import Any

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Lags, Norm
from headcount.core.refs import Ref
from headcount.theory.balls import kernel_values, precision
from headcount.theory.bounds.check_branch import GRID, branched
from headcount.theory.problem import Problem

REF = Ref("headcount", "branch and bound over rates (docs/proved.md#branch)")
MOST_HEADS = 4
RATES = 1200  # on which the search looks at g
LOOKED_AT = 32  # of them per slot in a linear programme
SINGLE, WIDE = 60, 40  # blocks of one lag each, then wider ones
MASS = 0.005  # of the kernel that may lie behind the lags that are used
FEWEST_LAGS, MOST_LAGS = 96, 2048
SLACKS = (1e-3, 4e-3, 0.02, 0.08)  # of the bound, for what lies between the rates looked at
BITS = 128
HEAVY = 1e4  # weight of the row that keeps a measure within its budget
INNER = 0.35  # of a slot's width: cuts nearer to its ends exclude too little

Slots = tuple[tuple[int, int, int], ...]  # first and last rate by number, sign


@dataclasses.dataclass
class _Node:
    """A node of the tree; a leaf while it has no children."""

    slots: Slots
    bound: float
    vector: int
    advice: tuple[int, int]  # where to cut: slot, rate by number
    cut: tuple[int, int] | None = None
    children: tuple["_Node", ...] = ()


def branch_claim(problem: Problem, heads: int, splits: int) -> Claim | None:
    """The bound that `splits` splits prove; None where it does not apply or is none."""
    if not (math.isfinite(problem.budget) and 1 <= heads <= MOST_HEADS):
        return None
    if not problem.target[:MOST_LAGS].any():
        return None
    scene = _Scene(problem)
    trees = [_Node(slots, *scene.best(slots)) for slots in scene.roots(heads)]
    waiting = [(node.bound, n, node) for n, node in enumerate(trees)]
    heapq.heapify(waiting)
    for n in range(splits):
        _, _, node = waiting[0]
        parts = scene.split(node)
        if not parts:
            break
        heapq.heappop(waiting)
        for m, part in enumerate(parts):
            heapq.heappush(waiting, (part.bound, heads + 2 + 2 * n + m, part))
    return _proved(problem, scene, heads, trees, waiting[0][0])


def _proved(
    problem: Problem, scene: "_Scene", heads: int, trees: list[_Node], bound: float
) -> Claim | None:
    """The claim of the largest value that the checker accepts, near the search's own."""
    evidence = scene.evidence(heads, trees)
    stop, norm = scene.edges[-1], problem.norm
    with precision(BITS):
        rho = kernel_values(problem.kernel, stop)
        for slack in SLACKS:
            value = bound * scene.scale * (1 - slack)
            given = (rho, problem.decay, problem.budget, norm, problem.lowest_rate, arb(value))
            if value > 0 and branched(*given, evidence):
                proved = {"heads": heads, "lags": Lags(problem.first_lag, stop)}
                return problem.at_least(value, "branch", REF, evidence, **proved)
    return None


class _Scene:
    """The normalised problem on blocks of lags and a grid of rates, and the pool of vectors."""

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

    def roots(self, heads: int) -> list[Slots]:
        whole = (0, RATES - 1)
        return [
            ((*whole, 1),) * plus + ((*whole, -1),) * (heads - plus) for plus in range(heads + 1)
        ]

    def best(self, slots: Slots) -> tuple[float, int, tuple[int, int]]:
        """The largest bound of a vector, that vector, and where to cut."""
        advice = self._solve(slots)
        if not len(self.vectors):
            return 0.0, 0, advice
        bounds = self._bounds(slots)
        return float(bounds.max()), int(bounds.argmax()), advice

    def _bounds(self, slots: Slots) -> np.ndarray:
        """inner - C max(0, sign g) of every vector."""
        tops = [(s * self.curves[:, a : b + 1]).max(axis=1) for a, b, s in slots]
        return self.inner - self.budget * np.maximum(np.max(tops, axis=0), 0.0)

    def _solve(self, slots: Slots) -> tuple[int, int]:
        """Add the best vector for these slots to the pool. A measure that spreads over a slot is
        what the relaxation gains there: advise to cut at the mean of the widest one."""
        spots = [np.unique(np.linspace(a, b, LOOKED_AT).astype(int)) for a, b, _ in slots]
        signed = [s * self.table[:, at].T for (_, _, s), at in zip(slots, spots, strict=True)]
        rows = np.concatenate(signed)
        found = self._least_squares(rows) if self.norm is Norm.L2 else self._programme(rows)
        if found is None:
            return _middle(slots)
        y, pulls = found
        y = y / max(self._size(y), 1.0)
        self.vectors.append(y)
        self.inner = np.append(self.inner, y @ self.mass)
        self.curves = np.vstack([self.curves, y @ self.table])
        pull = np.split(pulls, np.cumsum([len(x) for x in spots])[:-1])
        return _widest(slots, spots, pull)

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

    def split(self, node: _Node) -> list[_Node]:
        """The node's children: its widest slot cut in the middle."""
        at, cut = node.advice
        low, high, sign = node.slots[at]
        if not low < cut < high:
            return []
        below, beyond = list(node.slots), list(node.slots)
        for j, (a, b, s) in enumerate(node.slots):
            if s == sign and j <= at:
                below[j] = (a, min(b, cut), s)
            if s == sign and j >= at:
                beyond[j] = (max(a, cut), b, s)
        parts = []
        for slots in (tuple(below), tuple(beyond)):
            empty = any(a > b for a, b, _ in slots)
            found = (math.inf, node.vector, node.advice) if empty else self.best(slots)
            bound, vector, advice = found
            if bound < node.bound:  # what excludes the node excludes its parts
                bound, vector = node.bound, node.vector
            parts.append(_Node(slots, bound, vector, advice))
        node.cut, node.children = (at, cut), tuple(parts)
        return parts

    def evidence(self, heads: int, trees: list[_Node]) -> dict[str, Any]:
        """Plain data: the trees as nested (slot, cut, left, right), a leaf as its vector."""
        kept: dict[int, int] = {}

        def plain(node: _Node) -> Any:
            if node.cut is None:
                return kept.setdefault(node.vector, len(kept))
            slot, cut = node.cut
            return (slot, float(self.rates[cut]), *(plain(part) for part in node.children))

        drawn = tuple(plain(node) for node in trees)
        vectors = tuple(tuple(map(float, self.vectors[i])) for i in kept)
        return {
            "kind": "branch", "heads": heads, "blocks": tuple(self.edges), "vectors": vectors,
            "trees": drawn,
        }  # fmt: skip


def _middle(slots: Slots) -> tuple[int, int]:
    """The widest slot, cut in the middle."""
    at = max(range(len(slots)), key=lambda h: slots[h][1] - slots[h][0])
    return at, (slots[at][0] + slots[at][1]) // 2


def _widest(slots: Slots, spots: list[np.ndarray], pull: list[np.ndarray]) -> tuple[int, int]:
    """The slot whose measure (with that of others of its sign, inside of it) has the largest
    second moment about its mean, and the mean."""
    best, advice = 0.0, _middle(slots)
    for h, (low, high, sign) in enumerate(slots):
        if high - low < 2:
            continue
        ours = [j for j, slot in enumerate(slots) if slot[2] == sign]
        at = np.concatenate([spots[j] for j in ours])
        mass = np.concatenate([pull[j] for j in ours]) * (at >= low) * (at <= high)
        if not mass.sum() > 0:
            continue
        mean = float(mass @ at / mass.sum())
        moment = float(mass @ (at - mean) ** 2)
        if moment > best:
            edge = max(1, round(INNER * (high - low)))
            best, advice = moment, (h, int(np.clip(round(mean), low + edge, high - edge)))
    return advice


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
