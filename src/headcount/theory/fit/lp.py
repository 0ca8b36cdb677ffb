"""The best coefficients for given rates: a linear program (l1, sup) or a quadratic one (l2), with
or without budget.

The columns are first made orthonormal (a = R^-1 c): they are nearly dependent, and optima in the
raw basis lose all digits. An optimum far below the target's size is solved again for what is left,
rescaled to 1.
"""

import math

import numpy as np
from scipy.linalg import lapack

from headcount.theory.fit.sample import Sample
from headcount.theory.interior import fit_program, solve
from headcount.theory.measure import norm_of
from headcount.theory.problem import Norm


def coefficients(data: Sample, rates: np.ndarray, tol: float = 1e-10) -> np.ndarray:
    """argmin_a of the error for fixed rates within the budget.  [H]"""
    return solved(data, rates, tol)[0]


def solved(data: Sample, rates: np.ndarray, tol: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients [H] and the rows' multipliers y [S]: |sum_s y_s phi(s; b)| is what a new head
    at b would gain.
    """
    if len(rates) == 0:
        return np.zeros(0), _signs(data)
    A = data.columns(rates)  # [S, H]
    a, y, error = np.zeros(len(rates)), _signs(data), norm_of_target(data)
    if math.isinf(data.budget):  # often near enough for one program to do
        near = _least_squares(A, data.target)
        left = norm_of(data.target - A @ near, data.norm)
        a, error = (near, left) if left < error else (a, error)
    for _ in range(3):
        before = error
        b, multiplier = _correction(data, A, a, before, tol)
        after = norm_of(data.target - A @ b, data.norm)
        if after < error:
            a, y, error = b, multiplier, after
        if not 0 < error < 1e-3 * before:
            break
    return a, y


def _least_squares(A: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Coefficients of the least sum of squares, mended once.  [H]"""
    change = triangular(orthonormal(A), np.eye(A.shape[1]))
    B, a = A @ change, np.zeros(A.shape[1])
    for _ in range(2):
        a = a + change @ (B.T @ (target - A @ a))
    return a


def _correction(
    data: Sample, A: np.ndarray, a: np.ndarray, scale: float, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best coefficients, found as a change of `a` in units of the error `scale`."""
    change = triangular(orthonormal(A, scale / data.budget), np.eye(len(a)))
    B, residual = A @ change, (data.target - A @ a) / max(scale, 1e-300)
    budget = None
    if math.isfinite(data.budget):
        budget = (change * (scale / data.budget), -a / data.budget, 1.0)
    answer = solve(fit_program(data.norm, residual, B, budget=budget), tol)
    best = within(a + scale * (change @ answer.x), data.budget)
    return best, answer.y


def within(a: np.ndarray, budget: float) -> np.ndarray:
    """Coefficients scaled back into the budget where rounding left it."""
    total = math.fsum(np.abs(a))
    if total <= budget:
        return a
    a = a * (budget / total) * (1 - 1e-15 * (len(a) + 4))
    return a


def norm_of_target(data: Sample) -> float:
    return data.error(np.zeros(0), np.zeros(0))


def orthonormal(B: np.ndarray, floor: np.ndarray | float = 0.0) -> np.ndarray:
    """R such that B R^-1 is nearly orthonormal. Diagonals below `floor` are raised to it:
    directions that the budget keeps from mattering stay as short as they are."""
    norms = np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    # more columns than lags: R must still be square
    B = np.pad(B, ((0, max(0, B.shape[1] - B.shape[0])), (0, 0)))
    R = np.linalg.qr(B / norms, mode="r") * norms
    least = np.maximum(floor, 1e-13 * norms)
    i = np.flatnonzero(np.abs(np.diag(R)) < least)
    R[i, i] = np.broadcast_to(least, norms.shape)[i]
    return R


def triangular(R: np.ndarray, right: np.ndarray) -> np.ndarray:
    """R^-1 right."""
    return lapack.dtrtrs(R, right)[0]


def _signs(data: Sample) -> np.ndarray:
    """The multipliers at zero coefficients."""
    if data.norm is Norm.L1:
        return np.sign(data.target)
    if data.norm is Norm.L2:
        return data.target / max(norm_of_target(data), 1e-300)
    worst = np.abs(data.target) >= np.abs(data.target).max(initial=0.0) * (1 - 1e-12)
    return np.sign(data.target) * worst / max(1, worst.sum())
