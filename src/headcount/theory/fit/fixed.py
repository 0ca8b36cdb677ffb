"""The optimum for given rates and nothing but its coefficients: exact to 1e-9, whatever they cancel.

The paper's exponents b_0 + d k give columns phi_0 g^k, g = phi(.; d): powers of one function, as ill-conditioned as a
Vandermonde matrix (10^16 at 24 lin or 8 log heads). Arnoldi's recurrence (Brubeck, Nakatsukasa and Trefethen 2021)

    h_{k+1,k} q_{k+1} = g q_k - sum_j h_{jk} q_j

builds the same space's orthonormal basis without ever forming it. The program is solved in that basis; the coefficients
of the powers, which may have 300 digits, follow from the same recurrence in ball arithmetic, and are kept as rationals.

Lags beyond the window enter as points with quadrature weights (a block's sum would not be a power of g).
"""

import dataclasses
import math

import numpy as np
from flint import arb, fmpq

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.theory.balls import precision
from headcount.theory.families import Lin, Log
from headcount.theory.fit.choose import Fit
from headcount.theory.fit.interior import solve
from headcount.theory.fit.lp import fit_program, solved
from headcount.theory.fit.sample import Sample, sample
from headcount.theory.problem import HeadSum, Norm, Problem

REF = Ref("brubeck-2021", "Section 2")
TAIL_POINTS = 600


def best_coefficients(problem: Problem, rates: np.ndarray, *, lags_only: bool = False) -> Fit:
    """The best sum with these rates; `lags_only` leaves the tail out even where it counts."""
    rates = np.sort(np.asarray(rates, dtype=np.float64))
    require(rates.ndim == 1 and len(rates) >= 1, f"{rates.shape} rates", "a list of at least one", "pass the rates of the heads")
    require(bool(np.isfinite(rates).all() and (rates >= 0).all()), f"rates {rates[:3]}…", "finite and at least 0", "use decaying heads")
    data = sample(problem)
    if lags_only:
        data = dataclasses.replace(data, starts=np.zeros(0), ends=np.zeros(0), target=data.target[: len(data.lags)])
    steps = np.diff(rates)
    even = len(rates) > 1 and bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0.0))
    if even and math.isinf(problem.budget):
        return Fit(HeadSum(problem.family, tuple(rates.tolist()), _arnoldi(data, rates)), "Arnoldi basis, linear program")
    a, _ = solved(data, rates)
    return Fit(HeadSum.of(problem.family, rates, a), "linear program")


def _arnoldi(data: Sample, rates: np.ndarray) -> tuple[fmpq, ...]:
    first, ratio, target = _powers(data, rates)
    Q, hessenberg, scale = arnoldi(first, ratio, len(rates))
    whole = max(float(np.abs(target).sum()), 1e-300)
    answer = solve(fit_program(data.norm, target / whole, Q, None), 1e-12)
    c = answer.x[: len(rates)] * whole
    if np.abs(target - Q @ c).sum() >= np.abs(target).sum() and data.norm is Norm.L1:
        c = np.zeros(len(rates))
    return powers_from_basis(c, hessenberg, scale)


def arnoldi(first: np.ndarray, ratio: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Orthonormal Q [S, count] of first * ratio^k, the recurrence's Hessenberg matrix, and |first|."""
    scale = float(np.linalg.norm(first))
    Q, hessenberg = np.zeros((len(first), count)), np.zeros((count, count))
    Q[:, 0] = first / scale
    for k in range(count - 1):
        v = ratio * Q[:, k]
        for _ in range(2):  # orthogonalised twice
            overlap = Q[:, : k + 1].T @ v
            hessenberg[: k + 1, k] += overlap
            v = v - Q[:, : k + 1] @ overlap
        hessenberg[k + 1, k] = np.linalg.norm(v)
        Q[:, k + 1] = v / hessenberg[k + 1, k]
    return Q, hessenberg, scale


def powers_from_basis(c: np.ndarray, hessenberg: np.ndarray, scale: float) -> tuple[fmpq, ...]:
    """Coefficients of first * ratio^k for sum_k c_k q_k, as dyadic rationals."""
    count = len(c)
    with precision(256 + 40 * count):
        basis = [[1 / arb(scale)]]  # each q_k as a polynomial in the ratio
        for k in range(count - 1):
            after = [arb(0), *basis[k]]
            for j in range(k + 1):
                weight = arb(hessenberg[j, k])
                after = [x - weight * basis[j][i] if i < len(basis[j]) else x for i, x in enumerate(after)]
            basis.append([x / arb(hessenberg[k + 1, k]) for x in after])
        total = [sum((arb(c[k]) * basis[k][i] for k in range(i, count)), arb(0)) for i in range(count)]
        return tuple(_dyadic(x) for x in total)


def _dyadic(x: arb) -> fmpq:
    mantissa, exponent = x.mid().man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _powers(data: Sample, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """phi(.; b_0), phi(.; d) and the target on the lags, then on weighted points beyond the window."""
    step = float(rates[1] - rates[0])
    columns = data.family.columns(np.array([rates[0], step]), data.lags)
    target = data.target[: len(data.lags)]
    if len(data.starts) == 0 or data.norm is not Norm.L1:
        return columns[:, 0], columns[:, 1], target
    reach = 45 / rates[0] / data.length + 2 if isinstance(data.family, Lin) else 45 / max(rates[0] - 1, 1e-3)
    offset = 0.0 if isinstance(data.family, (Lin, Log)) else 1.0
    if isinstance(data.family, Lin):
        edges = data.length * np.linspace(1, reach, TAIL_POINTS + 1)
        middle, width = (edges[1:] + edges[:-1] - 1) / 2, np.diff(edges)
        first, ratio = width * np.exp(-rates[0] * middle), np.exp(-step * middle)
    else:
        u = math.log(data.length + offset - 0.5) + reach * np.linspace(0, 1, TAIL_POINTS + 1) ** 3
        middle, width = (u[1:] + u[:-1]) / 2, np.diff(u)  # sum f(s) ~ int f(e^u) e^u du
        first, ratio = width * np.exp((1 - rates[0]) * middle), np.exp(-step * middle)
    beyond = np.zeros(TAIL_POINTS)
    return np.concatenate([columns[:, 0], first]), np.concatenate([columns[:, 1], ratio]), np.concatenate([target, beyond])
