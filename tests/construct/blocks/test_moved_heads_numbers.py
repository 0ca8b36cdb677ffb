"""Heads for all lags at once: exact in float32 exponents, measured as written, refused with a
certificate.
"""

import math

import numpy as np
import pytest

from headcount.construct.blocks.moved_heads import (
    FREE,
    GRID,
    Limits,
    adaptive_for_count,
    adaptive_for_tol,
    exponent_units,
    split_adaptive,
)
from headcount.construct.draft import Request, Unreachable
from headcount.construct.impossible import accepted
from headcount.core.claims import Precision, Readout
from headcount.theory.adaptive_lags import adaptive_errors
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import family

F32 = Precision.FLOAT32


def kernel(heads, B, length=64):
    """sum_h a_h curve(s; B) in plain float64."""
    T, lin = heads.kernel.T, heads.curves[0].bias == "lin"
    s = np.arange(length if lin else length + 1, dtype=float)
    if lin:
        return s, np.exp(-np.outer(s - B + T, heads.rates)) @ heads.coefficients
    return s[1:], (s[1:, None] * T / B) ** -heads.rates @ heads.coefficients


@pytest.mark.parametrize(
    ("T", "bias", "count"),
    [(1, "lin", 2), pytest.param(2, "lin", 3, marks=pytest.mark.slow), (2, "log", 4)],
)
def test_errors_are_those_of_the_doubles(T, bias, count):
    heads = adaptive_for_count(T, bias, count, F32)
    head_sum = HeadSum.of(family(bias), heads.rates, heads.coefficients)
    errors = adaptive_errors(T, head_sum)
    assert heads.count <= count
    for B, error in enumerate(errors, start=T + 1 - len(errors)):
        s, k = kernel(heads, B)
        assert np.abs(k - (s == B)).sum() == pytest.approx(error, rel=1e-3, abs=1e-9)
    assert heads.error == max(errors)
    assert heads.error < 0.05


@pytest.mark.parametrize("limits", [FREE, Limits(30.0)])
def test_lin_exponents_are_exact_in_float32(limits):
    heads = adaptive_for_count(2, "lin", 3, F32, limits)
    roots = np.sqrt(heads.rates)
    assert np.array_equal(roots * GRID, np.round(roots * GRID))
    assert heads.rates.max() <= limits.steepest
    for lag in range(64):
        slow = heads.rates[heads.rates * lag < 512]  # beyond, e^-512 is 0
        exact = np.float32(np.sqrt(slow)) * np.float32(np.sqrt(slow)) * np.float32(lag)
        assert np.array_equal(exact.astype(np.float64), slow * lag)


def test_below_the_threshold_nothing_beats_zero():
    heads = adaptive_for_count(2, "lin", 2, F32)
    assert heads.error == 1.0


@pytest.mark.parametrize("bias", ["lin", "log"])
def test_long_lags_are_refused_with_a_certificate(bias):
    with pytest.raises(Unreachable, match="needs sum") as caught:
        adaptive_for_tol(20, bias, 0.1, F32)
    assert accepted(caught.value.claims[0])
    scope = caught.value.claims[0].scope
    # lag 0 is free through the residual, which lin heads see too
    assert (scope.bias, scope.lags.first, scope.heads) == (bias, 1, None)
    assert scope.readout is Readout.LINEAR


def test_heads_for_a_tolerance():
    heads = adaptive_for_tol(2, "log", 0.05, F32)
    assert heads.error <= 0.05
    assert heads.weight <= 0.05 / 4 / F32.unit


def test_split_gives_every_head_away():
    made = split_adaptive([1, 2], Request("lin", heads=5), [FREE, FREE])
    assert [h.kernel.T for h in made] == [1, 2]
    assert sum(h.count for h in made) == 5
    logs = split_adaptive([1, 2], Request("log", heads=5), [FREE, FREE])
    assert [h.count for h in logs] == [2, 3]


def test_bound_counts_every_term():
    heads = adaptive_for_count(2, "lin", 3, F32)
    beside = exponent_units(heads, "lin", 32)
    assert beside > 0
    bound = heads.bound(32, 2.0, beside)
    assert bound.amplification == heads.bound(32, 2.0).amplification + 2 * beside
    assert bound.error == 2 * heads.error
    assert bound.amplification > 2 * heads.weight
    assert math.isfinite(bound.amplification)
