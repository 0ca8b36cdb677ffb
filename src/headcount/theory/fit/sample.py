"""A fitting problem as arrays: one row per lag, then one row per block of lags; the rates allowed;
the coordinate to move in.

Blocks. Far out a sum of decaying heads is smooth and keeps its sign (H heads change it at most
H - 1 times), so that in l1 a block of lags counts with the modulus of its sum, which has a closed
form (a geometric sum, a difference of Hurwitz zetas). The full sample has a row for every lag below
`Problem.length` and, where the tail counts, blocks up to infinity. The thin sample, on which
searches run, has blocks from lag 40 on: some 100 rows instead of 1000. In l2 and sup a block is
represented by its middle or first lag. Reported errors never come from here: `theory.measure`
recomputes them.

Coordinate. Searches move u = log(1 - e^{-k b}), where e^{-k b} is the curve at the nearest lag that
tells rates apart (lin: e^{-b}; log: 2^{-b}). For slow heads u is log b; fast ones, which differ
only by e^{-k b}, lie close together in it, and the limit curve b = inf is the ordinary point u = 0.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.memory.kernels import AbstractKernel
from headcount.theory.heads import AbstractDecay
from headcount.theory.measure import norm_of
from headcount.theory.problem import Norm, Problem

DENSE_LAGS = 40  # lags kept one by one before blocks begin (doubled while the target needs it)
GROWTH = 0.05  # length of a block relative to its lag
SMOOTH = 1e-3  # a thin sample must interpolate the target this well (relative l1)
# blocks beyond the window begin here at the earliest, where Euler-Maclaurin is accurate
LEAST_LAGS = 64
# Logarithms of the ratio of a block's ends, beyond the window: of the first, how they grow, of the
# widest for log heads, of the widest where the kernel's tail counts, and of all together. Tails are
# met by lin heads one after the other, and change their sign in between.
FIRST, LONGER, WIDEST, CLOSE, REACH = 0.08, 1.15, 1.5, 0.2, 107.0
FAINT = 1e-4  # of the kernel's tail: what lies beyond does not count
NEGLIGIBLE = 1e-60  # of a curve that begins at 1
FAR = 64  # the target's blocks beyond the window are summed lag by lag up to this multiple of it


# problems whose arrays are kept: a search for the fewest heads asks for them again and again
KEPT = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Arrays of one problem: S rows are len(lags) lags and len(starts) blocks [starts, ends).
    Equal where it is the same one: what was found on it is kept by that.
    """

    family: AbstractDecay
    norm: Norm
    lags: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    target: np.ndarray  # [S]
    length: int
    budget: float
    low: float
    high: float

    @property
    def unit(self) -> float:
        """k of the coordinate."""
        return self.family.unit

    def distances(self, lags: np.ndarray) -> np.ndarray:
        """m(s) = l(s)/k with phi(s; b) = x^m(s), x = e^{-k b}."""
        return self.family.distance(lags) / self.unit

    def columns(self, rates: np.ndarray) -> np.ndarray:
        """Rows of each head's curve.  [S, H]"""
        return flushed(np.concatenate([self.family.columns(rates, self.lags), self._blocks(rates)]))

    def slopes(self, rates: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """d/du of these rates' columns, [S, H]: phi = x^m with x = 1 - e^u, dx/du = -(1 - x)."""
        steep = np.expm1(self.unit * rates)  # (1 - x) / x = k db/du
        m = self._distances[:, None]
        first = columns[: len(m)] * (-m * steep)
        return flushed(np.concatenate([first, self._block_slopes(rates, columns[len(m) :])]))

    def derivatives(self, rates: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d/du and d2/du2 of the columns, [S, H] each; blocks' second derivatives by a
        difference of the first.
        """
        m, steep = self._distances[:, None], np.expm1(self.unit * rates)
        slopes = self.slopes(rates, columns)
        bends = columns[: len(m)] * (m * (m - 1) * steep**2) + slopes[: len(m)]
        if len(self.starts) == 0:
            return slopes, flushed(bends)
        eps = 1e-5
        before = self.rates_at(self.coordinate(rates) - eps)
        lower = self._block_slopes(before, self._blocks(before))
        return slopes, flushed(np.concatenate([bends, (slopes[len(m) :] - lower) / eps]))

    def error(self, rates: np.ndarray, coefficients: np.ndarray) -> float:
        """The error in float64, for comparing candidates."""
        drawn = self.columns(rates) @ coefficients if len(rates) else 0.0
        return norm_of(self.target - drawn, self.norm)

    def coordinate(self, rates: np.ndarray) -> np.ndarray:
        """u(b).  [H]"""
        return np.log(-np.expm1(-self.unit * rates))

    def rates_at(self, u: np.ndarray) -> np.ndarray:
        """b(u), within the bounds.  [H]"""
        with np.errstate(divide="ignore"):
            return self.bounded(-np.log(-np.expm1(np.minimum(u, 0.0))) / self.unit)

    def bounded(self, rates: np.ndarray) -> np.ndarray:
        return np.clip(rates, self.low, self.high)

    def dictionary(self, count: int) -> np.ndarray:
        """Rates that cover the family, evenly spaced in u.  [count]"""
        low = max(self.low, 0.2 / self.length if self.family.geometric else 0.02)
        ends = self.coordinate(np.array([low, self.high]))
        return self.rates_at(np.linspace(ends[0], ends[1], count))

    @functools.cached_property
    def _distances(self) -> np.ndarray:
        return self.distances(self.lags)

    def _blocks(self, rates: np.ndarray) -> np.ndarray:
        """Block rows of each head.  [K, H]"""
        if self.norm is Norm.L1:
            return self.family.block_sums(rates, self.starts, self.ends)
        distances, weights = self._represented
        return weights * np.exp(-self.unit * rates[None, :] * distances)

    def _block_slopes(self, rates: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """d/du of these rates' blocks.  [K, H]"""
        steep = np.expm1(self.unit * rates)
        if self.norm is Norm.L1:
            slopes = self.family.block_slopes(rates, self.starts, self.ends, blocks)
            return slopes * (steep / self.unit)
        return blocks * (-self._represented[0] * steep)

    @functools.cached_property
    def _represented(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances and weights of the lags that stand for blocks.  [K, 1] each"""
        lags, weights = represented(self.norm, self.starts, self.ends)
        return self.distances(lags)[:, None], weights[:, None]


def flushed(values: np.ndarray) -> np.ndarray:
    """Zero for what is far too small to matter: products of such numbers fall below the smallest
    normal double, where a processor takes up to a hundred times as long.
    """
    values[np.abs(values) < NEGLIGIBLE] = 0.0
    return values


def represented(norm: Norm, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lag that stands for each block in l2 (its middle, weighted by the root of its length)
    or sup (its first).
    """
    if norm is Norm.L2:
        return np.floor((starts + ends - 1) / 2), np.sqrt(ends - starts)
    return starts, np.ones(len(starts))


@functools.lru_cache(maxsize=KEPT)
def sample(problem: Problem) -> Sample:
    """The full sample of a problem."""
    family, low = problem.decay, problem.lowest_rate
    finite = problem.kernel.support is not None
    slowest = family.slowest(problem.norm) if problem.tail_counts else 0.0
    floor = family.least_searched(problem.length, slowest, finite)
    length = max(problem.length, LEAST_LAGS) if problem.tail_counts else problem.length
    starts, ends = _tail_edges(problem, length)
    lags = np.arange(problem.first_lag, length, dtype=np.float64)
    target = np.concatenate(
        [
            problem.kernel.values(length)[problem.first_lag :],
            _block_target(problem.norm, problem.kernel, starts, ends),
        ]
    )
    return Sample(
        family,
        Norm(problem.norm),
        lags,
        starts,
        ends,
        target,
        length,
        problem.budget,
        max(low, floor),
        family.fastest,
    )


@functools.lru_cache(maxsize=KEPT)
def thin(full: Sample, growth: float = GROWTH) -> Sample:
    """Blocks of lags; the full sample where the target is too rough for that."""
    count = len(full.lags)
    values = full.target[:count]
    edges = block_edges(full.lags, values, growth)
    if len(edges) == 0:
        return full
    dense = int(edges[0] - full.lags[0])
    inside = _compressed(full.norm, full.lags, values, edges)
    return dataclasses.replace(
        full,
        lags=full.lags[:dense],
        starts=np.concatenate([edges[:-1], full.starts]),
        ends=np.concatenate([edges[1:], full.ends]),
        target=np.concatenate([values[:dense], inside, full.target[count:]]),
    )


def block_edges(lags: np.ndarray, values: np.ndarray, growth: float = GROWTH) -> np.ndarray:
    """Borders of blocks of consecutive lags on which the values are nearly linear; lags before the
    first stay single. None where the values are too rough.  [K + 1]
    """
    dense = DENSE_LAGS
    while 2 * dense < len(lags):
        edges = _edges(lags, dense, growth)
        keep = np.concatenate([lags[:dense], (edges[:-1] + edges[1:] - 1) / 2])
        between = np.interp(lags, keep, np.interp(keep, lags, values))
        if np.abs(between - values).sum() <= SMOOTH * np.abs(values).sum():
            return edges
        dense *= 2
    return np.zeros(0)


def _edges(lags: np.ndarray, dense: int, growth: float) -> np.ndarray:
    """Block borders from lag number `dense` to the end of the lags."""
    edges, end = [lags[dense]], lags[-1] + 1
    while edges[-1] < end:
        edges.append(min(edges[-1] + max(1.0, math.floor(growth * edges[-1])), end))
    return np.array(edges)


def _compressed(norm: Norm, lags: np.ndarray, values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The target's block rows."""
    if norm is Norm.L1:
        return np.add.reduceat(values, (edges[:-1] - lags[0]).astype(int))
    at, weights = represented(norm, edges[:-1], edges[1:])
    return weights * values[(at - lags[0]).astype(int)]


def _tail_edges(problem: Problem, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks beyond the window: lengthening ratios, the last one without end in l1."""
    if not problem.tail_counts:
        return np.zeros(0), np.zeros(0)
    steps, width, whole = [FIRST], FIRST, problem.kernel.tail(length)
    while (reach := math.fsum(steps)) < REACH - (0 if problem.decay.geometric else WIDEST):
        width *= LONGER
        if not problem.decay.geometric:  # tails of many log heads change sign far out
            width = min(width, WIDEST)
        elif problem.kernel.tail(int(length * math.exp(reach))) > FAINT * whole:
            width = min(width, CLOSE)
        steps.append(width)
    ratios = np.exp(np.cumsum(steps))
    edges = np.floor(length * np.concatenate([[1.0], ratios]))
    last = np.inf if problem.norm is Norm.L1 else edges[-1] * 4
    return edges, np.append(edges[1:], last)


def _block_target(
    norm: Norm, kernel: AbstractKernel, starts: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """The kernel's block rows beyond the window (zero beyond its support)."""
    if len(starts) == 0 or kernel.support is not None:
        return np.zeros(len(starts))
    if norm is not Norm.L1:
        at, weights = represented(norm, starts, ends)
        return weights * np.asarray(kernel.formula(at, np), dtype=np.float64)
    values = kernel.values(int(FAR * starts[0]))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    positive = bool(values[-1] >= 0)
    rows = np.zeros(len(starts))
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if end <= len(values):
            rows[k] = sums[int(end)] - sums[int(start)]
        # beyond: a kernel of one sign sums to its tail bound (exact for powers and exponentials)
        elif positive:
            rows[k] = kernel.tail(int(start)) - (
                kernel.tail(int(end)) if math.isfinite(end) else 0.0
            )
    return rows
