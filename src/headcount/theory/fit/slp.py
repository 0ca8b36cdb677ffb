"""Rates by sequential linear programming: linearise the heads in their rates, solve the program in
a trust region, repeat.

    sum_h (a_h + da_h) phi(s; b_h) + a_h dphi/du (s; b_h) d_h  ~  rho(s),   |d_h| <= radius,

with u the coordinate of `sample`, in the norm that is asked for (l1 and sup programs; l2 becomes
Gauss-Newton in a trust region) and within the budget, whose signs are held during a step. After
each step the coefficients are solved anew for the new rates, so that steps are judged by min_a of
the error, as in variable projection (Golub and Pereyra 1973): valleys that bend in (a, b) are
straight in b alone.

Curvature. Where the residual vanishes or alternates on 2H lags the linear program is Newton's step.
A budget leaves fewer, so that the second derivative of the Lagrangian is added to the program: with
the lags' multipliers y,

    sum_h q_h d_h^2 / 2,     q_h = max(0, -a_h sum_s y_s d2phi/du^2 (s; b_h)).

It is diagonal: at a stationary point sum_s y_s dphi/du vanishes, and with it the (a_h, b_h) block's
corner. Valleys of the l1 error are kinked and curved, so that a good step may first climb
(Maratos): such a step is followed by a second one before it is judged.
"""

import dataclasses
import math

import numpy as np

from headcount.theory.fit.lp import orthonormal, solved, triangular, within
from headcount.theory.fit.sample import Sample
from headcount.theory.interior import fit_program, solve
from headcount.theory.measure import norm_of
from headcount.theory.problem import Norm

# gaps of programs, relative to the error: no digits that the next step does not use, and points
# well inside, from which heads are freer to move than from corners
COARSE, FINE, SHARE = 1e-6, 1e-9, 1e-3  # share: of what the last step gained
SMALLEST = 1e-9  # radius
KEPT = 0.7  # of the promised gain: a step that brings as much is taken as the program has it


@dataclasses.dataclass(frozen=True)
class Point:
    """Rates, coefficients and their error on the sample that they were found on."""

    rates: np.ndarray  # [H]
    coefficients: np.ndarray  # [H]
    error: float
    multipliers: np.ndarray  # [S], of the lags in the coefficients' program


def at(data: Sample, rates: np.ndarray, tol: float = 1e-9) -> Point:
    """The best point with these rates."""
    rates = data.bounded(np.asarray(rates, dtype=np.float64))
    a, y = solved(data, rates, tol)
    return Point(rates, a, data.error(rates, a), y)


def refine(
    data: Sample, start: Point, steps: int = 20, radius: float = 0.5, gain: float = 1e-6
) -> Point:
    """Improve a point until a step gains less than `gain` of the error; never make it worse."""
    best, settled, tol = start, True, COARSE
    for _ in range(steps):
        if best.error <= 0 or len(best.rates) == 0:
            break
        plan = _program(data, best, radius, tol)
        if plan.promised < -gain * best.error and radius > SMALLEST:
            # no step at all were better: rounding, which another program need not meet
            radius, tol = 0.3 * radius, COARSE
            continue
        if plan.promised <= gain * best.error:
            break
        after = _as_planned(data, best, plan)
        settled = best.error - after.error < KEPT * plan.promised
        if settled:
            after = _moved(data, best, plan, tol)
        # off the valley's floor: once more from there, then judge
        if best.error - after.error < 0.25 * plan.promised:
            again = _moved(data, after, _program(data, after, plan.reach, tol), tol)
            after = min(after, again, key=lambda p: p.error)
        gained = best.error - after.error
        tol = min(tol, max(FINE, SHARE * gained / best.error))
        if gained < 0.25 * plan.promised:
            radius = 0.3 * min(radius, plan.reach)
        elif gained > 0.7 * plan.promised and plan.reach > 0.9 * radius:
            radius = min(2.5 * radius, 3.0)
        if gained > 0:
            best = after
        if radius < SMALLEST or (0 < gained < 0.1 * gain * best.error):
            break
    if settled:
        return best
    return min(best, at(data, best.rates), key=lambda p: p.error)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """A step: moves of u [H], change of the coefficients [H], the largest move in units of the
    heads' room, the gain promised, the lags' multipliers [S].
    """

    moves: np.ndarray
    change: np.ndarray
    reach: float
    promised: float
    multipliers: np.ndarray


def _as_planned(data: Sample, point: Point, plan: _Plan) -> Point:
    """Rates and coefficients as the program has them: no second program where that is good."""
    rates = data.rates_at(data.coordinate(point.rates) + plan.moves)
    a = within(point.coefficients + plan.change, data.budget)
    return Point(rates, a, data.error(rates, a), plan.multipliers)


def _moved(data: Sample, point: Point, plan: _Plan, tol: float) -> Point:
    after = at(data, data.rates_at(data.coordinate(point.rates) + plan.moves), tol)
    return dataclasses.replace(after, multipliers=plan.multipliers)


def _program(data: Sample, point: Point, radius: float, tol: float) -> _Plan:
    """The linearised program's step."""
    b, a, H = point.rates, point.coefficients, len(point.rates)
    A = data.columns(b)
    first, second = data.derivatives(b, A)
    D = first * a
    residual = data.target - A @ a
    B = np.hstack([A, D]) / point.error  # [S, 2H]
    floor = np.concatenate([np.full(H, 1 / data.budget), np.full(H, 1.0)])
    change = triangular(orthonormal(B, floor), np.eye(2 * H))
    G, h = _limits(data, point, radius)
    q = _curvature(data, point, second, residual)
    bend = (np.sqrt(q)[:, None] * change[H:], np.zeros(H))
    lp = fit_program(data.norm, residual / point.error, B @ change, (G @ change, h), bend=bend)
    answer = solve(lp, tol)
    x = change @ answer.x
    after = norm_of(residual - A @ x[:H] - D @ x[H:], data.norm)
    bent = point.error * float(q @ x[H:] ** 2)
    expected = (
        math.hypot(after, math.sqrt(bent * point.error))
        if data.norm is Norm.L2
        else after + bent / 2
    )
    reach = float((np.abs(x[H:]) / room(data.coordinate(b))).max())
    return _Plan(x[H:], x[:H], reach, point.error - expected, answer.y[: len(residual)])


def _curvature(data: Sample, point: Point, second: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """q_h of the module docstring, for the error divided by its present value.  [H]"""
    y = residual / point.error if data.norm is Norm.L2 else point.multipliers
    return np.maximum(0.0, -point.coefficients * (y @ second)) / point.error


def room(u: np.ndarray) -> np.ndarray:
    """The distance to the nearest other head, at most 1: the scale on which a head's move is
    small.  [H]
    """
    if len(u) < 2:
        return np.ones(len(u))
    order = np.argsort(u)
    gaps = np.diff(u[order])
    near = np.empty(len(u))
    near[order] = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))
    return np.clip(near, 1e-9, 1.0)


def _limits(data: Sample, point: Point, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Trust region and rate bounds; with a budget also a_h's signs and sum |a_h| <= C."""
    H, b, a = len(point.rates), point.rates, point.coefficients
    none, unit = np.zeros((H, H)), np.eye(H)
    u, (low, high) = data.coordinate(b), data.coordinate(np.array([data.low, data.high]))
    reach = radius * room(u)
    up, down = np.minimum(reach, high - u), np.minimum(reach, u - low)
    G = np.vstack([np.hstack([none, unit]), np.hstack([none, -unit])])
    h = np.concatenate([np.maximum(up, 1e-12), np.maximum(down, 1e-12)])
    if math.isinf(data.budget):
        return G, h
    signs = np.where(a < 0, -1.0, 1.0)
    C = data.budget
    G = np.vstack(
        [G, np.hstack([-np.diag(signs) / C, none]), np.hstack([signs / C, np.zeros(H)])[None]]
    )
    return G, np.concatenate([h, np.abs(a) / C, [max(1 - np.abs(a).sum() / C, 0.0)]])
