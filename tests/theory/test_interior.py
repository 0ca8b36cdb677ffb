"""The interior point against HiGHS and closed forms on small, well-conditioned programs, and its
optimality conditions.
"""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.theory import interior
from headcount.theory.interior import fit_program, program, solve
from headcount.theory.measure import norm_of
from headcount.theory.problem import Norm


def random_l1(seed: int, rows: int = 40, columns: int = 6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.normal(size=rows), rng.uniform(0.5, 2.0, size=rows)


def highs_l1(B, t, w, G=None, h=None):
    """min w.e with -e <= t - Bx <= e and Gx <= h."""
    rows, n = B.shape
    A = np.vstack([np.hstack([B, -np.eye(rows)]), np.hstack([-B, -np.eye(rows)])])
    b = np.concatenate([t, -t])
    if G is not None:
        A, b = np.vstack([A, np.hstack([G, np.zeros((len(h), rows))])]), np.concatenate([b, h])
    return linprog(
        np.concatenate([np.zeros(n), w]),
        A_ub=A,
        b_ub=b,
        bounds=[(None, None)] * n + [(0, None)] * rows,
    ).fun


@pytest.mark.parametrize("seed", range(4))
def test_l1_value_is_that_of_highs(seed):
    B, t, w = random_l1(seed)
    answer = solve(program(6, absolute=(B, t, w)))
    assert answer.closed
    assert w @ np.abs(t - B @ answer.x) == pytest.approx(highs_l1(B, t, w), rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_limits_are_obeyed_at_the_same_value(seed):
    B, t, w = random_l1(seed)
    G, h = np.vstack([np.eye(6), -np.eye(6)]), np.full(12, 0.05)
    answer = solve(program(6, absolute=(B, t, w), limits=(G, h)))
    assert answer.closed
    assert (G @ answer.x <= h + 1e-9).all()
    assert w @ np.abs(t - B @ answer.x) == pytest.approx(highs_l1(B, t, w, G, h), rel=1e-8)


def test_multipliers_prove_the_optimum():
    """|y| <= w, |B'y| <= l: then the value is at least y.t - C l, no solver needed."""
    B, t, w = random_l1(7)
    answer = solve(program(6, absolute=(B, t, w), budget=(np.eye(6), np.zeros(6), 0.3)))
    assert answer.closed
    assert (np.abs(answer.y) <= w + 1e-9).all()
    assert (np.abs(B.T @ answer.y) <= answer.level + 1e-9).all()
    assert np.abs(answer.x).sum() == pytest.approx(0.3, rel=1e-8)
    assert answer.y @ t - 0.3 * answer.level == pytest.approx(
        w @ np.abs(t - B @ answer.x), rel=1e-8
    )


def test_squares_are_least_squares():
    B, t, _ = random_l1(3)
    answer = solve(program(6, squares=(B, t)))
    assert answer.x == pytest.approx(np.linalg.lstsq(B, t, rcond=None)[0], rel=1e-9)


def test_squares_with_bounds_satisfy_the_optimality_conditions():
    B, t, _ = random_l1(3)
    h = np.full(6, 0.02)
    answer = solve(program(6, squares=(B, t), limits=(np.eye(6), h)))
    gradient = B.T @ (B @ answer.x - t)
    active = answer.x > 0.02 - 1e-7
    assert active.any()
    assert np.abs(gradient[~active]).max() < 1e-6
    assert (gradient[active] < 1e-7).all()


def by_linear_programming(norm: Norm, budget: float, B: np.ndarray, t: np.ndarray) -> float:
    """min ||t - Ba||, sum|a| <= C, as a plain LP: a = u - v."""
    S, K = B.shape
    extra = S if norm is Norm.L1 else 1
    spread = np.eye(S) if norm is Norm.L1 else np.ones((S, 1))
    upper = np.block(
        [[B, -B, -spread], [-B, B, -spread], [np.ones((1, 2 * K)), np.zeros((1, extra))]]
    )
    limits = np.concatenate([t, -t, [budget]])
    return linprog(np.concatenate([np.zeros(2 * K), np.ones(extra)]), A_ub=upper, b_ub=limits).fun


DUAL_NORM = {
    Norm.L1: lambda y: np.abs(y).max(),
    Norm.L2: np.linalg.norm,
    Norm.SUP: lambda y: np.abs(y).sum(),
}


@pytest.mark.parametrize("budget", [0.1, 0.7, 100.0])
@pytest.mark.parametrize("norm", Norm)
def test_budgeted_fits_have_no_gap(norm, budget):
    """Any y bounds the error from below: (y.t - C |B'y|) / ||y||_*."""
    B, t, _ = random_l1(3, 12, 5)
    answer = solve(fit_program(norm, t, B, budget=(np.eye(5), np.zeros(5), budget)), 1e-12)
    bound = (answer.y @ t - budget * np.abs(B.T @ answer.y).max()) / DUAL_NORM[norm](answer.y)
    assert np.abs(answer.x).sum() <= budget * (1 + 1e-6)
    assert bound == pytest.approx(norm_of(t - B @ answer.x, norm), abs=1e-7)
    if norm is not Norm.L2:
        assert bound == pytest.approx(by_linear_programming(norm, budget, B, t), abs=1e-8)


def test_a_budget_on_any_rows_is_obeyed():
    """sum |d - Dx| <= C for a rotated D and a d that is outside."""
    B, t, _ = random_l1(3, 12, 5)
    D, d = np.linalg.qr(random_l1(4, 5, 5)[0])[0], np.full(5, 0.3)
    start = solve(fit_program(Norm.SUP, t, B, budget=(D, d, 1.0)))
    assert start.closed
    assert np.abs(d - D @ start.x).sum() <= 1 + 1e-8
    shifted = solve(fit_program(Norm.SUP, t - B @ D.T @ d, -B @ D.T, budget=(np.eye(5), 0 * d, 1)))
    assert np.abs(t - B @ start.x).max() == pytest.approx(
        np.abs(t - B @ D.T @ (d - shifted.x)).max(), rel=1e-7
    )


def test_budgets_hold_up_on_almost_parallel_columns():
    """Powers of 100 bases: condition beyond 1e16, coefficients of 1e5. The dual stays feasible
    to rounding.
    """
    lags = np.arange(200.0)
    phi = np.linspace(0, 1, 100)[None, :] ** lags[:, None]
    rho = (lags == 3).astype(float)
    y = solve(fit_program(Norm.L1, rho, phi, budget=(np.eye(100), np.zeros(100), 1e5))).y
    value = (y @ rho - 1e5 * np.abs(phi.T @ y).max()) / np.abs(y).max()
    assert 0.0068 < value < 0.0095  # above the optimum over all rates, 0.00687, and not far from it


def test_a_start_outside_is_pushed_inside():
    B, t, w = random_l1(5)
    lp = program(6, absolute=(B, t, w), limits=(np.eye(6), np.full(6, 0.1)))
    far, near = solve(lp, start=np.full(6, 50.0)), solve(lp)
    assert far.x == pytest.approx(near.x, abs=1e-6)


def test_nearly_dependent_columns():
    """Condition 10^12: normal equations would have nothing left, the optimum's value survives."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(50, 4)))[0]
    t = rng.normal(size=50)
    skewed = Q @ np.triu(np.ones((4, 4))) @ np.diag([1, 1e-4, 1e-8, 1e-12])
    one = np.ones(50)
    good, bad = (
        solve(program(4, absolute=(Q, t, one))),
        solve(program(4, absolute=(skewed, t, one))),
    )
    assert np.abs(t - skewed @ bad.x).sum() == pytest.approx(np.abs(t - Q @ good.x).sum(), rel=1e-6)


def test_where_rounding_spoils_the_rows_no_step_is_wasted(monkeypatch):
    """Nearly dependent columns under a large budget: the gap closes, the rows cannot."""
    steps = []
    taken = interior._step
    monkeypatch.setattr(interior, "_step", lambda *a: steps.append(1) or taken(*a))
    lags, rates = np.arange(200.0), np.geomspace(1e-3, 30, 60)
    columns, budget = np.exp(-np.outer(lags, rates)), (np.eye(60), np.zeros(60), 1e4)
    answer = solve(fit_program(Norm.L1, (lags == 2) * 1.0, columns, budget=budget), 1e-10)
    assert len(steps) < 60
    dual = answer.y @ (lags == 2) - 1e4 * np.abs(answer.y @ columns).max()
    found = np.abs((lags == 2) - columns @ answer.x).sum()
    assert dual == pytest.approx(found, rel=1e-4)


def test_steps_that_rounding_spoils_are_taken_back(monkeypatch):
    B, t, w = random_l1(5)
    lp = program(6, absolute=(B, t, w))
    good, steps, taken = solve(lp), [], interior._step

    def spoilt(rows, now, left, gap):
        steps.append(gap)
        if len(steps) == 6:
            return dataclasses.replace(now, x=now.x + 1e3), left
        return taken(rows, now, left, gap) if len(steps) < 6 else None

    monkeypatch.setattr(interior, "_step", spoilt)
    after = solve(lp, 1e-14)
    assert not after.closed
    assert np.abs(t - B @ after.x) @ w == pytest.approx(np.abs(t - B @ good.x) @ w, rel=0.05)


def test_a_gap_that_stays_wide_ends_the_search(monkeypatch):
    """No more steps than it takes to see that nothing moves."""
    B, t, w = random_l1(5)
    steps = []
    still = lambda rows, now, left, gap: steps.append(1) or (now, left)  # noqa: E731
    monkeypatch.setattr(interior, "_step", still)
    assert not solve(program(6, absolute=(B, t, w))).closed
    assert len(steps) == interior.WAITING
