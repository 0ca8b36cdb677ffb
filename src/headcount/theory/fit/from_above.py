"""From above: the best sum of *any* number of heads within a budget, then with ever fewer.

With sum|a| <= C the error is convex in the measure that puts weight a_h on rate b_h, and its
optimum sits on a few rates: those at which the multipliers' curve |g(b)| = |sum_s y_s phi(s; b)|
touches its maximum. They are found by exchange: solve on few rates, add the maxima of |g| in
between, let the rest go, until

    gap = C (max_b |g(b)| - level),

which bounds what any further head could gain, is small. Then neighbours of one sign are joined and
all rates moved to where they belong (`slp`, which converges like Newton's method here). If that
takes no more heads than were asked for it is the answer, and as quick for 64 heads as for 32.

Else the head that is missed least goes, and the others move; and so on down to the number asked
for. What a head is missed by is told by least squares with rows weighted as the last residual
weighs them: with column h made orthogonal to the others, |a_h| times its length. Where removal led
astray `exchange` may help: a head that is missed little goes, and one is added where it helps most.
"""

import dataclasses
import functools

import numpy as np

from headcount.theory.fit.greedy import with_one_more
from headcount.theory.fit.lp import norm_of_target
from headcount.theory.fit.sample import KEPT, Sample
from headcount.theory.fit.slp import Point, at, refine
from headcount.theory.interior import fit_program, solve
from headcount.theory.measure import norm_of

GRID = 480  # rates at which |g| is looked at
FIRST = 40  # rates of the first program
ROUNDS = 8
TOUCHING = 0.999  # of the level: a rate stays while |g| is this large
ENOUGH = 1e-3  # gap, relative to the error or to what was gained, at which exchange ends
USED = 1e-7  # of the largest coefficient
APART = 3 * GRID // FIRST  # steps of the grid beyond which two rates of one sign stay two
COMPLETE = 1.005  # of the least error of any number of heads: none is left out
FEW, FAR_MORE = 4, 12  # heads
TWICE, MODERATE = 2, 14  # times the heads asked for, or so many: from here on heads are moved
MUCH = 10.0  # times what the heads that could go are missed by: such a head stays
NEAR, HELP = 1.1, 1e-4  # of the error: what an exchange is followed for, and what it must gain
NO_HELP = 1e-8  # of the error: a head that is missed by no more goes at once


@dataclasses.dataclass(frozen=True)
class Above:
    """The point found, and whether it is as good as the best of any number of heads."""

    point: Point
    complete: bool


def from_above(data: Sample, heads: int) -> Above | None:
    """The best point found with at most `heads` heads; None where these are few and the optimum has
    more: then adding heads one at a time (`path`) finds as good ones sooner.
    """
    rates, least = optimal_rates(data)
    if heads <= FEW and len(rates) > FAR_MORE:
        return None  # moving them all would take long, and not leave so few
    near = max(TWICE * heads, MODERATE)
    # where most of them go there is no need to know where they belong
    now = _of_any_number(data) if len(rates) <= near else at(data, rates, 1e-7)
    if len(now.rates) <= heads:
        return Above(now, now.error <= COMPLETE * least)
    if heads <= FEW:
        return None
    while (here := len(now.rates)) > heads:
        count = 1 if here <= 12 else 2 if here <= 18 else here // 4
        now = at(data, with_fewer(data, now, min(count, here - heads)), 1e-7)
        if len(now.rates) <= heads:
            now = refine(data, now, steps=25)
        elif len(now.rates) <= near:
            now = refine(data, now, steps=3, gain=1e-3)
    return Above(now, now.error <= COMPLETE * least)


@functools.lru_cache(maxsize=KEPT)
def _of_any_number(data: Sample) -> Point:
    """The optimum's heads where they belong: the same for every number of heads."""
    return without_idle(data, refine(data, at(data, optimal_rates(data)[0]), steps=12))


@functools.lru_cache(maxsize=KEPT)
def optimal_rates(data: Sample) -> tuple[np.ndarray, float]:
    """Rates of the optimum over any number of heads, up to the spacing of the grid, and its error
    before near rates are joined.
    """
    scale = max(norm_of_target(data), 1e-300)
    budget = data.budget / scale
    grid = data.dictionary(GRID)
    columns = data.columns(grid)  # [S, GRID]
    places = np.unique(np.linspace(0, GRID - 1, FIRST).astype(int))
    for remaining in reversed(range(ROUNDS)):
        A, count = columns[:, places], len(places)
        own = (np.eye(count), np.zeros(count), budget)
        answer = solve(fit_program(data.norm, data.target / scale, A, budget=own), 1e-8)
        g = np.abs(answer.y @ columns)
        error = norm_of(data.target / scale - A @ answer.x, data.norm)
        gap = budget * (float(g.max()) - answer.level)
        if remaining == 0 or gap <= ENOUGH * min(error, max(1 - error, 1e-9)):
            break
        size = np.abs(answer.x)
        kept = (g[places] > TOUCHING * answer.level) | (size > 1e-5 * size.max())
        tops = _tops(g)
        places = np.union1d(places[kept], tops[g[tops] > TOUCHING * answer.level])
    return _joined(data, grid, places, answer.x), scale * error


def _tops(g: np.ndarray) -> np.ndarray:
    """Places of the local maxima."""
    padded = np.concatenate([[-1.0], g, [-1.0]])
    return np.flatnonzero((g >= padded[:-2]) & (g >= padded[2:]))


def _joined(data: Sample, grid: np.ndarray, places: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Rates in use; near ones of one sign, which stand for a rate in between, as their mean."""
    used = np.abs(a) > USED * np.abs(a).max(initial=0.0)
    places, a, u = places[used], a[used], data.coordinate(grid[places[used]])
    groups: list[list[int]] = []
    for k in range(len(a)):
        if groups and a[k] * a[k - 1] > 0 and places[k] - places[k - 1] <= APART:
            groups[-1].append(k)
        else:
            groups.append([k])
    means = [np.average(u[group], weights=np.abs(a[group])) for group in groups]
    return data.rates_at(np.array(means))


def missed(data: Sample, point: Point) -> np.ndarray:
    """How much each head is missed (module docstring), in the units of the error.  [H]"""
    A = data.columns(point.rates)
    residual = np.abs(data.target - A @ point.coefficients)
    weights = 1 / np.sqrt(np.maximum(residual, 1e-3 * residual.mean() + 1e-300))
    B = A * weights[:, None]
    sizes = np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    R = np.linalg.qr(np.vstack([B / sizes, 1e-9 * np.eye(len(sizes))]), mode="r")
    left = 1 / np.linalg.norm(np.linalg.inv(R), axis=1)  # of each column beside the others
    return np.abs(point.coefficients) * sizes * left


def with_fewer(data: Sample, point: Point, count: int) -> np.ndarray:
    """The rates without the heads that are missed least, at most `count` and no two of them
    neighbours; a head that is missed much more than those stays.
    """
    order = np.argsort(point.rates)
    loss, gone = missed(data, point)[order], list[int]()
    most = MUCH * np.sort(loss)[count - 1]
    for i in np.argsort(loss).tolist():
        if len(gone) < count and loss[i] <= most and all(abs(i - j) > 1 for j in gone):
            gone.append(i)
    return np.delete(point.rates[order], gone)


def exchange(data: Sample, point: Point) -> Point:
    """One head for another, twice at most and while that helps."""
    for _ in range(2):
        least = np.argsort(missed(data, point))[:2].tolist()
        # where no head was left, a first one
        others = [np.delete(point.rates, i) for i in least] or [point.rates]
        starts = [start for rates in others for start in with_one_more(data, rates)]
        starts = sorted(starts, key=lambda p: p.error)[:3]
        tried = [refine(data, start, steps=5, gain=1e-3) for start in starts]
        after = min(tried, key=lambda p: p.error)
        if after.error < NEAR * point.error:
            after = refine(data, after)
        if after.error > (1 - HELP) * point.error:
            break
        point = after
    return point


def without_idle(data: Sample, point: Point) -> Point:
    """Without the heads whose coefficients are next to nothing."""
    size = np.abs(point.coefficients)
    idle = size * norm_of_columns(data, point.rates) < NO_HELP * point.error
    return at(data, point.rates[~idle]) if idle.any() else point


def norm_of_columns(data: Sample, rates: np.ndarray) -> np.ndarray:
    return np.array([norm_of(column, data.norm) for column in data.columns(rates).T])
