"""Few heads and a budget together: branch and bound over signs and rates.

A sum of H heads with sum|a| <= C is a choice of H *slots*, each with a sign and a rate. Let a node
of a search tree admit an interval of rates and one sign per slot. Relax "one head in the slot" to
"any measure of that sign on the interval". For every vector y over lags

    ||rho - f|| ||y||_*  >=  <y, rho - f>  >=  <y, rho> - C max(0, max_slots max_b sign g(b)),

g(b) = sum_s y_s phi(s; b): what the dual says with both signs on all rates (`dual`), which is the
root of the tree. Slots of one sign are in the order of their rates: a cut of one of them moves
others along. The bound of the tree is the smallest of its leaves.

*Where to cut.* The best y for narrow slots about some heads proves nearly the error of these heads.
It does so for far wider slots, too: sign g touches its level at each of the heads and exceeds it
only some way off, as it does at the heads of any best sum. So the search aims at a value a little
below the smallest error seen so far: it narrows the slots of a node about the heads that its
relaxation suggests until some y reaches the value, and cuts where this y *ceases to do so*. All
that is on the near side of these few cuts is excluded by one vector, be it ever so wide; the far
sides are new nodes with a head where y says that one should be. Cuts in the middle of slots, which
only make the relaxation better, are left for nodes where this fails.

One y serves every node whose slots it suits, so that a pool of them is tried before a linear
programme is solved. To keep programmes small y is constant on blocks of lags.

The search is in floats. Its tree and vectors are claimed only where `check_branch` proves, in
balls, that every choice of signs and rates ends in a leaf that excludes it.
"""

import dataclasses
import heapq
import math
from typing import Any

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Lags
from headcount.core.refs import Ref
from headcount.theory.balls import kernel_values, precision
from headcount.theory.bounds.branch_scene import (
    MOST_LAGS,
    Scene,
    Slots,
    Solved,
    centres,
    is_empty,
    parts,
    roots,
    widest,
)
from headcount.theory.bounds.check_branch import branched
from headcount.theory.problem import Problem

REF = Ref("headcount", "branch and bound over rates (docs/proved.md#branch)")
MOST_HEADS = 6
SLACKS = (1e-3, 4e-3, 0.02, 0.08)  # of the bound, for what lies between the rates looked at
BITS = 128
AIMS = (1.15, 1.05, 1.01)  # the smallest error seen over the value aimed at
NARROW = (0.6, 0.3, 0.15, 0.07, 0.03, 0.01, 0.0)  # widths of slots about heads, relative


@dataclasses.dataclass(frozen=True)
class _Aim:
    """A vector that excludes all slots near these rates."""

    vector: int
    centres: tuple[int, ...]


@dataclasses.dataclass
class _Node:
    """A node of the tree; a leaf while it has no children."""

    slots: Slots
    bound: float
    vector: int
    solved: Solved | None = None
    aim: _Aim | None = None
    cut: tuple[int, int] | None = None
    children: tuple["_Node", ...] = ()


def branch_claim(
    problem: Problem, heads: int, splits: int, reached: float = math.inf
) -> Claim | None:
    """The bound that `splits` splits prove; None where it does not apply or is none. `reached`: the
    error of some heads, to aim at."""
    if not (math.isfinite(problem.budget) and 1 <= heads <= MOST_HEADS):
        return None
    if not problem.target[:MOST_LAGS].any():
        return None
    search = _Search(Scene(problem), heads, reached)
    search.run(splits)
    return _proved(problem, search)


def _proved(problem: Problem, search: "_Search") -> Claim | None:
    """The claim of the largest value that the checker accepts, near the search's own."""
    bound, scene = search.bound, search.scene
    if bound <= 0:
        return None
    evidence = search.evidence()
    stop, norm = scene.edges[-1], problem.norm
    with precision(BITS):
        rho = kernel_values(problem.kernel, stop)
        for slack in SLACKS:
            value = bound * scene.scale * (1 - slack)
            given = (rho, problem.decay, problem.budget, norm, problem.lowest_rate, arb(value))
            if branched(*given, evidence):
                proved = {"heads": search.heads, "lags": Lags(problem.first_lag, stop)}
                return problem.at_least(value, "branch", REF, evidence, **proved)
    return None


class _Search:
    """Trees for all signs, and their leaves by bound."""

    def __init__(self, scene: Scene, heads: int, reached: float):
        self.scene, self.heads = scene, heads
        self.least = reached / scene.scale  # error of the best heads seen
        self.made = 0
        self.waiting: list[tuple[float, int, _Node]] = []
        self.trees = [self._node(slots, None, None) for slots in roots(heads)]
        for node in self.trees if math.isinf(self.least) else ():
            self._narrowed(node, math.inf)  # sees some heads

    @property
    def bound(self) -> float:
        return self.waiting[0][0]

    def run(self, splits: int) -> None:
        """Split the leaf with the smallest bound until it is near enough to what heads reach."""
        aims = iter(AIMS)
        aim = next(aims)
        for _ in range(splits):
            while self.bound * aim >= self.least:
                further = next(aims, None)
                if further is None:
                    return
                aim = further
            _, _, node = self.waiting[0]
            if not self._split(node, self.least / aim):
                return

    def _node(self, slots: Slots, parent: _Node | None, aim: _Aim | None) -> _Node:
        """A new leaf. What excludes a node excludes its parts; near an aim no programme is solved,
        for more cuts are known."""
        node = _Node(slots, 0.0, 0, aim=aim)
        if parent is not None:
            node.bound, node.vector = parent.bound, parent.vector
        if is_empty(slots):
            node.bound = math.inf
        else:
            self._raise(node)
            if aim is None and (parent is None or not node.bound * AIMS[0] >= self.least):
                self._solve(node)
        self.made += 1
        heapq.heappush(self.waiting, (node.bound, self.made, node))
        return node

    def _raise(self, node: _Node) -> None:
        """To the largest bound of a vector in the pool."""
        if self.scene.vectors:
            bounds = self.scene.bounds(node.slots)
            if bounds.max() > node.bound:
                node.bound, node.vector = float(bounds.max()), int(bounds.argmax())

    def _solve(self, node: _Node) -> None:
        node.solved = self.scene.solve(node.slots)
        if node.solved is not None:
            bound = self.scene.value(node.solved.y, node.slots)
            number = self.scene.add(node.solved.y)
            if bound > node.bound:
                node.bound, node.vector = bound, number

    def _split(self, node: _Node, value: float) -> bool:
        """Give the node children; False where there is nothing left to cut."""
        cuts = self._cuts(node, value) if node.aim else []
        if not cuts:
            before = node.bound
            if node.solved is None:
                self._raise(node)
                self._solve(node)
            if node.bound > before:
                self.made += 1
                heapq.heapreplace(self.waiting, (node.bound, self.made, node))
                return True
            node.aim = self._narrowed(node, value)
            cuts = self._cuts(node, value) if node.aim else []
        near = None  # which part lies near the aim
        if cuts:
            slot, cut, near = max(cuts, key=lambda c: self._worth(node, c))
        else:
            slot, cut = widest(node.slots, node.solved)
            if not node.slots[slot][0] < cut < node.slots[slot][1]:
                return False
        heapq.heappop(self.waiting)
        node.cut = (slot, cut)
        node.children = tuple(
            self._node(slots, node, node.aim if i == near else None)
            for i, slots in enumerate(parts(node.slots, slot, cut))
        )
        node.solved = None  # no longer needed
        return True

    def _worth(self, node: _Node, cut: tuple[int, int, int]) -> float:
        """The bound that is known of the part far from the aim."""
        slot, at, near = cut
        far = parts(node.slots, slot, at)[1 - near]
        return math.inf if is_empty(far) else float(self.scene.bounds(far).max())

    def _narrowed(self, node: _Node, value: float) -> _Aim | None:
        """A vector that proves `value` for the node's slots, narrowed as little as it takes about
        the heads that the relaxation suggests."""
        if node.solved is None:
            return None
        at, bound = centres(node.slots, node.solved), math.inf
        for share in NARROW:
            box = tuple(
                (round(c - share * (c - a)), round(c + share * (b - c)), s)
                for (a, b, s), c in zip(node.slots, at, strict=True)
            )
            solved = self.scene.solve(box)
            if solved is None:
                return None
            bound, number = self.scene.value(solved.y, box), self.scene.add(solved.y)
            if bound >= value:
                return _Aim(number, at)
            at = centres(box, solved)
        self.least = min(self.least, bound)  # the last slots were single rates
        return None

    def _cuts(self, node: _Node, value: float) -> list[tuple[int, int, int]]:
        """Where the aim's vector ceases to prove `value`: slot, rate by number, and whether the
        part below (0) or beyond (1) lies near."""
        assert node.aim is not None
        g = self.scene.curves[node.aim.vector]
        level = (self.scene.inner[node.aim.vector] - value) / self.scene.budget
        found = []
        for h, ((a, b, s), c) in enumerate(zip(node.slots, node.aim.centres, strict=True)):
            beyond = np.flatnonzero(s * g[a : b + 1] > level) + a
            before, after = beyond[beyond < c], beyond[beyond > c]
            if len(before) and before[-1] + 1 < b:
                found.append((h, int(before[-1]) + 1, 1))
            if len(after) and after[0] - 1 > a:
                found.append((h, int(after[0]) - 1, 0))
        return [cut for cut in found if not is_empty(parts(node.slots, *cut[:2])[cut[2]])]

    def evidence(self) -> dict[str, Any]:
        """Plain data: the trees as nested (slot, cut, left, right), a leaf as its vector."""
        leaves = [leaf for tree in self.trees for leaf in self._pruned(tree)]
        chosen = self._few(leaves)
        kept: dict[int, int] = {}

        def plain(node: _Node) -> Any:
            if node.cut is None:
                return kept.setdefault(chosen[id(node)], len(kept))
            slot, cut = node.cut
            return (slot, float(self.scene.rates[cut]), *(plain(part) for part in node.children))

        drawn = tuple(plain(node) for node in self.trees)
        vectors = tuple(tuple(map(float, self.scene.vectors[i])) for i in kept)
        return {
            "kind": "branch", "heads": self.heads, "blocks": tuple(self.scene.edges),
            "vectors": vectors, "trees": drawn,
        }  # fmt: skip

    def _pruned(self, node: _Node) -> list[_Node]:
        """Leaves below the node, which becomes one itself where a vector excludes all of it."""
        if node.cut is None:
            return [node]
        if self.scene.bounds(node.slots).max() >= self.bound:
            node.cut, node.children = None, ()
            return [node]
        return [leaf for part in node.children for leaf in self._pruned(part)]

    def _few(self, leaves: list[_Node]) -> dict[int, int]:
        """A vector for each leaf, few different ones: those that exclude the most come first."""
        chosen = {id(leaf): leaf.vector for leaf in leaves}
        left = [leaf for leaf in leaves if not is_empty(leaf.slots)]
        excludes = np.array([self.scene.bounds(leaf.slots) >= self.bound for leaf in left])
        while len(left):
            vector = int(excludes.sum(axis=0).argmax())
            done = excludes[:, vector]
            if not done.any():
                break
            chosen |= {id(leaf): vector for leaf, gone in zip(left, done, strict=True) if gone}
            left = [leaf for leaf, gone in zip(left, done, strict=True) if not gone]
            excludes = excludes[~done]
        return chosen
