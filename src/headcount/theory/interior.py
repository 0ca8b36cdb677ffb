"""The dense primal-dual interior point behind every fit and every budgeted bound.

    minimise   sum_i w_i |t_i - (B x)_i|   or   max_i |t_i - (P x)_i|,   and   |k - K x|^2 / 2
    subject to   G x <= h,   sum_i |d_i - (D x)_i| <= C,   x free.

l1 fits are rows of B, sup fits rows of P, l2 fits rows of K; trust regions are rows of G, budgets
rows of D. Plain simplex on the raw exponential columns is silently wrong from about 24 lin or 8 log
heads, and stalls under a finite budget; an interior point takes 10-30 least-squares steps whatever
the budget.

Newton's system. Stack all rows to A with right-hand sides t; a row has a residual r = t - A x and a
multiplier y, and A'y = 0 at the optimum. The kinds differ only in how y answers to r. With u, v, p,
q >= 0 and u p = v q = 0,

    absolute   r = u - v,   p = w - y,   q = w + y
    budget     r = u - v,   p = l - y,   q = l + y,   sum(u + v) = C   (l: the budget's multiplier)
    limit      r = u,       p = -y
    peak       y = u - v,   p = e - r,   q = e + r,   sum(u + v) = 1   (e: the largest residual)
    square     r = y

so that, with E = u/p + v/q, V = u/p - v/q and m what complementarity asks of u - v,

    dr = m + E dy - V dl,   in peaks   dy = m + E dr - V de,   in squares   dr = dy.

That is dy = psi (b - A dx), and A'dy = -A'y is the normal equation of a least-squares problem with
matrix psi^1/2 A. Columns are nearly dependent (condition 1e16 and beyond), so the equation is never
formed: the problem is solved by QR, and dy is its left-over. Householder reflectors keep that
orthogonal to the columns to rounding, which computing dy from dx would not: psi is huge wherever a
residual vanishes. Steps are predictor and corrector after Mehrotra (1992).

A step of length s takes the share s off the residuals t - A x - r and A'y. Worked out again they
show rounding besides, and nearly dependent columns answer it with large moves. Fits need the rows
to hold and mend it (`repair`). Bounds need good multipliers and mend only what the start has left:
under a budget of 1e7 rounding would cost them a quarter of their value.
"""

import dataclasses
import math

import numpy as np
from scipy.linalg import lapack

from headcount.theory.problem import Norm

STEP_BACK = 0.9995
MAX_STEPS = 80
SHORTEST = 1e-8
HEAVY = 1e3  # weight of what exceeds limits and budget, where points are compared
# without the checks that methods of arrays make first: they take longer than short sums
_total, _least, _largest = np.add.reduce, np.minimum.reduce, np.maximum.reduce
# a fit's gap that is still this wide, and fell by no more than this in so many steps, is held up by
# rounding
WIDE, WAITING, STALLED = 1e-3, 15, 0.7

Rows = tuple[np.ndarray, np.ndarray]  # a matrix and its right-hand side
Budget = tuple[np.ndarray, np.ndarray, float]  # the same, and the limit C of their absolute sum
Left = tuple[np.ndarray, np.ndarray]  # A'y and t - A x - r


@dataclasses.dataclass(frozen=True)
class Solution:
    """x, the multipliers of the rows that are minimised (absolute, peaks, squares), the budget's,
    and whether the gap closed.
    """

    x: np.ndarray  # [n]
    y: np.ndarray
    level: float
    closed: bool


@dataclasses.dataclass(frozen=True)
class Program:
    """The stacked rows, kind by kind: absolute, budget, peaks (these have two sides), limits (these
    have partners p too), squares.
    """

    A: np.ndarray  # [m, n]
    t: np.ndarray  # [m]
    w: np.ndarray  # [absolute]
    budget: float
    ends: tuple[int, int, int, int]  # where each kind but the last ends


def program(
    n: int,
    absolute: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    peaks: Rows | None = None,
    squares: Rows | None = None,
    limits: Rows | None = None,
    budget: Budget | None = None,
) -> Program:
    """absolute = (B, t, w), peaks = (P, t), squares = (K, k), limits = (G, h), budget = (D, d, C);
    what is missing has no rows.
    """
    none = (np.zeros((0, n)), np.zeros(0))
    kinds = [(kind or none)[:2] for kind in (absolute, budget, peaks, limits, squares)]
    ends = np.cumsum([len(t) for _, t in kinds]).tolist()
    return Program(
        np.asfortranarray(np.concatenate([A for A, _ in kinds])),  # as LAPACK wants it
        np.concatenate([t for _, t in kinds]),
        absolute[2] if absolute else np.zeros(0),
        budget[2] if budget else 0.0,
        (ends[0], ends[1], ends[2], ends[3]),
    )


def fit_program(
    norm: Norm,
    target: np.ndarray,
    B: np.ndarray,
    limits: Rows | None = None,
    budget: Budget | None = None,
    bend: Rows | None = None,
) -> Program:
    """The norm of target - B x (l2: half its square), minimised subject to limits and budget;
    `bend` are square rows besides. The first multipliers are those of the target.
    """
    n = B.shape[1]
    if norm is Norm.L1:
        rows = (B, target, np.ones(len(target)))
        return program(n, absolute=rows, squares=bend, limits=limits, budget=budget)
    if norm is Norm.SUP:
        return program(n, peaks=(B, target), squares=bend, limits=limits, budget=budget)
    if bend is not None:
        B, target = np.concatenate([B, bend[0]]), np.concatenate([target, bend[1]])
    return program(n, squares=(B, target), limits=limits, budget=budget)


def solve(
    lp: Program, tol: float = 1e-10, start: np.ndarray | None = None, repair: bool = True
) -> Solution:
    """The optimum, or the last interior point (`closed` false) where rounding stops the
    progress. `start` is a first x; `repair`: steps mend rounding in the rows too.
    """
    # a step onto the boundary ends the loop below
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _solve(lp, tol, np.zeros(lp.A.shape[1]) if start is None else start, repair)


def _solve(lp: Program, tol: float, start: np.ndarray, repair: bool) -> Solution:
    rows = _Layout.of(lp)
    now, closed, off = rows.start(start), False, np.inf
    left: Left | None = None
    gaps: list[float] = []
    best, least, cost = now.x, np.inf, np.inf
    for _ in range(MAX_STEPS):
        misfit = lp.t - lp.A @ now.x
        rd, rp = now.y @ lp.A, misfit - rows.residual(now)
        gap = float(now.near @ now.dual)
        sizes = np.abs(misfit)
        value = float(lp.w @ sizes[: len(lp.w)])
        if rows.swapped is not None:
            value += float(_largest(sizes[rows.peaks]))
        scale = tol * (1 + value)
        cost = value + rows.excess(misfit, sizes)
        if not cost > least:
            best, least = now.x, cost
        if gap <= scale and _largest(np.abs(rd), initial=0.0) < 1e3 * scale:
            off, before = float(np.abs(rp).sum()), off
            closed = off < 1e3 * scale
            if closed or off > before / 2:  # the rest is rounding: further steps only add to it
                break
        gaps.append(gap)
        if repair and len(gaps) > WAITING and gap > max(WIDE, STALLED * gaps[-1 - WAITING]):
            break
        after = _step(rows, now, (rd, rp) if repair or left is None else left, gap)
        if after is None:
            break
        now, left = after
    y = np.concatenate([now.y[: len(lp.w)], now.y[rows.peaks], now.y[rows.paired :]])
    level = float(rows.folded(now.dual, 1.0)[rows.budget].max(initial=0.0)) / 2  # p + q = 2 l
    # rounding may have spoilt the last steps
    x = now.x if closed or cost <= least + scale else best
    return Solution(x, y, level, closed)


@dataclasses.dataclass
class _Point:
    """An interior point, or a direction. `near` and `dual` are the partners whose products vanish
    at the optimum, all positive: u and p (peaks: p and u) of the paired rows, then v and q (peaks:
    q and v) of the two-sided ones.
    """

    x: np.ndarray  # [n]
    y: np.ndarray  # [m]
    near: np.ndarray  # [paired + two]
    dual: np.ndarray  # [paired + two]

    def moved(self, d: "_Point", primal: float, dual: float) -> "_Point":
        return _Point(
            self.x + primal * d.x,
            self.y + dual * d.y,
            self.near + primal * d.near,
            self.dual + dual * d.dual,
        )


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Where the rows of a kind are, and where `near` and `dual` hold their sides."""

    lp: Program
    two: int
    paired: int
    budget: slice
    peaks: slice
    swapped: np.ndarray | None  # [paired + two]: the sides of peaks, if there are any
    sums: list[tuple[slice, float]]  # parts whose u + v add up to a number, with that number

    @classmethod
    def of(cls, lp: Program) -> "_Layout":
        a, b, two, paired = lp.ends
        swapped = None
        if b < two:
            swapped = np.zeros(paired + two, dtype=bool)
            swapped[b:two] = swapped[paired + b :] = True
        budget, peaks = slice(a, b), slice(b, two)
        totals = ((budget, lp.budget), (peaks, 1.0))
        sums = [(part, total) for part, total in totals if part.start < part.stop]
        return cls(lp, two, paired, budget, peaks, swapped, sums)

    def folded(self, sides: np.ndarray, sign: float = -1.0) -> np.ndarray:
        """u - v (or u + v) of each paired row.  [paired]"""
        both = sides[: self.paired].copy()
        other = both[: self.two]
        (np.add if sign > 0 else np.subtract)(other, sides[self.paired :], out=other)
        return both

    def exchanged(self, near: np.ndarray, dual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u with v and p with q, from `near` and `dual` or back."""
        if self.swapped is None:
            return near, dual
        return np.where(self.swapped, dual, near), np.where(self.swapped, near, dual)

    def residual(self, now: _Point) -> np.ndarray:
        r = self.folded(now.near)
        if self.swapped is not None:
            r[self.peaks] /= -2  # p - q = -2 r
        return r if self.paired == len(now.y) else np.concatenate([r, now.y[self.paired :]])

    def excess(self, misfit: np.ndarray, sizes: np.ndarray) -> float:
        """What a point costs besides the rows that are minimised by their size: its squares, and
        what it exceeds limits and budget by.
        """
        squares, limits, beyond = misfit[self.paired :], misfit[self.two : self.paired], 0.0
        if len(limits):
            beyond = -float(_total(np.minimum(limits, 0.0)))
        if self.budget.start < self.budget.stop:
            beyond += max(0.0, float(_total(sizes[self.budget])) - self.lp.budget)
        return float(squares @ squares) / 2 + HEAVY * beyond

    def start(self, x: np.ndarray) -> _Point:
        """Residuals and slacks of x, pushed inside; products of about the same size."""
        lp, a, budget, peaks = self.lp, len(self.lp.w), self.budget, self.peaks
        r = lp.t - lp.A @ x
        sizes, split = np.abs(r), r[: self.two].copy()  # u - v
        lift, slack = np.empty(self.two), np.empty(self.two)  # at least u, v; p, q but for r and y
        product = z = 1.0
        if a:
            lift[:a] = product = max(1e-3, float(sizes[:a].mean()))
            slack[:a], z = lp.w, max(1e-3, float(lp.w.mean()))
        if self.swapped is not None:
            split[peaks], lift[peaks] = 0.0, 0.5 / (peaks.stop - peaks.start)
            slack[peaks] = 1.5 * max(1e-3, float(sizes[peaks].max()))
            product = float(slack[-1] * lift[-1])
        if budget.start < budget.stop:
            left = max(1e-3 * lp.budget, lp.budget - float(sizes[budget].sum()))
            lift[budget] = left / (2 * (budget.stop - budget.start))
            slack[budget] = product / lift[budget]
        tilt = np.zeros(self.two)
        tilt[peaks] = r[peaks]
        limit = r[self.two : self.paired]
        u = [np.maximum(split, 0) + lift, np.maximum(limit, 1e-2 * (1 + np.abs(limit)))]
        p = [slack - tilt, np.full(len(limit), z)]
        y = np.concatenate([np.zeros(self.two), -p[1], r[self.paired :]])
        u, p = [*u, np.maximum(-split, 0) + lift], [*p, slack + tilt]
        return _Point(x, y, *self.exchanged(np.concatenate(u), np.concatenate(p)))


def _step(rows: _Layout, now: _Point, left: Left, gap: float) -> tuple[_Point, Left] | None:
    """The next point, and what it leaves of the residuals but for rounding."""
    rd, rp = left
    newton = _Newton(rows, now, rd, rp)
    if not newton.sound:
        return None
    if len(now.near) == 0:
        return now.moved(newton.direction(now.near), 1.0, 1.0), (0 * rd, 0 * rp)
    products = now.near * now.dual
    # with a quadratic term x enters the dual residual: one common step
    common = rows.paired < len(rows.lp.t)
    predictor = newton.direction(-products)
    primal, dual = _lengths(now, predictor, 1.0, common)
    ahead = float((now.near + primal * predictor.near) @ (now.dual + dual * predictor.dual))
    mu = (max(ahead, 0.0) / gap) ** 3 * gap / len(products)
    d = newton.direction(mu - products - predictor.near * predictor.dual)
    if not (math.isfinite(_total(d.x)) and math.isfinite(_total(d.near))):
        return None
    primal, dual = _lengths(now, d, STEP_BACK, common)
    if max(primal, dual) <= SHORTEST:
        return None
    return now.moved(d, primal, dual), ((1 - dual) * rd, (1 - primal) * rp)


def _lengths(now: _Point, d: _Point, back: float, common: bool) -> tuple[float, float]:
    primal = min(1.0, back * _longest(now.near, d.near))
    dual = min(1.0, back * _longest(now.dual, d.dual))
    shorter = min(primal, dual)
    return (shorter, shorter) if common else (primal, dual)


def _longest(value: np.ndarray, change: np.ndarray) -> float:
    """The largest step that keeps every entry positive."""
    fastest = float(_least(change / value, initial=0.0))
    return -1 / fastest if fastest < 0 else np.inf


class _Newton:
    """Newton's system at a point: one factorisation, several right-hand sides."""

    def __init__(self, rows: _Layout, now: _Point, rd: np.ndarray, rp: np.ndarray):
        self.rows, self.rp = rows, rp
        self.split, self.slack = rows.exchanged(now.near, now.dual)  # u with v, p with q
        self.ratio = self.split / self.slack
        self.E, self.V = rows.folded(self.ratio, 1.0), rows.folded(self.ratio)
        self.root = np.ones(len(rp))  # psi^1/2
        np.divide(1.0, np.sqrt(self.E), out=self.root[: rows.paired])
        if rows.swapped is not None:
            self.root[rows.peaks] = np.sqrt(self.E[rows.peaks])
        self.reflectors, self.tau, _, _ = lapack.dgeqrf(
            self.root[:, None] * rows.lp.A, overwrite_a=True
        )
        self.R = self.reflectors[: len(rd)].copy()  # its lower triangle is not used
        diagonal = np.abs(self.R.diagonal())
        least = 1e-15 * float(_largest(diagonal))
        self.sound = math.isfinite(least)  # rounding has not spoiled the matrix
        if _least(diagonal) < least:
            small = np.flatnonzero(diagonal < least)
            self.R[small, small] = least
        self.missing = lapack.dtrtrs(self.R, -rd, trans=1)[0]
        self.by_level = [self._by_level(part) for part, _ in rows.sums]
        # sum(du + dv) = sum(m + m') - sum(E) dl + V.dy in a budget, with de and dr in peaks
        self.border = [
            [float(self.V[part] @ by[2][part]) for by in self.by_level] for part, _ in rows.sums
        ]
        for i, (part, _) in enumerate(rows.sums):
            self.border[i][i] -= float(_total(self.E[part]))

    def _by_level(self, part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The answers dx, dy and `_against` to a level that rises by 1."""
        b = np.zeros(len(self.rp))
        b[part] = -self.V[part] / self.E[part] if part is self.rows.peaks else self.V[part]
        dx, dy = self._least_squares(b, np.zeros(len(self.missing)))
        return dx, dy, self._against(b, dx, dy, homogeneous=True)

    def _against(
        self, rp: np.ndarray, dx: np.ndarray, dy: np.ndarray, homogeneous: bool = False
    ) -> np.ndarray:
        """What q rises and p falls by, but for the level: dy, in peaks dr.  [paired]"""
        change, peaks = dy[: self.rows.paired], self.rows.peaks
        if self.rows.swapped is not None:
            change = change.copy()
            change[peaks] = -(self.rows.lp.A[peaks] @ dx)
            if not homogeneous:
                change[peaks] += rp[peaks]
        return change

    def direction(self, products: np.ndarray) -> _Point:
        """The direction in which u p and v q change by `products`."""
        rows, b, m = self.rows, self.rp.copy(), products / self.slack
        asked = rows.folded(m)
        if rows.swapped is not None:
            asked[rows.peaks] /= -self.E[rows.peaks]
        b[: rows.paired] -= asked
        dx, dy = self._least_squares(b, self.missing)
        change = self._against(self.rp, dx, dy)
        rise: np.ndarray | None = None
        if rows.sums:
            filled = rows.folded(self.split + m, 1.0) + self.V * change
            short = [total - float(_total(filled[part])) for part, total in rows.sums]
            rise = np.zeros(rows.paired)
            levels = _solved(self.border, short)
            for level, (part, _), by in zip(levels, rows.sums, self.by_level, strict=True):
                rise[part] = level
                dx, dy, change = dx + level * by[0], dy + level * by[1], change + level * by[2]
        slack = np.empty(len(m))
        if rise is None:
            np.negative(change, out=slack[: rows.paired])
            slack[rows.paired :] = change[: rows.two]
        else:
            np.subtract(rise, change, out=slack[: rows.paired])
            np.add(rise[: rows.two], change[: rows.two], out=slack[rows.paired :])
        return _Point(dx, dy, *rows.exchanged(m - self.ratio * slack, slack))

    def _least_squares(self, b: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dx [n] and dy [m] = psi (b - A dx) with A'dy = R'missing."""
        n = len(missing)
        inside = self._apply(self.root * b, "T")
        dx = lapack.dtrtrs(self.R, inside[:n] - missing)[0]
        inside[:n] = missing
        return dx, self.root * self._apply(inside, "N")

    def _apply(self, vector: np.ndarray, trans: str) -> np.ndarray:
        """Q v or Q'v by the Householder reflectors, one by one (the least work space); the vector
        is overwritten.
        """
        column = vector[:, None]
        return lapack.dormqr("L", trans, self.reflectors, self.tau, column, 1, overwrite_c=1)[0][
            :, 0
        ]


def _solved(border: list[list[float]], right: list[float]) -> list[float]:
    """One equation or two: the levels of budget and peaks; NaN where there are none."""
    if len(right) == 1:
        pivot = border[0][0]
        return [right[0] / pivot if pivot else math.nan]
    _, _, levels, info = lapack.dgesv(np.array(border), np.array(right))
    return levels.tolist() if info == 0 else [math.nan] * len(right)
