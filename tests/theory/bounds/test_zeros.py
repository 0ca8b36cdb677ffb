import dataclasses
import itertools

import numpy as np
import pytest
from flint import arb

from headcount.memory.kernels import ArrayKernel, Exponential, Oscillating, Power
from headcount.theory.balls import precision
from headcount.theory.bounds import check, lower_bound
from headcount.theory.bounds.zeros import Block, bound_from, zeros_claim
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

STUDY = (
    9.25e-2,
    1.75e-2,
    4.15e-3,
    1.05e-3,
    2.55e-4,
    6.15e-5,
    1.35e-5,
    3.35e-6,
    7.55e-7,
    1.65e-7,
    3.65e-8,
    7.95e-9,
)


def relative(exponent: float, heads: int) -> float:
    problem = Problem(Power(exponent), family("lin"), window=1001)
    bound = zeros_claim(problem, heads)
    assert check(bound)
    return bound.value / np.abs(problem.target).sum()


@pytest.mark.parametrize(
    "heads",
    [
        1,
        4,
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(8, marks=pytest.mark.slow),
        pytest.param(12, marks=pytest.mark.slow),
    ],
)
def test_inverse_square_root(heads):
    assert STUDY[heads - 1] <= relative(0.5, heads) < 1.1 * STUDY[heads - 1]


@pytest.mark.slow
@pytest.mark.parametrize("heads", range(1, 13))
def test_inverse_square_root_all(heads):
    assert relative(0.5, heads) >= STUDY[heads - 1]


@pytest.mark.parametrize(
    ("exponent", "heads", "tol"),
    [
        (0.5, 2, 1e-2),
        pytest.param(0.5, 5, 1e-4, marks=pytest.mark.slow),
        pytest.param(1.5, 3, 1e-2, marks=pytest.mark.slow),
        (1.5, 6, 1e-4),
        (3.0, 1, 1e-2),
        (3.0, 3, 1e-4),
        pytest.param(3.0, 7, 1e-6, marks=pytest.mark.slow),
    ],
)
def test_too_few_heads_for_a_tolerance(exponent, heads, tol):
    assert relative(exponent, heads) > tol


@pytest.mark.parametrize("norm", [Norm.L2, Norm.SUP])
def test_other_norms_are_close_to_a_fit(norm):
    """The bound is below the error of a least-squares fit, and within a factor of it."""
    problem = Problem(Power(1.5), family("lin"), norm=norm, window=400)
    bound = zeros_claim(problem, 4)
    rates, coefficients = (
        np.array(bound.evidence["rates"]),
        np.array(bound.evidence["coefficients"]),
    )
    lags = np.arange(1.0, 400.0)
    residual = lags**-1.5 - family("lin").columns(rates, lags) @ coefficients
    error = np.linalg.norm(residual) if norm is Norm.L2 else np.abs(residual).max()
    assert error / 3.2 < bound.value <= error


def test_sup_norm_is_tight():
    """In the sup norm the balanced residual is the minimax one: bound and error agree."""
    problem = Problem(Power(0.5), family("lin"), norm=Norm.SUP, window=1001)
    bound = zeros_claim(problem, 6)
    rates, coefficients = (
        np.array(bound.evidence["rates"]),
        np.array(bound.evidence["coefficients"]),
    )
    lags = np.arange(1.0, 1001.0)
    error = np.abs(lags**-0.5 - family("lin").columns(rates, lags) @ coefficients).max()
    assert bound.value <= error < 1.002 * bound.value


def test_an_exact_kernel_gets_no_bound():
    assert lower_bound(Problem(Exponential(0.1), family("lin")), 1).value < 1e-12


def test_power_by_log_heads_is_exact_above_one_head():
    assert lower_bound(Problem(Power(1.5), family("log")), 2).value < 1e-12


def test_a_norm_given_as_text_does_not_pass_the_checker():
    problem = Problem(
        ArrayKernel([1e4 * (-1) ** s for s in range(20)]), family("lin"), Norm.SUP, 20
    )
    found = zeros_claim(problem, 2)
    scope = dataclasses.replace(found.scope, norm="sup")
    assert check(dataclasses.replace(found, scope=scope))
    assert not check(dataclasses.replace(found, scope=scope, value=1e6))


def test_block_weights_are_compared_to_the_last_bit():
    """1 and 1 - 2^-60 are one float: the smaller one counts."""
    weights = [arb(1), arb(1) - arb(2) ** -60, arb(1)]
    for order in itertools.permutations(weights):
        blocks = [Block(s, s + 1, (-1) ** s, w) for s, w in enumerate(order)]
        with precision(160):
            assert bound_from(blocks, 1, Norm.SUP) < 1


def test_few_heads_start_from_all_lags():
    """A start that sees few lags is a poorer one here: 0.11."""
    problem = Problem(Oscillating(0.1166, 0.5157), family("log"), window=200)
    assert lower_bound(problem, 2).value > 0.17


@pytest.mark.parametrize(("heads", "window", "least"), [(16, 1000, 8e-11), (14, 400, 9e-11)])
def test_starts_of_many_heads_are_good_enough(heads, window, least):
    """With few steps of their fits the last one ends where rounding rules: no bound at all."""
    found = zeros_claim(Problem(Power(0.3), family("lin"), Norm.SUP, window=window), heads)
    assert found.value > least
    assert check(found)
