import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.theory.bounds.interior import dual_vector
from headcount.theory.problem import Norm

RNG = np.random.default_rng(3)
PHI, RHO, BUDGET = RNG.normal(size=(12, 5)), RNG.normal(size=12), 0.7
DUAL_NORM = {
    Norm.L1: lambda y: np.abs(y).max(),
    Norm.L2: np.linalg.norm,
    Norm.SUP: lambda y: np.abs(y).sum(),
}


def by_linear_programming(norm: Norm) -> float:
    """min ||rho - Phi a||, sum|a| <= C, as a plain LP: a = u - v."""
    S, K = PHI.shape
    extra = S if norm is Norm.L1 else 1
    spread = np.eye(S) if norm is Norm.L1 else np.ones((S, 1))
    upper = np.block(
        [[PHI, -PHI, -spread], [-PHI, PHI, -spread], [np.ones((1, 2 * K)), np.zeros((1, extra))]]
    )
    limits = np.concatenate([RHO, -RHO, [BUDGET]])
    return linprog(np.concatenate([np.zeros(2 * K), np.ones(extra)]), A_ub=upper, b_ub=limits).fun


def bound(y: np.ndarray, norm: Norm) -> float:
    return (y @ RHO - BUDGET * np.abs(PHI.T @ y).max()) / DUAL_NORM[norm](y)


@pytest.mark.parametrize("norm", [Norm.L1, Norm.SUP])
def test_agrees_with_a_plain_linear_program(norm):
    y, _, a = dual_vector(PHI, RHO, BUDGET, norm, 1e-10)
    assert bound(y, norm) == pytest.approx(by_linear_programming(norm), abs=1e-8)
    assert np.abs(a).sum() <= BUDGET + 1e-6


def test_l2_closes_its_gap():
    y, _, a = dual_vector(PHI, RHO, BUDGET, Norm.L2, 1e-12)
    assert bound(y, Norm.L2) == pytest.approx(np.linalg.norm(RHO - PHI @ a), abs=1e-7)
    assert np.abs(a).sum() == pytest.approx(BUDGET, rel=1e-6)


def test_holds_up_on_almost_parallel_columns():
    """Powers of 100 bases: condition beyond 1e16, coefficients of 1e5. The dual stays feasible
    to rounding.
    """
    lags = np.arange(200.0)
    phi = np.linspace(0, 1, 100)[None, :] ** lags[:, None]
    rho = (lags == 3).astype(float)
    y, _, _ = dual_vector(phi, rho, 1e5, Norm.L1, 1e-10)
    value = (y @ rho - 1e5 * np.abs(phi.T @ y).max()) / np.abs(y).max()
    assert 0.0068 < value < 0.0095  # above the optimum over all rates, 0.00687, and not far from it
