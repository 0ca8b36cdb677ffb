"""Head sums of the smallest largest error, in as many digits as it takes (what zero counting wants
in the sup norm).

A sum of H heads whose residual alternates on 2H + 1 lags with one and the same size is the best of
all (de la Vallee-Poussin). From 13 heads on float64 does not find it: the residual is small against
the rounding of what it is made of, and Newton's matrix is singular to double precision. So Newton
runs in `DIGITS` bits here, on the 2H + 1 equations

    rho(s_i) - sum_h a_h phi(s_i; b_h)  =  sigma_i m_i E,    sigma_i = ±1 alternating,

in H log rates, H coefficients and E. The sizes m_i start as they are found and are drawn together
by degrees; after each solution s_i moves to the largest residual of its block (Remez). Nothing of
this is trusted: the result is rounded to doubles, and zero counting measures it anew in balls.
"""

import math

import numpy as np
from flint import arb, arb_mat

from headcount.theory.balls import precision
from headcount.theory.heads import AbstractDecay

DIGITS = 400  # bits
NEWTON = 12
ROUNDS = 60
EVEN = 1e-4  # stop when the sizes agree to this
SMALLEST_STEP = 1e-3
THIN, STEPS = 240, 48  # lags of the least-squares start, and its Gauss-Newton steps


def levelled(
    family: AbstractDecay, rho: list[arb], first: int, rates: np.ndarray, coefficients: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """(rates [H], coefficients [H]) with an even residual, from a start whose residual alternates
    often enough on the lags first, first + 1, …, if need be after it is sharpened; None when it
    does not.
    """
    with precision(DIGITS):
        scene = _Scene(family, rho, first)
        now = [arb(math.log(b)) for b in rates], [arb(a) for a in coefficients]
        places = scene.places(now)
        if not places:
            now = scene.sharpened(now)
            places = scene.places(now)
        best, step = None, 0.5
        for _ in range(ROUNDS):
            if len(places) < 2 * len(rates) + 1 or step < SMALLEST_STEP:
                break
            sizes = scene.sizes(now, places)
            best = now
            if max(sizes) - min(sizes) < EVEN:
                break
            mean = sum(sizes) / len(sizes)
            wanted = [(1 - step) * (x - mean) for x in sizes]
            trial = scene.solved(now, places, wanted, mean)
            moved = scene.places(trial) if trial is not None else []
            if trial is None or len(moved) != len(places):
                step /= 2
                continue
            now, places, step = trial, moved, min(1.0, 2 * step)
        if best is None:
            return None
        logs, a = best
        return np.array([float(x.exp()) for x in logs]), np.array([float(x) for x in a])


Point = tuple[list[arb], list[arb]]  # log rates, coefficients


class _Scene:
    """Kernel and distances of the lags, as balls."""

    def __init__(self, family: AbstractDecay, rho: list[arb], first: int):
        self.rho = rho
        self.distance = [family.exact_distance(first + k) for k in range(len(rho))]

    def residual(self, point: Point, places: list[int]) -> list[arb]:
        rates = [-b.exp() for b in point[0]]
        curves = arb_mat([[(b * self.distance[k]).exp() for b in rates] for k in places])
        drawn = curves * arb_mat([[a] for a in point[1]])
        return [(self.rho[k] - drawn[i, 0]).mid() for i, k in enumerate(places)]

    def places(self, point: Point) -> list[int]:
        """The largest residual of every block of one sign; of 2H + 2 blocks or more, the 2H + 1
        neighbours whose smallest is largest.
        """
        residual = self.residual(point, list(range(len(self.rho))))
        kept: list[int] = []
        for k, r in enumerate(residual):
            if kept and (residual[kept[-1]] > 0) == bool(r > 0):
                if abs(r) > abs(residual[kept[-1]]):
                    kept[-1] = k
            else:
                kept.append(k)
        need = 2 * len(point[0]) + 1
        runs = [kept[i : i + need] for i in range(len(kept) - need + 1)]
        return max(runs, key=lambda run: min(abs(float(residual[k])) for k in run), default=[])

    def sizes(self, point: Point, places: list[int]) -> list[float]:
        """Logarithms of |residual|."""
        return [float(abs(r).log()) for r in self.residual(point, places)]

    def sharpened(self, point: Point) -> Point:
        """Least squares on lags that are even in log s, by Gauss-Newton steps: where float64
        loses sight of it, its residual still has all of its 2H changes of sign.
        """
        spots = np.unique(np.geomspace(1, len(self.rho), THIN).astype(int) - 1).tolist()
        logs, a = list(point[0]), list(point[1])
        H = len(a)
        for step in range(STEPS):
            if step % 4 == 0 and step and self.places((logs, a)):
                break
            left = self.residual((logs, a), spots)
            tangent = arb_mat(self._slopes(logs, a, spots))
            turned = tangent.transpose()
            try:
                change = (turned * tangent).solve(turned * arb_mat([[r] for r in left]))
            except ZeroDivisionError:
                break
            moves = [change[i, 0].mid() for i in range(2 * H)]
            share = _shortened(moves[:H])
            if share is None:
                break
            logs = [(x + share * d).mid() for x, d in zip(logs, moves[:H], strict=True)]
            a = [(x + share * d).mid() for x, d in zip(a, moves[H:], strict=True)]
        return logs, a

    def _slopes(self, logs: list[arb], a: list[arb], places: list[int]) -> list[list[arb]]:
        """d f(s) by log rates and coefficients, for every place.  [S, 2H]"""
        rates, rows = [b.exp() for b in logs], []
        for k in places:
            depth = [b * self.distance[k] for b in rates]
            curves = [(-x).exp() for x in depth]
            rows.append([*(-x * c * w for x, c, w in zip(depth, curves, a, strict=True)), *curves])
        return rows

    def solved(
        self, point: Point, places: list[int], wanted: list[float], mean: float
    ) -> Point | None:
        """Newton's method for residuals of the wanted log sizes, up to a common factor."""
        logs, a = list(point[0]), list(point[1])
        H = len(logs)
        sign = 1 if self.residual(point, places[:1])[0] > 0 else -1
        share = [arb(w).exp() * (sign if i % 2 == 0 else -sign) for i, w in enumerate(wanted)]
        level = arb(mean).exp()
        for _ in range(NEWTON):
            left = self.residual((logs, a), places)
            wrong = [r - m * level for r, m in zip(left, share, strict=True)]
            if max(abs(float(x / level)) for x in wrong) < 1e-8:
                return logs, a
            slopes = self._slopes(logs, a, places)
            rows = [[*row, m] for row, m in zip(slopes, share, strict=True)]
            try:
                change = arb_mat(rows).solve(arb_mat([[x] for x in wrong]))
            except ZeroDivisionError:
                return None
            moves = [change[i, 0].mid() for i in range(2 * H + 1)]
            part = _shortened(moves[:H])
            if part is None:
                return None
            logs = [(x + part * d).mid() for x, d in zip(logs, moves[:H], strict=True)]
            a = [(x + part * d).mid() for x, d in zip(a, moves[H : 2 * H], strict=True)]
            level = (level + part * moves[2 * H]).mid()
        return None


def _shortened(moves: list[arb]) -> arb | None:
    """The share of a step that changes no rate by more than a third; None for no step at all."""
    largest = max(abs(float(x)) for x in moves)
    return arb(min(1.0, 0.3 / max(largest, 1e-300))) if math.isfinite(largest) else None
