"""A dense primal-dual interior point for small linear programs with absolute values.

    minimise   c.x + sum_i w_i |t_i - (B x)_i| + |K x - k|^2 / 2    subject to   G x <= h,   x free

covers every program of this folder: l1 fits (rows of B are lags), l2 fits (rows of K), sup fits
(neither: the bound is a variable), budgets and trust regions (rows of G), and the dictionary's
dual. Plain simplex on the raw exponential columns is silently wrong from about 24 lin or 8 log
heads, and stalls under a finite budget; an interior point takes 10-30 least-squares steps whatever
the budget.

Newton's system. With t - Bx = u - v, s = h - Gx, multipliers -w <= y <= w (p = w - y, q = w + y)
and z >= 0,

    (B' E^-1 B + G' (z/s) G) dx = -rd + B' E^-1 (rp - ru/p + rv/q) - G' (rz - z rs)/s,
    E = u/p + v/q,

which is a weighted least-squares problem: it is solved by QR of [E^-1/2 B; (z/s)^1/2 G], never by
normal equations, since B's columns are nearly dependent. Steps are Mehrotra's predictor and
corrector.
"""

import dataclasses

import numpy as np
from scipy.linalg import lapack

STEP_BACK = 0.9995
MAX_STEPS = 80


@dataclasses.dataclass(frozen=True)
class Solution:
    """x, the multipliers z of G x <= h and y of the rows, and whether the gap closed."""

    x: np.ndarray
    z: np.ndarray
    y: np.ndarray
    closed: bool


@dataclasses.dataclass
class _Point:
    """An interior point: all of u, v, s, z, w - y, w + y positive."""

    x: np.ndarray
    u: np.ndarray
    v: np.ndarray
    y: np.ndarray
    s: np.ndarray
    z: np.ndarray

    def moved(self, d: "_Point", primal: float, dual: float) -> "_Point":
        return _Point(
            self.x + primal * d.x,
            self.u + primal * d.u,
            self.v + primal * d.v,
            self.y + dual * d.y,
            self.s + primal * d.s,
            self.z + dual * d.z,
        )


@dataclasses.dataclass(frozen=True)
class Program:
    """min c.x + w.|t - Bx| + |k - Kx|^2/2 with Gx <= h; rows that are not there have length 0."""

    c: np.ndarray  # [n]
    B: np.ndarray  # [m, n]
    t: np.ndarray  # [m]
    w: np.ndarray  # [m]
    K: np.ndarray  # [l, n]
    k: np.ndarray  # [l]
    G: np.ndarray  # [g, n]
    h: np.ndarray  # [g]


def program(n: int, c=None, absolute=None, squares=None, limits=None) -> Program:
    """Fill in what is missing: absolute = (B, t, w), squares = (K, k), limits = (G, h)."""
    none, empty = np.zeros((0, n)), np.zeros(0)
    B, t, w = absolute or (none, empty, empty)
    K, k = squares or (none, empty)
    G, h = limits or (none, empty)
    return Program(np.zeros(n) if c is None else c, B, t, w, K, k, G, h)


def solve(lp: Program, tol: float = 1e-10, start: np.ndarray | None = None) -> Solution:
    """The optimum, or the last interior point (`closed` false) where rounding stops the
    progress. `start` is a first x.
    """
    # a step onto the boundary ends the loop below
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _solve(lp, tol, np.zeros(len(lp.c)) if start is None else start)


def _solve(lp: Program, tol: float, start: np.ndarray) -> Solution:
    now, closed = _start(lp, start), False
    for _ in range(MAX_STEPS):
        p, q = lp.w - now.y, lp.w + now.y
        misfit = lp.t - lp.B @ now.x
        rd = lp.c - lp.B.T @ now.y + lp.G.T @ now.z - lp.K.T @ (lp.k - lp.K @ now.x)
        rp, rs = misfit - now.u + now.v, lp.h - lp.G @ now.x - now.s
        gap = now.u @ p + now.v @ q + now.s @ now.z
        scale = tol * (1 + abs(float(lp.c @ now.x)) + float(lp.w @ np.abs(misfit)))
        if (
            gap <= scale
            and np.abs(rd).max(initial=0.0) < 1e3 * scale
            and np.abs(rs).sum() + np.abs(rp).sum() < 1e3 * scale
        ):
            closed = True
            break
        after = _step(now, lp, (p, q), (rd, rp, rs), gap)
        if after is None:
            break
        now = after
    return Solution(now.x, now.z, now.y, closed)


def _start(lp: Program, x: np.ndarray) -> _Point:
    """Residuals and slacks of x, pushed inside."""
    residual, slack = lp.t - lp.B @ x, lp.h - lp.G @ x
    lift = max(1e-3, float(np.abs(residual).mean()) if len(residual) else 1.0)
    u, v = np.maximum(residual, 0) + lift, np.maximum(-residual, 0) + lift
    s = np.maximum(slack, 1e-2 * (1 + np.abs(slack)))
    z = np.full(len(lp.h), max(float(lp.w.mean()), 1e-3) if len(lp.w) else 1.0)
    return _Point(x, u, v, np.zeros(len(lp.t)), s, z)


def _step(now: _Point, lp: Program, bounds, residuals, gap) -> "_Point | None":
    (p, q), (rd, rp, rs) = bounds, residuals
    E = now.u / p + now.v / q
    root_b, root_g = 1 / np.sqrt(E), np.sqrt(now.z / now.s)
    M = np.concatenate([root_b[:, None] * lp.B, root_g[:, None] * lp.G, lp.K])  # [m + g + l, n]
    R = _factor(M)
    if R is None:
        return None

    def direction(ru, rv, rz):
        rho = np.concatenate(
            [root_b * (rp - ru / p + rv / q), -root_g * (rz / now.z - rs), np.zeros(len(lp.k))]
        )
        dx = _normal_solve(R, M, rho, rd)
        dy = (rp - lp.B @ dx - ru / p + rv / q) / E
        change = lp.G @ dx
        return _Point(
            dx,
            (ru + now.u * dy) / p,
            (rv - now.v * dy) / q,
            dy,
            rs - change,
            (rz - now.z * (rs - change)) / now.s,
        )

    count = 2 * len(p) + len(now.s)
    if count == 0:
        d = direction(p, p, now.s)
        return now.moved(d, 1.0, 1.0)
    predictor = direction(-now.u * p, -now.v * q, -now.s * now.z)
    primal, dual = _lengths(now, predictor, p, q, 1.0)
    aim = now.moved(predictor, primal, dual)
    left = aim.u @ (p - dual * predictor.y) + aim.v @ (q + dual * predictor.y) + aim.s @ aim.z
    mu = (max(left, 0.0) / gap) ** 3 * gap / count
    d = direction(
        mu - now.u * p + predictor.u * predictor.y,
        mu - now.v * q - predictor.v * predictor.y,
        mu - now.s * now.z - predictor.s * predictor.z,
    )
    if not np.isfinite(d.x).all():
        return None
    primal, dual = _lengths(now, d, p, q, STEP_BACK)
    if len(lp.k):  # with a quadratic term x enters the dual residual: one common step
        primal = dual = min(primal, dual)
    return now.moved(d, primal, dual) if max(primal, dual) > 1e-12 else None


def _lengths(now: _Point, d: _Point, p, q, back: float) -> tuple[float, float]:
    primal = min(_longest(now.u, d.u), _longest(now.v, d.v), _longest(now.s, d.s))
    dual = min(_longest(p, -d.y), _longest(q, d.y), _longest(now.z, d.z))
    return min(1.0, back * primal), min(1.0, back * dual)


def _longest(value: np.ndarray, change: np.ndarray) -> float:
    """The largest step that keeps every entry positive."""
    fastest = (change / value).min(initial=0.0)
    return -1 / fastest if fastest < 0 else np.inf


def _factor(M: np.ndarray) -> np.ndarray | None:
    """R of M = QR (its lower triangle is not used)."""
    factors, _, _, info = lapack.dgeqrf(M)
    n = M.shape[1]
    R = factors[:n]
    diagonal = np.abs(R.diagonal())
    top = diagonal.max()
    if info != 0 or not np.isfinite(top):
        return None
    small = np.flatnonzero(diagonal < 1e-15 * top)
    R[small, small] = 1e-15 * top
    return R


def _normal_solve(R: np.ndarray, M: np.ndarray, rho: np.ndarray, rd: np.ndarray) -> np.ndarray:
    """dx with M'M dx = M' rho - rd: corrected semi-normal equations (one refinement)."""
    dx = lapack.dtrtrs(R, lapack.dtrtrs(R, M.T @ rho - rd, trans=1)[0])[0]
    return dx + lapack.dtrtrs(R, lapack.dtrtrs(R, M.T @ (rho - M @ dx) - rd, trans=1)[0])[0]
