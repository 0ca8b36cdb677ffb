"""The interior point against HiGHS and closed forms on small, well-conditioned programs, and its
optimality conditions.
"""

import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.theory.fit.interior import program, solve


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
    """|y| <= w, B'y = G'z, z >= 0: then the value is y.t - z.h, no solver needed."""
    B, t, w = random_l1(7)
    G, h = np.vstack([np.eye(6), -np.eye(6)]), np.full(12, 0.05)
    answer = solve(program(6, absolute=(B, t, w), limits=(G, h)))
    assert (np.abs(answer.y) <= w + 1e-9).all()
    assert (answer.z >= 0).all()
    assert B.T @ answer.y == pytest.approx(G.T @ answer.z, abs=1e-7)
    assert answer.y @ t - answer.z @ h == pytest.approx(w @ np.abs(t - B @ answer.x), rel=1e-8)


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


def test_a_linear_program():
    """max x + y in the unit box cut by x + 2y <= 2: the corner (1, 1/2)."""
    G, h = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [1, 2]]), np.array([1.0, 1, 0, 0, 2])
    assert solve(program(2, c=np.array([-1.0, -1.0]), limits=(G, h))).x == pytest.approx(
        [1.0, 0.5], abs=1e-7
    )


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
