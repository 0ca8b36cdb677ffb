"""Budgeted fitting on a fixed dictionary by a dense primal-dual interior point: the dual vector y
is what we are after.

    primal   min ||rho - Phi a||    subject to  sum|a| <= C    (Phi [S, K], one column per rate)
    dual     max <y, rho> - C t     subject to  ||y||_* <= 1,  |Phi^T y| <= t

with a = u - v (u, v >= 0) and residual r = rho - Phi a. The norms differ only in how y answers to a
change of r, dy = psi dr + kappa de + g (e is the sup norm's level), so one Newton step serves all
three:

    (W^-1 + Phi^T psi Phi) da = W^-1 (G - V dt) + Phi^T (kappa de + g).

The columns of Phi are almost parallel (condition 1e16 and beyond), so this is never formed: it is
the normal equation of a least-squares problem with matrix [psi^1/2 Phi; W^-1/2], solved by QR.
Predictor-corrector steps after Mehrotra (1992). Nothing here needs to be trusted: any y gives a
bound, and `enclosure` evaluates it rigorously.
"""

import dataclasses
import math

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from headcount.theory.problem import Norm

STEP = 0.995
ITERATIONS = 80


@dataclasses.dataclass
class State:
    """Iterate. p, q: positive, negative part of the residual (l1) or y (sup); s1, s2 slacks."""

    y: np.ndarray  # [S]
    r: np.ndarray  # [S]
    p: np.ndarray  # [S] empty for l2
    q: np.ndarray  # [S]
    s1: np.ndarray  # [S]
    s2: np.ndarray  # [S]
    u: np.ndarray  # [K]
    v: np.ndarray  # [K]
    s3: np.ndarray  # [K]
    s4: np.ndarray  # [K]
    t: float
    e: float


def dual_vector(
    phi: np.ndarray, rho: np.ndarray, budget: float, norm: Norm, tol: float
) -> tuple[np.ndarray, float, np.ndarray]:
    """(y [S], t, a [K]) of the budgeted fit on the columns of `phi`, to a duality gap of about
    `tol` times the kernel's norm.
    """
    x = _start(phi, rho, budget, norm)
    enough = tol * float(
        rho @ rho
        if norm is Norm.L2
        else np.abs(rho).sum()
        if norm is Norm.L1
        else np.abs(rho).max()
    )
    for _ in range(ITERATIONS):
        gap = _gap(x)
        if gap < enough:
            break
        mu = gap / _pairs(x)
        solver = _Newton(x, phi, rho, budget, norm)
        affine = solver.step(0.0, _Correction.zero(x))
        ahead = _gap(_moved(x, affine, _lengths(x, affine, norm, 1.0))) / _pairs(x)
        full = solver.step((ahead / mu) ** 3 * mu, _Correction.second_order(affine))
        sizes = _lengths(x, full, norm, STEP)
        # The iterate stays the best one when rounding has eaten the direction.
        if (
            not np.isfinite(full.y).all()
            or not np.isfinite(full.u).all()
            or max(sizes.values()) < 1e-6
        ):
            break
        x = _moved(x, full, sizes)
    return x.y, x.t, x.u - x.v


def _start(phi: np.ndarray, rho: np.ndarray, budget: float, norm: Norm) -> State:
    """A strictly feasible point near the central path: a = 0, the budget spread evenly over
    cancelling pairs, equal products.
    """
    S, K = phi.shape
    none = np.zeros(0)
    half = np.full(K, budget / (2 * K))
    scale = float(np.abs(rho).max())
    if norm is Norm.L2:
        z = phi.T @ rho
        t = 1.5 * float(np.abs(z).max()) + 1e-300
        return State(
            rho.copy(), rho.copy(), none, none, none, none, half, half.copy(), t - z, t + z, t, 0.0
        )
    mu = float(np.abs(rho).sum()) / S if norm is Norm.L1 else 0.75 * scale / S
    t = mu / half[0]
    flat = np.full(K, t)
    if norm is Norm.L1:
        p, q = np.maximum(rho, 0) + mu, np.maximum(-rho, 0) + mu
        return State(
            np.zeros(S),
            rho.copy(),
            p,
            q,
            np.ones(S),
            np.ones(S),
            half,
            half.copy(),
            flat,
            flat.copy(),
            t,
            0.0,
        )
    e, w = 1.5 * scale, np.full(S, 0.5 / S)
    return State(
        np.zeros(S),
        rho.copy(),
        w,
        w.copy(),
        e - rho,
        e + rho,
        half,
        half.copy(),
        flat,
        flat.copy(),
        t,
        e,
    )


def _gap(x: State) -> float:
    return float(x.p @ x.s1 + x.q @ x.s2 + x.u @ x.s3 + x.v @ x.s4)


def _pairs(x: State) -> int:
    return 2 * (len(x.p) + len(x.u))


def _moved(x: State, d: State, sizes: dict[str, float]) -> State:
    return State(
        *(
            getattr(x, f.name) + sizes[f.name] * getattr(d, f.name)
            for f in dataclasses.fields(State)
        )
    )


# Which variables move together. l1: coefficients and residual are primal, y and its slacks dual.
# sup: p - q is y, so the roles swap.
GROUPS = {
    Norm.L1: (("u", "v", "r", "p", "q", "e"), ("y", "t", "s1", "s2", "s3", "s4")),
    Norm.SUP: (("u", "v", "r", "e", "s1", "s2"), ("y", "t", "p", "q", "s3", "s4")),
    # y = r ties both sides
    Norm.L2: (("u", "v", "r", "p", "q", "e", "y", "t", "s1", "s2", "s3", "s4"),),
}


def _lengths(x: State, d: State, norm: Norm, fraction: float) -> dict[str, float]:
    """For every variable the longest step (at most 1) that keeps its group positive, shortened
    by `fraction`.
    """
    sizes: dict[str, float] = {}
    for group in GROUPS[norm]:
        size = math.inf
        for name in set(group) - {"y", "r", "t", "e"}:
            value, change = getattr(x, name), getattr(d, name)
            falling = change < 0
            if falling.any():
                size = min(size, float((value[falling] / -change[falling]).min()))
        sizes |= dict.fromkeys(group, min(1.0, size * fraction))
    return sizes


@dataclasses.dataclass
class _Correction:
    """Second-order terms of the four complementarity products."""

    c1: np.ndarray
    c2: np.ndarray
    c3: np.ndarray
    c4: np.ndarray

    @classmethod
    def zero(cls, x: State) -> "_Correction":
        return cls(np.zeros_like(x.p), np.zeros_like(x.p), np.zeros_like(x.u), np.zeros_like(x.u))

    @classmethod
    def second_order(cls, d: State) -> "_Correction":
        return cls(d.p * d.s1, d.q * d.s2, d.u * d.s3, d.v * d.s4)


class _Newton:
    """One factorisation, several right-hand sides."""

    def __init__(self, x: State, phi: np.ndarray, rho: np.ndarray, budget: float, norm: Norm):
        self.x, self.phi, self.rho, self.budget, self.norm = x, phi, rho, budget, norm
        self.w = x.u / x.s3 + x.v / x.s4  # [K]
        self.V = x.u / x.s3 - x.v / x.s4  # [K]
        if norm is Norm.L2:
            self.psi = np.ones_like(x.y)
        elif norm is Norm.L1:
            self.psi = 1 / (x.p / x.s1 + x.q / x.s2)
        else:
            self.psi = x.p / x.s1 + x.q / x.s2
        self.root, self.back = np.sqrt(self.psi), 1 / np.sqrt(self.w)
        stacked = np.concatenate([self.root[:, None] * phi, np.diag(self.back)])  # [S + K, K]
        (self.reflectors, self.tau), self.R = qr(
            stacked, mode="raw", check_finite=False, overwrite_a=True
        )

    def _solve(self, top: np.ndarray, bottom: np.ndarray) -> "_Split":
        """argmin |[psi^1/2 Phi; W^-1/2] a - [top; bottom]|, and what is left over.

        The left-over is dy (scaled) and -Phi^T dy (scaled) at once. Householder reflectors keep it
        orthogonal to the columns to rounding, which computing dy from da would not: psi is huge
        wherever the residual vanishes.
        """
        rhs = np.concatenate([top, bottom])
        S, K = self.phi.shape
        inside = self._apply(rhs, "T")
        head = solve_triangular(self.R[:K], inside[:K], check_finite=False)
        rest = self._apply(np.concatenate([np.zeros(K), inside[K:]]), "N")
        return _Split(head, self.root * rest[:S], -self.back * rest[S:])

    def _apply(self, vector: np.ndarray, trans: str) -> np.ndarray:
        """Q v or Q^T v by the Householder reflectors, without forming Q."""
        return lapack.dormqr(
            "L", trans, self.reflectors, self.tau, vector[:, None], 64 * len(vector)
        )[0][:, 0]

    def step(self, mu: float, c: _Correction) -> State:
        x, V, w, back = self.x, self.V, self.w, self.back
        m3, m4 = (mu - c.c3) / x.s3 - x.u, (mu - c.c4) / x.s4 - x.v  # [K]
        m1, m2 = (
            ((mu - c.c1) / x.s1 - x.p, (mu - c.c2) / x.s2 - x.q)
            if len(x.p)
            else (np.zeros_like(x.y), np.zeros_like(x.y))
        )
        g = -self.psi * (m1 - m2) if self.norm is Norm.L1 else m1 - m2  # [S]
        lost = self.rho - self.phi @ (x.u - x.v) - x.r  # rounding drift of the residual, fed back
        move = self._solve(self.root * lost + g / self.root, back * (m3 - m4))
        by_t = self._solve(np.zeros_like(x.y), -back * V)
        # sum(du + dv) restores the budget: du + dv = m3 + m4 - W dt + V z, with z = Phi^T dy.
        kt = -float(w.sum()) + float(V @ by_t.z)
        rt = self.budget - float((x.u + x.v).sum()) - float((m3 + m4).sum()) - float(V @ move.z)
        if self.norm is not Norm.SUP:
            dt = rt / kt if kt else math.nan
            return self._unfold(move.plus(by_t, dt), dt, 0.0, (m1, m2, m3, m4), lost)
        # the sup norm's level e: sum(dp + dq) keeps y on the unit sphere of l1, dp + dq = m1 + m2 -
        # psi de - kappa dr.
        kappa = x.q / x.s2 - x.p / x.s1  # [S]
        by_e = self._solve(kappa / self.root, np.zeros_like(w))
        ee = -float(self.psi.sum()) + float(kappa @ (self.phi @ by_e.a))
        et = float(kappa @ (self.phi @ by_t.a))
        re = (
            1
            - float((x.p + x.q).sum())
            - float((m1 + m2).sum())
            + float(kappa @ (lost - self.phi @ move.a))
        )
        dt, de = np.linalg.solve(np.array([[kt, float(V @ by_e.z)], [et, ee]]), np.array([rt, re]))
        return self._unfold(
            move.plus(by_t, dt).plus(by_e, de), float(dt), float(de), (m1, m2, m3, m4), lost
        )

    def _unfold(
        self, move: "_Split", dt: float, de: float, m: tuple[np.ndarray, ...], lost: np.ndarray
    ) -> State:
        """All components from the solved ones."""
        x, (m1, m2, m3, m4), dy, z = self.x, m, move.y, move.z
        dr = lost - self.phi @ move.a
        du, dv = m3 - x.u / x.s3 * (dt - z), m4 - x.v / x.s4 * (dt + z)
        none = np.zeros(0)
        if self.norm is Norm.L2:
            return State(dy, dr, none, none, none, none, du, dv, dt - z, dt + z, dt, 0.0)
        if self.norm is Norm.L1:
            dp, dq = m1 + x.p / x.s1 * dy, m2 - x.q / x.s2 * dy
            return State(dy, dr, dp, dq, -dy, dy, du, dv, dt - z, dt + z, dt, 0.0)
        ds1, ds2 = de - dr, de + dr
        return State(
            dy,
            dr,
            m1 - x.p / x.s1 * ds1,
            m2 - x.q / x.s2 * ds2,
            ds1,
            ds2,
            du,
            dv,
            dt - z,
            dt + z,
            dt,
            de,
        )


@dataclasses.dataclass
class _Split:
    """Solution of one right-hand side: change of a [K], of y [S], and z = Phi^T dy [K]."""

    a: np.ndarray
    y: np.ndarray
    z: np.ndarray

    def plus(self, other: "_Split", size: float) -> "_Split":
        return _Split(self.a + size * other.a, self.y + size * other.y, self.z + size * other.z)
