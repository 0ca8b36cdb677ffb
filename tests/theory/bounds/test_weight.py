import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.core.claims import Claim, Lags
from headcount.core.errors import InputError
from headcount.memory.kernels import Lag, Power
from headcount.theory.bounds import check, log10_weight, weight_needed
from headcount.theory.bounds.weight import (
    binomial_maximum,
    budget_claim,
    chebyshev_constant,
    shifted_chebyshev,
)
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

NAMES = ("lin", "log", "log1p")


def needed(T: int, name: str, tol: float, method: str = "chebyshev") -> Claim:
    return weight_needed(Problem(Lag(T), family(name)), tol, method)


@pytest.mark.parametrize(
    ("T", "c"), [(4, 6912), (8, 3.7e7), (16, 3.9e16), (32, 2.0e33), (99, 6.0e105), (256, 3.4e275)]
)
def test_theorem_b_constants(T, c):
    assert chebyshev_constant(T)[0] == pytest.approx(c, rel=0.015)


@pytest.mark.parametrize(
    ("T", "weight"),
    [
        (2, 6.75),
        (3, 37),
        (4, 177),
        (5, 899),
        (6, 5.2e3),
        (8, 1.4e5),
        (10, 4.7e6),
        (20, 1.5e14),
        (48, 2.7e35),
        (99, 2e74),
    ],
)
def test_binomial_weights_for_one_half(T, weight):
    assert needed(T, "lin", 0.5, "binomial").scope.weight == pytest.approx(weight, rel=0.04)


def test_beyond_the_range_of_a_double():
    claim = needed(952, "lin", 0.5, "binomial")
    assert claim.scope.weight == 2.0**1023
    assert log10_weight(claim) == pytest.approx(math.log10(7) + 726, abs=0.02)


def test_chebyshev_degree_is_the_best():
    for T in range(12):
        largest = [
            (max(map(abs, row)), n)
            for n in range(30)
            if np.argmax(np.abs(np.array(row := shifted_chebyshev(n), dtype=float))) <= T
        ]
        assert chebyshev_constant(T)[:2] == max(largest)


def test_binomial_choice_is_the_best():
    for T in range(1, 40):
        every = [
            Fraction(
                (T - j // 2) ** (T - j // 2) * j**j,
                (T + j // 2) ** (T + j // 2) * math.comb(j, j // 2),
            )
            for j in range(0, 2 * T + 1, 2)
        ]
        assert binomial_maximum(T)[0] == min(every)


def test_log_is_lin_one_lag_earlier_and_log1p_the_same_lag():
    weights = {(n, T): needed(T, n, 0.1).scope.weight for n in NAMES for T in (5, 6)}
    assert weights["log", 6] == weights["lin", 5]
    assert weights["log1p", 6] == weights["lin", 6]


def test_as_a_bound_of_the_error():
    bound = budget_claim(Problem(Lag(99), family("lin"), budget=1e3))
    assert 1 - 1e-15 < bound.value < 1
    assert budget_claim(Problem(Lag(1), family("lin"), budget=1e3)).value == 0
    assert budget_claim(Problem(Power(1.5), family("lin"), budget=1e3)) is None
    assert budget_claim(Problem(Lag(4), family("lin"), norm=Norm.SUP, budget=1e3)) is None
    assert budget_claim(Problem(Lag(4), family("lin"))) is None


@pytest.mark.parametrize("method", ["chebyshev", "binomial"])
@pytest.mark.parametrize("name", NAMES)
def test_evidence_is_accepted_and_tampered_evidence_refused(method, name):
    claim = needed(7, name, 0.25, method)
    assert check(claim)
    more = dataclasses.replace(claim.scope, weight=claim.scope.weight * 1.001)
    shorter = dataclasses.replace(claim.scope, lags=Lags(0, claim.scope.lags.stop - 1))
    assert not check(dataclasses.replace(claim, scope=more))
    assert not check(dataclasses.replace(claim, scope=shorter))
    assert not check(dataclasses.replace(claim, subject=Lag(6)))
    assert not check(dataclasses.replace(claim, value=0.26))


@pytest.mark.parametrize("method", ["chebyshev", "binomial"])
def test_a_window_weakens_what_is_proved(method):
    """7 heads at Chebyshev's extrema of [0, 1] are exact for lag 6 on lags 0 to 6, with 2048."""
    short = weight_needed(Problem(Lag(6), family("lin"), window=7), 0.0, method)
    assert check(short)
    assert short.scope.weight <= 2048 < needed(6, "lin", 0.0, method).scope.weight
    assert short.scope.lags.stop <= 7


def test_a_false_polynomial_is_refused():
    claim = needed(7, "lin", 0.25)
    wrong = list(claim.evidence["coefficients"])
    wrong[claim.evidence["place"]] += 1
    evidence = {**claim.evidence, "coefficients": tuple(wrong)}
    assert not check(dataclasses.replace(claim, evidence=evidence))


@pytest.mark.parametrize(
    ("T", "name", "tol", "method"),
    [
        (0, "log", 0.1, "chebyshev"),
        (3, "lin", 1.0, "chebyshev"),
        (3, "lin", -0.1, "chebyshev"),
        (3, "lin", 0.1, "x"),
    ],
)
def test_bad_input(T, name, tol, method):
    with pytest.raises(InputError):
        needed(T, name, tol, method)


@pytest.mark.parametrize("asked", [(Power(1.5), Norm.L1), (Lag(3), Norm.SUP)])
def test_only_one_lag_in_l1(asked):
    with pytest.raises(InputError):
        weight_needed(Problem(asked[0], family("lin"), norm=asked[1]), 0.1)
