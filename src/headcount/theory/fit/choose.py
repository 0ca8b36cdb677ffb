"""The one function that fits: closed forms first, then the search that suits the kernel, best answer kept.

Order. (1) No head, and every closed form; an optimal one ends the matter. (2) Smooth kernels: variable projection follows
the least-squares valley from 1 to H heads, a matrix pencil offers a second start, and sequential programs finish in the
norm and budget asked for. (3) Otherwise heads are added one at a time under the budget (`path`); without a budget
under one of 10^6 times the kernel, beyond which float64 coefficients would only add rounding.

More heads never make it worse: every level keeps what the last one had. Whoever interrupts gets the best so far.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np

from headcount.core.errors import require
from headcount.theory.errors import measure
from headcount.theory.families import Lin
from headcount.theory.fit.closed import closed_forms, quadrature_rates, within_budget
from headcount.theory.fit.path import levels, nothing
from headcount.theory.fit.pencil import pencil_rates
from headcount.theory.fit.sample import Sample, sample, size, thin
from headcount.theory.fit.slp import Point, at, refine
from headcount.theory.fit.varpro import chain
from headcount.theory.problem import HeadSum, Norm, Problem

Progress = Callable[[str], None]
SMOOTH_ENOUGH = 1e-3  # relative error below which the valley of smooth kernels is trusted
ROUGH_BUDGET = 1e6  # sum|a| that a search without budget may use, relative to the kernel's largest value
CLOSE = 8.0  # levels within this factor of the last are finished too, so that none of them can turn out better


@dataclasses.dataclass(frozen=True)
class Fit:
    """Heads that approximate a kernel, and how they were found. Errors are `errors.measure`'s business."""

    head_sum: HeadSum
    method: str
    notes: tuple[str, ...] = ()


def fit_heads(problem: Problem, heads: int, *, lowest_rate: float | None = None, progress: Progress | None = None) -> Fit:
    """The best sum of at most `heads` heads. ^C returns the best found so far, and says so in the notes."""
    require(isinstance(heads, int) and heads >= 1, f"{heads} heads", "at least 1", "pass --heads 1 or more")
    best: Fit | None = None
    try:
        for fit in improving(problem, heads, lowest_rate, progress or (lambda _: None)):
            best = fit
    except KeyboardInterrupt:
        if best is None:
            raise
        best = dataclasses.replace(best, notes=(*best.notes, "interrupted: the best found so far"))
    assert best is not None
    return best


def fewest_heads(problem: Problem, tol: float, max_heads: int = 64, *, lowest_rate: float | None = None, progress: Progress | None = None) -> Fit:
    """The fewest heads found whose error is at most `tol` times the kernel's norm; the best fit and a note if none do."""
    require(tol > 0, f"tolerance {tol}", "a positive number", "pass --tol 0.01, relative to the kernel's norm")
    require(max_heads >= 1, f"at most {max_heads} heads", "at least 1", "raise max_heads")
    low, high, reached = 0, 1, None
    while reached is None:
        fit = fit_heads(problem, min(high, max_heads), lowest_rate=lowest_rate, progress=progress)
        if measure(problem, fit.head_sum).relative[problem.norm] <= tol:
            reached = fit
        elif high >= max_heads:
            return dataclasses.replace(fit, notes=(*fit.notes, f"{tol:g} not reached with {max_heads} heads"))
        else:
            low, high = high, 2 * high
    high = min(high, max_heads, max(reached.head_sum.heads, low + 1))
    while high - low > 1:
        middle = (low + high) // 2
        fit = fit_heads(problem, middle, lowest_rate=lowest_rate, progress=progress)
        if measure(problem, fit.head_sum).relative[problem.norm] <= tol:
            reached, high = fit, min(middle, max(fit.head_sum.heads, low + 1))
        else:
            low = middle
    return reached


def improving(problem: Problem, heads: int, lowest_rate: float | None, progress: Progress) -> Iterator[Fit]:
    """Ever better fits; the last is the answer."""
    full = sample(problem, lowest_rate)
    best, least = None, math.inf
    for closed in closed_forms(problem, heads, full.low):
        error = score(problem, full, closed.head_sum)
        if error < least or closed.optimal:
            best, least = Fit(closed.head_sum, closed.method), error
            yield best
        if closed.optimal:
            return
    if math.isinf(problem.budget) and problem.kernel.support == heads_to_interpolate(problem, heads):
        return  # one lag, enough heads: the infimum is 0 and the closed form is as near to it as its digits say
    for method, point in search(full, heads, quadrature_rates(problem, heads), progress):
        head_sum = to_heads(full, point)
        error = score(problem, full, head_sum)
        if error < least and within_budget(head_sum, problem.budget):
            best, least = Fit(head_sum, method), error
            yield best


def heads_to_interpolate(problem: Problem, heads: int) -> int:
    """The support T + 1 of a lag kernel that `heads` heads can interpolate, -1 otherwise."""
    from headcount.memory.kernels import Lag

    if not isinstance(problem.kernel, Lag):
        return -1
    needed = problem.kernel.T + 1 - problem.family.first_lag
    return problem.kernel.T + 1 if heads >= needed else -1


def search(full: Sample, heads: int, spread: np.ndarray, progress: Progress) -> Iterator[tuple[str, Point]]:
    """Candidates on the full sample, from the cheapest method to the dearest."""
    data, whole = thin(full), size(full.norm, full.target)
    best = nothing(full)
    for method, point in _smooth(full, data, heads, spread, progress):
        if point.error < best.error:
            best = point
            yield method, point
    if best.error <= SMOOTH_ENOUGH * whole:
        return
    if math.isinf(full.budget):
        full = dataclasses.replace(full, budget=ROUGH_BUDGET * float(np.abs(full.target).max(initial=0.0)) + 1e-300)
        data = dataclasses.replace(data, budget=full.budget)
    trail = []
    for h, point in enumerate(levels(data, heads), 1):
        progress(f"{h} of {heads} heads: {point.error / max(whole, 1e-300):.3g} of the kernel's norm")
        trail.append(point)
        yield "one head at a time, sequential programs", at(full, point.rates)
    for point in _finished(full, trail):
        yield "one head at a time, sequential programs", point


def _smooth(full: Sample, data: Sample, heads: int, spread: np.ndarray, progress: Progress) -> Iterator[tuple[str, Point]]:
    """Variable projection from 1 to H heads (least squares), then programs in the norm asked for."""
    squares = thin(dataclasses.replace(full, norm=Norm.L2, starts=np.zeros(0), ends=np.zeros(0), target=full.target[: len(full.lags)]))
    trail = []
    for rates in chain(squares, heads):
        progress(f"{len(rates)} of {heads} heads by variable projection")
        trail.append(at(data, rates))
    for point in _finished(full, [refine(data, p, steps=25) if p.error < CLOSE * 4 * trail[-1].error else p for p in trail]):
        yield "variable projection, then sequential programs", point
    if isinstance(full.family, Lin) and trail:
        rates = pencil_rates(full.target[: len(full.lags)], heads)
        if len(rates):
            yield "matrix pencil, then sequential programs", next(_finished(full, [refine(data, at(data, rates), steps=15)]))
    if len(spread) > len(trail):
        yield "quadrature, then a linear program", at(full, spread)


def _finished(full: Sample, trail: list[Point]) -> Iterator[Point]:
    """The last levels, refined on the full sample."""
    for point in trail[::-1]:
        if point.error <= CLOSE * trail[-1].error:
            yield refine(full, at(full, point.rates), steps=8)


def to_heads(data: Sample, point: Point) -> HeadSum:
    """The point as heads: rates at the upper end become the limit curve, coefficients of no consequence are left out."""
    keep = point.coefficients != 0
    rates = np.where(point.rates >= data.high, np.inf, point.rates)[keep]
    return HeadSum.of(data.family, rates, point.coefficients[keep])


def score(problem: Problem, full: Sample, head_sum: HeadSum) -> float:
    """The error for comparing candidates: float64 where that is accurate, ball arithmetic where coefficients cancel."""
    weight = head_sum.coefficient_sum
    if weight < 1e8:
        rates = np.array([min(b, full.high) for b in head_sum.rates])
        a = np.array([float(x.p) / float(x.q) for x in head_sum.coefficients])
        error = full.error(rates, a)
        if error > 1e-12 * weight * len(full.target):
            return error
    return measure(problem, head_sum)[problem.norm]
