import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import Lag, Power
from headcount.theory.bounds import check_weight, weight_needed
from headcount.theory.bounds.weight import (
    binomial_maximum,
    chebyshev_constant,
    shifted_chebyshev,
    weight_bound,
)
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


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
    assert weight_needed(T, family("lin"), 0.5, "binomial").value == pytest.approx(weight, rel=0.04)


def test_beyond_the_range_of_a_double():
    bound = weight_needed(952, family("lin"), 0.5, "binomial")
    assert bound.value == math.inf
    assert bound.log10 == pytest.approx(math.log10(7) + 726, abs=0.02)


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
    assert (
        weight_needed(6, family("log"), 0.1).weight == weight_needed(5, family("lin"), 0.1).weight
    )
    assert (
        weight_needed(6, family("log1p"), 0.1).weight == weight_needed(6, family("lin"), 0.1).weight
    )


def test_as_a_bound_of_the_error():
    bound = weight_bound(Problem(Lag(99), family("lin"), budget=1e3))
    assert 1 - 1e-15 < bound.value < 1
    assert weight_bound(Problem(Lag(1), family("lin"), budget=1e3)).value == 0
    assert weight_bound(Problem(Power(1.5), family("lin"), budget=1e3)) is None
    assert weight_bound(Problem(Lag(4), family("lin"), norm=Norm.SUP, budget=1e3)) is None
    assert weight_bound(Problem(Lag(4), family("lin"))) is None


@pytest.mark.parametrize("method", ["chebyshev", "binomial"])
@pytest.mark.parametrize("name", ["lin", "log", "log1p"])
def test_certificates_are_accepted_and_tampered_ones_refused(method, name):
    bound = weight_needed(7, family(name), 0.25, method)
    assert check_weight(bound)
    assert not check_weight(dataclasses.replace(bound, weight=bound.weight * Fraction(1001, 1000)))
    assert not check_weight(dataclasses.replace(bound, T=6))
    assert not check_weight(dataclasses.replace(bound, tol=0.26))


def test_a_false_polynomial_is_refused():
    bound = weight_needed(7, family("lin"), 0.25)
    wrong = list(bound.certificate["coefficients"])
    wrong[bound.certificate["place"]] += 1
    forged = dataclasses.replace(
        bound, weight=bound.weight, certificate={**bound.certificate, "coefficients": tuple(wrong)}
    )
    assert not check_weight(forged)


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
        weight_needed(T, family(name), tol, method)
