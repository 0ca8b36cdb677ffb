"""With a coefficient budget, no number of heads does better: the dual of the budgeted fit over the
continuum of rates.

For any vector y over lags and any head sum f with sum|a| <= C,

    ||rho - f|| ||y||_*  >=  <y, rho - f>  >=  <y, rho> - C max_b |sum_s y_s phi(s; b)|,

so E >= (<y, rho> - C max_b|...|) / ||y||_*, with dual norm sup, l2, l1 for l1, l2, sup. The best y
is the LP dual; it is found on a finite set of rates (`interior`), to which the worst violations in
between are added until there are none (exchange). The first rounds ask for a y that is constant on
blocks of far lags, which leaves few rows; the last ones ask for no such thing, and few rates are
left to them. The maximum over all rates is then enclosed in ball arithmetic (`enclosure`), so that
the number is a proof whatever the LP did. y lives on the window's lags; zero beyond, so that the
bound holds for all lags a fortiori.
"""

import dataclasses
import math

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Lags, Norm
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.theory.balls import kernel_values, precision, round_down
from headcount.theory.bounds.enclosure import BITS, maximum
from headcount.theory.fit.sample import block_edges
from headcount.theory.heads import AbstractDecay
from headcount.theory.interior import fit_program, solve
from headcount.theory.problem import Problem

REF = Ref("headcount", "budgeted dual over all rates (docs/theory.md#dual)")
DENSE_LAGS = 1024  # lags handled one by one before thinning
MOST_LAGS = 1536
GRID = 2400
START = 160
TOLERANCE = 1e-10
KEEP = 0.99  # an atom stays while it is this close to touching
TOUCHING = 0.9995  # the same where all rows are asked for: few rates are left to them
ROUNDS, MOST_ROUGH = 12, 9  # in all, and on blocks of lags
SAME = 1e-8  # of the kernel's norm
# relative to the kernel's norm: a bound that cannot exceed this is not worth another round
USELESS = 1e-7
# relative to the bound and its distance from trivial: exchange stops when no vector gains more
GAP = 3e-5
# relative allowance on the maximum, so that a checker with another enclosure has room
MARGIN = 2e-8


def dual_claim(problem: Problem, gap: float = GAP) -> Claim:
    """The certified lower bound for `problem.budget`, any number of heads, all admitted rates; with
    a wider `gap` it is sooner found and a little smaller.
    """
    require(
        math.isfinite(problem.budget),
        "no budget",
        "a finite budget",
        "use the bounds by number of heads instead",
    )
    lags, lowest = certificate_lags(problem), problem.lowest_rate
    y = _best_vector(problem, lags, lowest, gap)
    top = maximum(problem.decay, lags, y, lowest).upper * (1 + MARGIN)
    with precision(BITS):
        rho = kernel_values(problem.kernel, int(lags.max()) + 1)
        inner = sum((arb(v) * rho[int(s)] for s, v in zip(lags, y, strict=True)), arb(0))
        size = _dual_norm(y, problem.norm)
        value = round_down((inner - arb(problem.budget) * arb(top)) / size) if y.any() else 0.0
    evidence = {
        "kind": "dual",
        "lags": tuple(int(s) for s in lags),
        "y": tuple(float(v) for v in y),
        "maximum": top,
    }
    used = Lags(problem.first_lag, int(lags.max()) + 1)
    return problem.at_least(value, "dual", REF, evidence, lags=used)


def certificate_lags(problem: Problem) -> np.ndarray:
    """Lags on which y lives: all, or beyond `DENSE_LAGS` a geometric selection (leaving lags out
    keeps the bound valid).
    """
    first = problem.first_lag
    if problem.length <= MOST_LAGS:
        return problem.lags
    support = problem.kernel.support or 0
    dense = np.arange(first, DENSE_LAGS)
    near = np.arange(max(first, support - 128), min(problem.length, support + 128))
    sparse = np.unique(
        np.geomspace(DENSE_LAGS, problem.length - 1, MOST_LAGS - DENSE_LAGS - len(near)).astype(int)
    )
    return np.unique(np.concatenate([dense, near, sparse])).astype(np.float64)


def _best_vector(problem: Problem, lags: np.ndarray, lowest: float, gap: float) -> np.ndarray:
    """y by exchange: solve on few rates, add the maxima of |g| in between, repeat.  [S]"""
    rho = problem.kernel.values(int(lags.max()) + 1)[lags.astype(int)]
    scale = {Norm.L1: np.abs(rho).sum(), Norm.L2: np.linalg.norm(rho), Norm.SUP: np.abs(rho).max()}[
        problem.norm
    ]
    if scale == 0:
        return np.zeros_like(lags)
    grid = rate_grid(problem.decay, lags, lowest)
    scene = Scene(
        problem.decay,
        problem.norm,
        lags,
        rho / scale,
        problem.budget / scale,
        grid,
        problem.decay.columns(grid, lags),
    )
    rates = grid[np.linspace(0, len(grid) - 1, START).astype(int)]
    rows = Rows.blocks(scene)
    best, best_value, rounds, stalled = np.zeros_like(lags), 0.0, 0, 0
    while True:
        rounds += 1
        phi = scene.family.columns(rates, lags)
        y, t = dual_vector(rows.of(phi), rows.of(scene.rho), scene.budget, scene.norm)
        y = rows.spread(y)
        # few rates: above the optimum over all
        ceiling = (float(y @ scene.rho) - scene.budget * t) / max(scene.size(y), 1e-300)
        peaks, heights = scene.peaks(y)
        mixed = scene.blend(best, y)
        more, levels = scene.peaks(mixed)
        enough, before = max(gap * min(ceiling, 1 - ceiling), 1e-10), best_value
        for vector, height in ((y, heights.max()), (mixed, levels.max())):
            value = scene.value(vector, float(height))
            if value > best_value:
                best, best_value = vector, value
        # rounding has the last word from C = 1e7 on
        stalled = stalled + 1 if best_value > 0 and best_value - before < enough else 0
        done = ceiling - best_value < enough or stalled == 2
        single = rows.single or gap > GAP
        if ceiling < USELESS or (single and (done or rounds >= ROUNDS)):
            break
        last = done or (not rows.single and rounds == MOST_ROUGH)
        near = TOUCHING if last else KEEP
        rates = scene.told_apart(
            np.concatenate(
                [
                    rates[np.abs(phi.T @ y) > near * t],
                    peaks[heights > near * t],
                    more[levels > near * levels.max()],
                ]
            )
        )
        if last:
            rows, stalled = Rows.each(len(lags)), 0
    return best


@dataclasses.dataclass(frozen=True)
class Rows:
    """Blocks of lags on which y is constant: `starts` in the list of lags, and what a row's y is
    divided by so that its dual norm is that of the lags together.
    """

    starts: np.ndarray  # [R]
    lengths: np.ndarray  # [R]
    weights: np.ndarray  # [R]

    @classmethod
    def each(cls, count: int) -> "Rows":
        return cls(np.arange(count), np.ones(count, dtype=int), np.ones(count))

    @classmethod
    def blocks(cls, scene: "Scene") -> "Rows":
        """Longer blocks farther out, where the kernel is smooth; else each lag its own."""
        edges = np.searchsorted(scene.lags, block_edges(scene.lags, scene.rho))
        if len(edges) == 0:
            return cls.each(len(scene.lags))
        starts = np.unique(np.concatenate([np.arange(edges[0]), edges[:-1]]))
        lengths = np.diff(np.append(starts, len(scene.lags)))
        power = {Norm.L1: 0.0, Norm.L2: 0.5, Norm.SUP: 1.0}[scene.norm]
        return cls(starts, lengths, lengths**power)

    @property
    def single(self) -> bool:
        return bool((self.lengths == 1).all())

    def of(self, values: np.ndarray) -> np.ndarray:
        """Values by lag, added up row by row: their product with y is that of `spread`."""
        weights = self.weights if values.ndim == 1 else self.weights[:, None]
        return np.add.reduceat(values, self.starts, axis=0) / weights

    def spread(self, y: np.ndarray) -> np.ndarray:
        """y by lag."""
        return np.repeat(y / self.weights, self.lengths)


def dual_vector(
    phi: np.ndarray, rho: np.ndarray, budget: float, norm: Norm
) -> tuple[np.ndarray, float]:
    """y [S] and the budget's multiplier, at least |phi'y|, of the best fit with the columns of
    `phi`.
    """
    own = (np.eye(phi.shape[1]), np.zeros(phi.shape[1]), budget)
    answer = solve(fit_program(norm, rho, phi, budget=own), TOLERANCE, repair=False)
    return answer.y, answer.level


@dataclasses.dataclass(frozen=True)
class Scene:
    """The normalised problem on a fine grid of rates."""

    family: AbstractDecay
    norm: Norm
    lags: np.ndarray  # [S]
    rho: np.ndarray  # [S]
    budget: float
    grid: np.ndarray  # [GRID]
    columns: np.ndarray  # [S, GRID]

    def told_apart(self, rates: np.ndarray) -> np.ndarray:
        """Sorted, without those whose curve within the budget is that of the rate before.  [R]"""
        rates = np.unique(rates)
        curves = self.family.columns(rates, self.lags)
        steps = np.abs(np.diff(curves, axis=1)).max(axis=0, initial=0.0)
        return rates[np.append(True, steps * self.budget > SAME)[: len(rates)]]

    def size(self, y: np.ndarray) -> float:
        return float(
            {Norm.L1: np.abs(y).max(), Norm.L2: np.linalg.norm(y), Norm.SUP: np.abs(y).sum()}[
                self.norm
            ]
        )

    def value(self, y: np.ndarray, height: float) -> float:
        size = self.size(y)
        return (float(y @ self.rho) - self.budget * height) / size if size > 0 else 0.0

    def blend(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """The best point between two vectors: successive LP vertices overshoot on opposite
        sides, and the bound is concave.
        """
        g_old, g_new = self.columns.T @ old, self.columns.T @ new
        shares = np.linspace(0, 1, 65)
        values = [
            self.value(old + x * (new - old), float(np.abs(g_old + x * (g_new - g_old)).max()))
            for x in shares
        ]
        return old + shares[int(np.argmax(values))] * (new - old)

    def peaks(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Local maxima of |g(b)| and their heights, refined by Newton steps on g'.  [P]"""
        g = np.abs(self.columns.T @ y)
        seen = np.round(g / max(float(g.max()), 1e-300), 13)  # a plateau is one top, not a hundred
        left, right = np.r_[-np.inf, seen[:-1]], np.r_[seen[1:], -np.inf]
        top = np.flatnonzero((seen > left) & (seen >= right))
        rates, heights = self.grid[top].copy(), g[top]
        inner = np.isfinite(rates) & (top > 0)
        logs = self.family.distance(self.lags)
        b, low, high = (
            rates[inner],
            self.grid[top[inner] - 1],
            self.grid[np.minimum(top[inner] + 1, len(g) - 2)],
        )
        for _ in range(3):
            phi = self.family.columns(b, self.lags)  # [S, P]
            slope, bend = -(y * logs) @ phi, (y * logs**2) @ phi
            b = np.clip(
                b - np.where(bend != 0, slope / np.where(bend != 0, bend, 1.0), 0.0), low, high
            )
        better = np.abs(y @ self.family.columns(b, self.lags))
        rates[inner] = np.where(better > heights[inner], b, rates[inner])
        heights[inner] = np.maximum(heights[inner], better)
        return rates, heights


def rate_grid(family: AbstractDecay, lags: np.ndarray, lowest: float) -> np.ndarray:
    """Rates from `lowest` to where only the first lag is left, dense where curves change fast,
    and inf.  [GRID]
    """
    logs = family.distance(lags)
    unit = 1.0 / logs.max() if logs.max() > 0 else 1.0
    reach = 45.0 / (logs[logs > 0].min() if (logs > 0).any() else 1.0)
    u = np.linspace(0, math.log1p(reach / unit), GRID - 1)
    return np.append(lowest + unit * np.expm1(u), np.inf)


def _dual_norm(y: np.ndarray, norm: Norm) -> arb:
    if norm is Norm.L1:
        return arb(float(np.abs(y).max()))
    if norm is Norm.L2:
        return sum((arb(v) ** 2 for v in y), arb(0)).sqrt()
    return sum((abs(arb(v)) for v in y), arb(0))
