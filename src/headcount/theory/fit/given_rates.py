"""The optimum for given rates, only its coefficients: exact to 1e-9, whatever they cancel.

The paper's exponents b_0 + d k give columns phi_0 g^k, g = phi(.; d): powers of one function, as
ill-conditioned as a Vandermonde matrix (10^16 at 24 lin or 8 log heads). Arnoldi's recurrence
(Brubeck, Nakatsukasa and Trefethen 2021)

    h_{k+1,k} q_{k+1} = g q_k - sum_j h_{jk} q_j

builds the same space's orthonormal basis without ever forming it. The l1 program is solved in that
basis. Its optimum meets the target on H of the rows, those whose multipliers lie strictly inside
[-1, 1]; solving these H equations in ball arithmetic for the very rates that were passed gives
coefficients that may have 300 digits, kept as rationals.

With a budget the optimum has few heads; they are found by exchange, and coefficients are doubles.
Lags beyond the window enter as points with quadrature weights: a block's sum would not be a power
of g.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from flint import arb, arb_mat, fmpq
from scipy.linalg import qr

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.threads import one_thread
from headcount.theory.balls import precision
from headcount.theory.fit.lp import solved
from headcount.theory.fit.sample import Sample, sample
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.interior import fit_program, solve
from headcount.theory.measure import exact_coefficient
from headcount.theory.problem import Norm, Problem

REF = Ref("brubeck-2021", "Section 2")
TAIL_POINTS = 600
EXCHANGES = 30
FIRST_USED = 20


@one_thread()
def best_coefficients(problem: Problem, rates: np.ndarray, *, lags_only: bool = False) -> Fit:
    """The best sum with these rates; `lags_only` leaves the tail out even where it counts."""
    rates = np.sort(np.asarray(rates, dtype=np.float64))
    require(
        rates.ndim == 1 and len(rates) >= 1,
        f"{rates.shape} rates",
        "a list of at least one",
        "pass the rates of the heads",
    )
    require(
        bool(np.isfinite(rates).all() and (rates >= 0).all()),
        f"rates {rates[:3]}…",
        "finite and at least 0",
        "use decaying heads",
    )
    data = sample(problem)
    if lags_only:
        data = dataclasses.replace(
            data, starts=np.zeros(0), ends=np.zeros(0), target=data.target[: len(data.lags)]
        )
    least = problem.lowest_rate
    endless = len(data.starts) > 0 and rates[0] <= least
    require(
        not endless,
        f"rate {rates[0]:g}",
        f"above {least:g}: lags beyond the window count",
        "drop slow heads or pass lags_only=True",
    )
    steps = np.diff(rates)
    even = len(rates) > 1 and bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0.0))
    if even and math.isinf(problem.budget) and problem.norm is Norm.L1:
        return Fit(
            HeadSum(problem.family, tuple(rates.tolist()), _arnoldi(data, rates)),
            "Arnoldi basis, linear program",
        )
    a, _ = solved(data, rates)
    if math.isfinite(problem.budget) and problem.norm is Norm.L1:
        a = _exchanged(data, rates, a)
    return Fit(HeadSum.of(problem.family, rates, a), "linear program")


def _exchanged(data: Sample, rates: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The budgeted optimum by column generation from `a`, whose program may have been too
    ill-conditioned to close.

    An optimum uses few of many close rates, and for those alone the program closes. Its multipliers
    y price the others: none can gain where |sum_s y_s phi(s; b)| is nowhere above its largest value
    on the rates in use.
    """
    A, best, least = data.columns(rates), a, data.error(rates, a)
    used = np.flatnonzero(np.abs(a) > 1e-5 * data.budget / len(a))
    # at zero y is not unique and prices nothing: begin with rates at Chebyshev points instead
    if len(used) == 0:
        x = (1 - np.cos(np.pi * np.linspace(0, 1, FIRST_USED))) / 2
        used = np.unique(np.round(x * (len(rates) - 1)).astype(int))
    for _ in range(EXCHANGES):
        now = np.zeros(len(rates))
        now[used], y = solved(data, rates[used])
        error = data.error(rates, now)
        if error < least:
            best, least = now, error
        prices = np.abs(y @ A)
        inside = prices[used].max(initial=0.0)
        ahead, behind = np.append(prices[1:], 0.0), np.append(0.0, prices[:-1])
        peaks = np.flatnonzero(
            (prices >= ahead)
            & (prices >= behind)
            & (data.budget * (prices - inside) > 1e-9 * least)
        )
        if len(np.setdiff1d(peaks, used)) == 0:
            break
        used = np.union1d(used[np.abs(now[used]) > 1e-9 * data.budget], peaks)
    return best


def _arnoldi(data: Sample, rates: np.ndarray) -> tuple[fmpq, ...]:
    rows = _rows(data, rates)
    Q = arnoldi(rows.first, rows.ratio, len(rates))
    whole = float(np.abs(rows.target).sum())
    if whole == 0:
        return (fmpq(0),) * len(rates)
    answer = solve(fit_program(Norm.L1, rows.target / whole, Q), 1e-12)
    if np.abs(rows.target - Q @ (answer.x * whole)).sum() > whole * (1 - 1e-9):
        return (fmpq(0),) * len(rates)
    met = _met(Q, rows.target, answer.y)
    return _interpolated(rates, [_distance(data, rows, int(i)) for i in met], rows.target[met])


def _met(Q: np.ndarray, target: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rows that the optimum meets: multipliers inside [-1, 1], without rows that carry
    nothing, which lie inside too.
    """
    H, order = Q.shape[1], np.argsort(np.abs(y))
    choices = [order[:H]]
    for margin in (1e-2, 1e-4, 1e-6):
        inside = order[: max(H, int(np.sum(np.abs(y) < 1 - margin)))]
        choices.append(inside[qr(Q[inside].T, mode="r", pivoting=True)[1][:H]])

    def error(rows):
        return float(
            np.abs(target - Q @ np.linalg.lstsq(Q[rows], target[rows], rcond=None)[0]).sum()
        )

    return np.sort(min(choices, key=error))


def _distance(data: Sample, rows: "_Rows", i: int) -> Callable[[], arb]:
    """d of row i at the working precision: exact for a lag, a float for a point beyond."""
    if i >= len(data.lags):
        return lambda: arb(float(rows.distances[i]))
    return lambda: data.family.exact_distance(int(data.lags[i]))


def _interpolated(
    rates: np.ndarray, distances: list[Callable[[], arb]], target: np.ndarray
) -> tuple[fmpq, ...]:
    """a with sum_h a_h e^{-b_h d} = target at the distances d, as dyadic rationals."""
    bits = 256 + 24 * len(rates)
    while True:
        with precision(bits):
            matrix = arb_mat(
                [
                    [(-arb(float(b)) * d).exp() for b in rates]
                    for d in (distance() for distance in distances)
                ]
            )
            try:
                answer = matrix.solve(arb_mat([[arb(float(t))] for t in target]))
                if all(
                    answer[i, 0].is_finite() and answer[i, 0].rel_accuracy_bits() > 100 + bits // 4
                    for i in range(len(rates))
                ):
                    return tuple(exact_coefficient(answer[i, 0]) for i in range(len(rates)))
            except ZeroDivisionError:  # singular at this precision
                pass
        bits *= 2


def arnoldi(first: np.ndarray, ratio: np.ndarray, count: int) -> np.ndarray:
    """An orthonormal basis of first * ratio^k, k = 0..count-1.  [S, count]"""
    Q = np.zeros((len(first), count))
    Q[:, 0] = first / np.linalg.norm(first)
    for k in range(count - 1):
        v = ratio * Q[:, k]
        for _ in range(2):  # orthogonalised twice
            v = v - Q[:, : k + 1] @ (Q[:, : k + 1].T @ v)
        Q[:, k + 1] = v / np.linalg.norm(v)
    return Q


@dataclasses.dataclass(frozen=True)
class _Rows:
    """phi(.; b_0), phi(.; step) and the target on the lags, then on weighted points beyond;
    phi = e^{-b distance}.
    """

    first: np.ndarray
    ratio: np.ndarray
    target: np.ndarray
    distances: np.ndarray


def _rows(data: Sample, rates: np.ndarray) -> _Rows:
    step = float(rates[1] - rates[0])
    near = data.family.distance(data.lags)
    weights, beyond = np.zeros(len(near)), np.zeros(0)  # logarithms
    if len(data.starts):
        far, width = data.family.quadrature(data.length, float(rates[0]), TAIL_POINTS)
        near, weights, beyond = (
            np.concatenate([near, far]),
            np.concatenate([weights, width]),
            np.zeros(len(far)),
        )
    with np.errstate(under="ignore"):
        first = np.exp(weights - rates[0] * near)
    return _Rows(
        first, np.exp(-step * near), np.concatenate([data.target[: len(data.lags)], beyond]), near
    )
