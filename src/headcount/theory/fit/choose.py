"""The one function that fits: closed forms first, then the search that suits the kernel, best
answer kept.

Order. (1) No head, and every closed form; an optimal one ends the matter. (2) Smooth kernels:
variable projection follows the least-squares valley from 1 to H heads, a matrix pencil offers a
second start, and sequential programs finish in the norm and budget asked for. Where that ends in a
mixture of decays (no heads cancel) which leaves the budget unused, it is the answer. (3) Otherwise,
under a budget, the search begins with the best of any number of heads (`from_above`). Where fewer
are asked for and that costs something, a handful is also added one at a time (`path`), and of more
heads single ones are exchanged. Without a budget that is done under one of 10^10 times the kernel,
beyond which float64 coefficients would only add rounding.

Whoever interrupts gets the best so far.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from headcount.core.errors import require
from headcount.core.threads import one_thread
from headcount.memory.kernels import Lag
from headcount.theory.closed_forms import closed_forms, quadrature_rates
from headcount.theory.fit.by_places import by_places
from headcount.theory.fit.fewest import doubling, fewest
from headcount.theory.fit.from_above import FEW, exchange, from_above, optimal_rates
from headcount.theory.fit.path import levels, nothing
from headcount.theory.fit.pencil import pencil_rates
from headcount.theory.fit.sample import KEPT, Sample, sample, thin
from headcount.theory.fit.shaped_fit import DEFAULT_LEAK, fit_shaped
from headcount.theory.fit.slp import Point, at, refine, room
from headcount.theory.fit.varpro import chain
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.heads import AbstractDecay
from headcount.theory.measure import measure, norm_of
from headcount.theory.problem import Norm, Problem

Progress = Callable[[str], None]
# relative error below which the valley of smooth kernels is trusted without a budget
# (always if no heads cancel)
SMOOTH_ENOUGH = 1e-6
# the same with a budget, whose valley has many side arms: what float32 weights would not show
ENOUGH = 1e-7
# and below which float64 programs no longer see what they gain
DIGITS_END = 2e-9
# sum|a| that a search without budget may use, relative to the kernel's largest value: beyond it
# float64 programs lose their way, and where even that spoils sums, or may, the second is tried
ROUGH_BUDGET, CAREFUL_BUDGET = 1e10, 1e6
# least-squares rates lose less than this in l1 or sup: only levels that close to the last matter
CLOSE = 1.1
FAR = 2.0  # and beyond this levels before are further still
# times the sampled error: rounding and tails have made another sum of this one; smaller
# coefficients may help, or fewer heads, which cancel less
SPOILT, NONE = 1.2, 0.999
# blocks between thin and full for many heads, and the gain that is left alone after them
FINE, LITTLE = 0.02, 1e-5
CLOSE_THIN = 1.02  # thin and full sample differ by less than this
SLOW = 1.2  # log heads slower than this have tails that blocks of lags cannot be trusted with
ROOM = 2.0  # a mixture of decays that uses no more than 1/ROOM of its budget is not held by it
# heads: more than a handful are not added one at a time, and more than many are not followed from
# one to all under a budget
HANDFUL, MANY = 8, 16
FROM_ABOVE = "from the best of any number of heads, sequential programs"
ALIKE = 0.05  # of the distance to the next head: the same point, nearly reached
TREND = 4  # heads over which the fall of errors is read
RACING, BEHIND = 4, 2.0  # starts, and their error relative to the best, beyond which none begins
RACE, LOST = 3, 1.3  # steps of each start, and the error beyond which it is given up
STEADY, STEADY_SUP = 0.15, 0.3  # above the slowest log heads: tails that can be trusted
MULTISTART = 6  # with as few heads as this, several starts are refined


@one_thread()
def fit_heads(
    problem: Problem, heads: int, *, leak: float = DEFAULT_LEAK, progress: Progress | None = None
) -> Fit:
    """The best sum of at most `heads` heads; the best found so far after ^C. `leak` is what one
    peak or rotary head may leave on the other lags.
    """
    require(
        isinstance(heads, int) and heads >= 1,
        f"{heads} heads",
        "at least 1",
        "pass --heads 1 or more",
    )
    if not isinstance(problem.family, AbstractDecay):
        return fit_shaped(problem, heads, leak)
    best: Fit | None = None
    try:
        for fit in improving(problem, heads, progress or (lambda _: None)):
            best = fit
    except KeyboardInterrupt:
        if best is None:
            raise
        best = dataclasses.replace(best, interrupted=True)
    assert best is not None
    return best


@one_thread()
def fewest_heads(
    problem: Problem, tol: float, max_heads: int = 64, *, progress: Progress | None = None
) -> Fit:
    """The fewest heads found whose error is at most `tol` times the kernel's norm; the best fit,
    which says so, if none do.
    """
    require(
        tol > 0,
        f"tolerance {tol}",
        "a positive number",
        "pass --tol 0.01, relative to the kernel's norm",
    )
    require(max_heads >= 1, f"at most {max_heads} heads", "at least 1", "raise max_heads")

    def error(fit: Fit) -> float:
        return measure(problem, fit.head_sum).relative[problem.norm]

    search = fewest(
        lambda heads: fit_heads(problem, heads, leak=tol / 4, progress=progress),
        lambda fit: error(fit) <= tol,
        doubling(max_heads),
        used=lambda fit: fit.head_sum.heads,
    )
    return search.found or min(search.tried.values(), key=error)


@one_thread()
def enough_heads(problem: Problem, tol: float, most: int) -> int | None:
    """A number of heads whose least-squares rates already reach the error `tol`, found in a
    fraction of the time of a fit; None where the kernel is no mixture of decays, or none do, or
    errors fall so slowly that none will. A guess: it steers a search, and proves nothing.
    """
    full = sample(problem)
    if not isinstance(problem.family, AbstractDecay) or not falls(full):
        return None
    data, errors = thin(full), []
    for rates in chain(data, most):
        errors.append(at(data, rates, 1e-6).error)
        if errors[-1] <= tol:
            return len(rates)
        if len(errors) > TREND:  # as from the level TREND before this one, so on
            fall = (errors[-1] / errors[-1 - TREND]) ** ((most - len(rates)) / TREND)
            if errors[-1] * fall > tol:
                return None
    return None


@one_thread()
def least_error(problem: Problem) -> float:
    """About the error of the best sum of any number of heads within the budget, by one convex
    program on a grid of rates. An estimate, no bound: rates between those of the grid may halve it.
    """
    return optimal_rates(_steady(thin(sample(problem))))[1]


@one_thread()
def error_near(problem: Problem, rates: np.ndarray) -> float:
    """About the error of the best heads near these rates within the budget. An estimate, no bound:
    a search that looks further may find better ones.
    """
    data = thin(sample(problem))
    return refine(data, at(data, rates, 1e-6), steps=8, gain=1e-2).error


def improving(problem: Problem, heads: int, progress: Progress) -> Iterator[Fit]:
    """Ever better fits; the last is the answer."""
    full = sample(problem)
    best, least = None, math.inf
    for closed in closed_forms(problem, heads, full.low):
        error = score(problem, full, closed.head_sum)
        if error < least or closed.optimal:
            best, least = closed, error
            yield best
        if closed.optimal:
            return
    # a budget that programs cannot tell from none is none to them; what exceeds it is not taken
    free = problem.budget >= ROUGH_BUDGET * _largest(full)
    unlimited = math.isinf(problem.budget)
    if unlimited and isinstance(problem.kernel, Lag) and problem.interpolated_by(heads):
        # one lag, enough heads: the infimum is 0, and the closed form nears it as its digits allow
        return
    sampled, spread, spoilt = least, quadrature_rates(problem, heads), False
    enough, sure = SMOOTH_ENOUGH * norm_of(full.target, full.norm), _endless(full) or falls(full)
    for data in _samples(full, free):
        for method, point in search(data, heads, spread, progress):
            head_sum = to_heads(full, point)
            error, sampled = score(problem, full, head_sum, least), min(sampled, point.error)
            if error < least and head_sum.within(problem.budget):
                best, least = Fit(head_sum, method), error
                yield best
        none = best is not None and best.head_sum.heads == 0 and sampled < NONE * least
        spoilt = spoilt or none or least > max(SPOILT * sampled, enough)
        if sure and not spoilt:
            break
    if spoilt and heads > HANDFUL:
        for fit in improving(problem, heads * 3 // 4, progress):
            error = score(problem, full, fit.head_sum, least)
            if error < least:
                best, least = fit, error
                yield best
    if best is not None and least < DIGITS_END * norm_of(full.target, full.norm):
        for head_sum in by_places(problem, best.head_sum):
            if head_sum.within(problem.budget):
                yield Fit(head_sum, f"{best.method}, then places of exactness")


def search(
    full: Sample, heads: int, spread: np.ndarray, progress: Progress
) -> Iterator[tuple[str, Point]]:
    """Candidates on the full sample, from the cheapest method to the dearest."""
    data, whole, free = thin(full), norm_of(full.target, full.norm), math.isinf(full.budget)
    # as many heads as rows draw whatever these rows hold: more of them change nothing there
    heads, spread = min(heads, len(data.lags)), spread[: len(data.lags)]
    best = nothing(full)
    if _valley(full, heads):
        for method, point in _smooth(full, data, heads, spread, progress):
            best = min(best, point, key=lambda p: p.error)
            yield method, point
        drawn = best.error <= ENOUGH * whole or _fills(best, full.budget)
        if _settled(best, whole, free) if free else drawn:
            return
    alone = full.norm is Norm.L2 and best.error == whole  # least squares is its own answer here
    if alone and free:
        yield from _smooth(full, data, heads, spread, progress)
    if free:
        limit = ROUGH_BUDGET * _largest(full)
        full = dataclasses.replace(full, budget=limit)
        data = dataclasses.replace(data, budget=limit)
    above = from_above(_steady(data), heads)
    if above is not None:
        yield from _steadily(full, [(FROM_ABOVE, above.point)])
        if above.complete or heads > MANY or _settled(best, whole, free):
            return
    if alone and not free:
        yield from _smooth(full, data, heads, spread, progress)
    if above is not None and free and not full.family.geometric:
        return  # exchanges take as long again, and hardly ever help log heads
    if above is not None and (free or heads > HANDFUL):
        exchanged = exchange(_steady(data), above.point)
        yield from _steadily(full, [(f"{FROM_ABOVE}, heads exchanged", exchanged)])
        return
    trail = []
    for h, point in enumerate(levels(data, heads), 1):
        progress(
            f"{h} of {heads} heads: {point.error / max(whole, 1e-300):.3g} of the kernel's norm"
        )
        trail.append(("one head at a time, sequential programs", point))
        yield (
            trail[-1][0],
            dataclasses.replace(point, error=full.error(point.rates, point.coefficients)),
        )
    if trail:
        trail.append(("one head at a time, then exchanged", exchange(data, trail[-1][1])))
    yield from _finished(full, trail)


def _valley(full: Sample, heads: int) -> bool:
    """Is the valley of least squares worth following? Where heads cancel it seldom is: many lin
    heads, or those on a window, may use coefficients there that the rough budget forbids.
    """
    if math.isfinite(full.budget):
        return heads <= MANY and falls(full)
    many = heads > (FEW if not _endless(full) else MANY if full.family.geometric else math.inf)
    return many or falls(full)


def _endless(data: Sample) -> bool:
    """Do all lags count?"""
    return len(data.ends) > 0 and bool(data.ends[-1] > data.length)


def _samples(full: Sample, free: bool) -> list[Sample]:
    """Without budget, and with coefficients that leave sums what they are on the sample."""
    if not free:
        return [full]
    careful = CAREFUL_BUDGET * _largest(full)
    return [dataclasses.replace(full, budget=budget) for budget in (math.inf, careful)]


def _largest(full: Sample) -> float:
    return float(np.abs(full.target).max(initial=0.0)) + 1e-300


@functools.lru_cache(maxsize=KEPT)
def _steady(data: Sample) -> Sample:
    """Without the slowest log heads where all lags count: many of them change sign in far blocks,
    unseen there, and their measured tail outweighs what they gain.
    """
    if data.family.geometric or not _endless(data) or data.norm is Norm.L2:
        return data
    margin = STEADY_SUP if data.norm is Norm.SUP else STEADY
    return dataclasses.replace(data, low=max(data.low, data.family.slowest(data.norm) + margin))


def _smooth(
    full: Sample, data: Sample, heads: int, spread: np.ndarray, progress: Progress
) -> Iterator[tuple[str, Point]]:
    """Variable projection from 1 to H heads (least squares) and other starts, then programs in
    the norm asked for.
    """
    valley = []
    # in l1 a far block is one row: least squares then weighs the tail much as l1 does
    for rates in chain(data, heads):
        progress(f"{len(rates)} of {heads} heads by variable projection")
        valley.append(rates)
    if not valley:
        return
    starts = [
        (
            "evenly spaced rates",
            at(data, np.geomspace(max(data.low, 1 / data.length), fastest, heads)),
        )
        for fastest in (1.0, 2.0, 4.0)
    ]
    if full.family.geometric:
        starts.append(
            ("matrix pencil", at(data, pencil_rates(full.target[: len(full.lags)], heads)))
        )
    nearest = sorted(starts, key=lambda s: s[1].error)[: 3 if heads <= MULTISTART else 1]
    last = raced(data, [("variable projection", at(data, valley[-1])), *nearest])
    if heads <= MULTISTART and of_one_sign(last[1]):
        moved = [(last[0], at(data, rates, 1e-6)) for rates in shaken(data, last[1].rates)]
        last = min([last, raced(data, moved)], key=lambda s: s[1].error)
    near: list[tuple[str, Point]] = []
    whole = norm_of(data.target, data.norm)
    for rates in valley[-2::-1]:
        level = at(data, rates)
        if FAR * last[1].error < level.error < whole:  # rounding may have spoilt one altogether
            break
        if level.error < CLOSE * last[1].error:
            near.insert(0, ("variable projection", refine(data, level)))
    for method, point in _steadily(full, [*near, last]):
        yield f"{method}, then sequential programs", point
    if len(spread) > len(valley):
        yield "quadrature, then a linear program", at(full, spread)


def raced(data: Sample, starts: list[tuple[str, Point]]) -> tuple[str, Point]:
    """The best of some starts: each goes a few steps, and those in front go on to the end, one
    alone where heads cancel: there are too many valleys then.
    """
    nearest = sorted(starts, key=lambda s: s[1].error)[:RACING]
    begun = [s for s in nearest if s[1].error <= BEHIND * nearest[0][1].error]
    tried = [(m, refine(data, p, steps=RACE, gain=1e-4)) for m, p in begun]
    least = min(p.error for _, p in tried)
    front: list[tuple[str, Point]] = []
    for start in sorted((s for s in tried if s[1].error <= LOST * least), key=lambda s: s[1].error):
        if not any(alike(data, start[1], ahead[1]) for ahead in front):
            front.append(start)
    count = 3 if of_one_sign(front[0][1]) else 1
    return min(((m, refine(data, p, steps=25)) for m, p in front[:count]), key=lambda s: s[1].error)


def alike(data: Sample, one: Point, other: Point) -> bool:
    """Are two points on their way to the same one?"""
    u, v = (np.sort(data.coordinate(point.rates)) for point in (one, other))
    return len(u) == len(v) and bool((np.abs(u - v) < ALIKE * room(v)).all())


def falls(full: Sample) -> bool:
    """Does the kernel fall ever more slowly, and never below 0, as mixtures of decays do: as a
    function of the distance l(s), in which heads are exponentials?
    """
    values = full.target[: len(full.lags)]
    slopes = np.diff(values) / np.diff(full.distances(full.lags))
    return bool((values >= 0).all() and (slopes <= 0).all() and (np.diff(slopes) >= 0).all())


def _fills(point: Point, budget: float) -> bool:
    """No heads cancel, and the budget does not hold them: more of it would change nothing."""
    weight = np.abs(point.coefficients).sum()
    return len(point.rates) > 0 and of_one_sign(point) and weight < budget / ROOM


def _settled(point: Point, whole: float, free: bool) -> bool:
    """Is the valley of smooth kernels trusted to have led to the end?"""
    enough = SMOOTH_ENOUGH if free else ENOUGH
    return (len(point.rates) > 1 and of_one_sign(point)) or point.error <= enough * whole


def of_one_sign(point: Point) -> bool:
    """No heads cancel: the kernel is drawn as a mixture of decays, an easy valley to follow."""
    return bool(np.all(point.coefficients >= 0) or np.all(point.coefficients <= 0))


def shaken(data: Sample, rates: np.ndarray) -> list[np.ndarray]:
    """The fastest heads moved: with few heads there is a local optimum for each choice of early
    lags that they meet.
    """
    rates = np.sort(rates)
    weights = np.linspace(0, 1, len(rates) + 1)[1:] ** 2
    return [data.bounded(rates * factor**weights) for factor in (0.55, 0.7, 0.85, 1.2, 1.5, 2.0)]


def _finished(full: Sample, trail: list[tuple[str, Point]]) -> Iterator[tuple[str, Point]]:
    """The best point of the thin sample, and those that might turn out better on the full one,
    refined there.
    """
    least = min(point.error for _, point in trail)
    seen: list[Point] = []
    for method, point in trail[::-1]:
        if point.error <= CLOSE_THIN * least and not any(point is other for other in seen):
            seen.append(point)
            if len(point.rates) > HANDFUL and of_one_sign(point):  # every lag is a row too many
                between = thin(full, FINE)
                near = refine(between, at(between, point.rates), steps=8)
                yield method, refine(full, at(full, near.rates), steps=8, gain=LITTLE)
            else:
                yield method, refine(full, at(full, point.rates), steps=8)


def _steadily(full: Sample, trail: list[tuple[str, Point]]) -> Iterator[tuple[str, Point]]:
    """The same, and beside what uses the slowest heads the best near it without them."""
    steady = _steady(full)
    for method, point in _finished(full, trail):
        yield method, point
        if (point.rates < steady.low).any():
            yield method, refine(steady, at(steady, point.rates), steps=8)


def to_heads(data: Sample, point: Point) -> HeadSum:
    """The point as heads: rates at the upper end become the limit curve, coefficients of no
    consequence are left out.
    """
    keep = point.coefficients != 0
    rates = np.where(point.rates >= data.high, np.inf, point.rates)[keep]
    return HeadSum.of(data.family, rates, point.coefficients[keep])


def _cancels(head_sum: HeadSum) -> bool:
    return len({x > 0 for x in head_sum.coefficients}) > 1


def score(problem: Problem, full: Sample, head_sum: HeadSum, least: float = math.inf) -> float:
    """The error for comparing candidates: float64 where that is accurate, ball arithmetic where
    coefficients cancel or tails are long, and float64 does not tell that it exceeds `least`.
    """
    weight = head_sum.coefficient_sum
    slow = problem.tail_counts and (
        _cancels(head_sum) if problem.decay.geometric else min(head_sum.rates, default=2.0) < SLOW
    )
    if weight < 1e8:
        rates = np.array([min(b, full.high) for b in head_sum.rates])
        a = np.array([int(x.p) / int(x.q) for x in head_sum.coefficients])
        error = full.error(rates, a)
        accurate = error > 1e-12 * weight * len(full.target)
        if accurate and (not slow or error >= least):
            return error
    # a tail that a thousand lags leave open is of heads too slow to be of use
    return measure(problem, head_sum, most_lags=0)[problem.norm]
