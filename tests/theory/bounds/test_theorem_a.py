import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from headcount.memory.kernels import ArrayKernel, Lag, Power, Window
from headcount.theory.bounds import check
from headcount.theory.bounds.theorem_a import heads_claim
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


@pytest.mark.parametrize(("name", "most"), [("lin", 5), ("log", 4), ("log1p", 5)])
def test_lag_five_and_the_number_of_heads(name, most):
    problem = Problem(Lag(5), family(name))
    assert heads_claim(problem, most).value == 1.0
    assert heads_claim(problem, most + 1) is None


def test_separate_lags_add_up():
    numbers = [0.0] * 30
    numbers[4], numbers[15], numbers[29] = 1.0, -2.0, 0.5
    problem = Problem(ArrayKernel(tuple(numbers)), family("lin"))
    assert heads_claim(problem, 4).value == 3.5
    assert heads_claim(problem, 6).value == 2.5  # the windows of lags 4 and 15 overlap, and 4 < 6
    assert heads_claim(problem, 12).value == 2.0
    assert heads_claim(problem, 16) is None  # lag 15 spoils lag 29, and the other way round


def test_neighbours_of_the_alternating_sign_do_no_harm_and_others_do():
    with_help = Problem(ArrayKernel((0, 0, 0, -1.0, 2.0, -1.0)), family("lin"))
    against = Problem(ArrayKernel((0, 0, 0, 0.5, 2.0, 0.25)), family("lin"))
    assert heads_claim(with_help, 3).value == 2.0
    assert heads_claim(against, 3).value == 1.25


@pytest.mark.parametrize(("name", "most"), [("lin", 5), ("log", 4), ("log1p", 5)])
def test_moving_sum(name, most):
    problem = Problem(Window(6), family(name))
    assert heads_claim(problem, most).value == 0.5
    assert heads_claim(problem, most + 1) is None


def test_no_statement_for_infinite_support():
    assert heads_claim(Problem(Power(1.5), family("lin")), 2) is None


def best_error(name: str, rates: np.ndarray, T: int, norm: Norm, length: int = 60) -> float:
    """The optimum over coefficients for these rates on `length` lags, by a plain LP on
    orthonormal columns.
    """
    heads = family(name)
    lags = np.arange(heads.first_lag, length, dtype=float)
    phi = np.linalg.qr(heads.columns(rates, lags))[0]
    rho = (lags == T).astype(float)
    S, H = phi.shape
    spread = np.eye(S) if norm is Norm.L1 else np.ones((S, 1))
    extra = spread.shape[1]
    upper = np.block([[phi, -spread], [-phi, -spread]])
    solved = linprog(
        np.r_[np.zeros(H), np.ones(extra)],
        A_ub=upper,
        b_ub=np.r_[rho, -rho],
        bounds=[(None, None)] * H + [(0, None)] * extra,
    )
    return solved.fun


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["lin", "log", "log1p"]),
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(0, 10**6),
)
def test_no_fit_beats_theorem_a(name, heads, later, seed):
    """Lag exactly at the threshold and a little later; optimal coefficients for random rates."""
    rng = np.random.default_rng(seed)
    T = family(name).first_lag + heads + later
    rates = np.sort(rng.exponential(1, heads)) * 10 ** rng.uniform(-1, 0.5) + 0.05 * np.arange(
        1, heads + 1
    )
    for norm in (Norm.L1, Norm.SUP):
        bound = heads_claim(Problem(Lag(T), family(name), norm=norm), heads)
        assert best_error(name, rates, T, norm) >= bound.value - 1e-7


def test_one_head_more_does_beat_it():
    """T+1 Lagrange heads reach lag T (so the theorem is sharp): x in {0.001, 0.002, 0.003}, lag
    2.
    """
    rates = -np.log(np.array([0.001, 0.002, 0.003]))
    assert best_error("lin", rates, 2, Norm.L1) < 0.05


def test_dilation_case_of_log_is_contained():
    """The older argument: k^m | T gives H <= m. Theorem A covers it, since m <= T - 1."""
    for T in (2, 4, 8, 9, 16, 27, 36):
        m = max(
            e for k in range(2, T + 1) for e in range(1, int(math.log2(T)) + 1) if T % k**e == 0
        )
        assert heads_claim(Problem(Lag(T), family("log")), m).value == 1.0


@pytest.mark.parametrize(("name", "after"), [("lin", 3), ("log", 4), ("log1p", 4)])
def test_lags_that_the_proof_uses_must_exist(name, after):
    """6 heads and lag 7: the proof needs `after` lags behind it, and on a shorter window it
    stops.
    """
    problem = Problem(Lag(7), family(name), window=7 + after + 1)
    assert heads_claim(problem, 6).value == 1.0
    assert heads_claim(problem, 6).scope.lags.stop == problem.window
    assert heads_claim(Problem(Lag(7), family(name), window=7 + after), 6) is None


def test_on_a_short_window_fewer_heads_do():
    """Lag 6 on lags 0 to 6: nodes 1, .95, …, .75 leave one over the largest coefficient of their
    polynomial.
    """
    nodes = np.array([1, 0.95, 0.9, 0.85, 0.8, 0.75])
    least = best_error("lin", -np.log(nodes), 6, Norm.L1, length=7)
    assert least == pytest.approx(1 / np.abs(np.poly(nodes)).max(), rel=1e-3)
    assert least < 0.08
    assert heads_claim(Problem(Lag(6), family("lin"), window=7), 6) is None


def test_a_bound_that_meets_its_proof_exactly_is_checked():
    """0.4 is half of 0.8 in doubles too, and 0.4^4 has more digits than a ball holds."""
    kernel = ArrayKernel((0.0, 0.0, 0.0, 0.0, 0.0, -0.8))
    claim = heads_claim(Problem(kernel, family("log"), Norm.L2, window=9), 4)
    assert claim is not None
    assert claim.value == 0.4
    assert check(claim)
