"""Heads for all lags at once: exact in float32 exponents, measured as written, refused with a
certificate.
"""

import math

import numpy as np
import pytest

from headcount.construct.blocks.adaptive_heads import (
    FREE,
    GRID,
    Limits,
    adaptive_for_count,
    adaptive_for_tol,
    split_adaptive,
)
from headcount.construct.draft import Precision, Request, Unreachable
from headcount.theory.bounds import check_weight

F32 = Precision.FLOAT32


def kernel(heads, B, length=64):
    """sum_h a_h curve(s; B) in plain float64."""
    s = np.arange(length if heads.bias == "lin" else length + 1, dtype=float)
    if heads.bias == "lin":
        return s, np.exp(-np.outer(s - B + heads.T, heads.rates)) @ heads.coefficients
    return s[1:], (s[1:, None] * heads.T / B) ** -heads.rates @ heads.coefficients


@pytest.mark.parametrize(("T", "bias", "count"), [(1, "lin", 2), (2, "lin", 3), (2, "log", 4)])
def test_errors_are_those_of_the_doubles(T, bias, count):
    heads = adaptive_for_count(T, bias, count, F32)
    first = T + 1 - len(heads.errors)
    assert heads.heads <= count
    for B, error in enumerate(heads.errors, start=first):
        s, k = kernel(heads, B)
        assert np.abs(k - (s == B)).sum() == pytest.approx(error, rel=1e-3, abs=1e-9)
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
    assert check_weight(caught.value.certificate)
    # lag 0 is free through the residual, which lin heads see too
    assert caught.value.certificate.T == (20 if bias == "log" else 19)


def test_heads_for_a_tolerance():
    heads = adaptive_for_tol(2, "log", 0.05, F32)
    assert heads.error <= 0.05
    assert heads.weight <= 0.05 / 4 / F32.unit


def test_split_gives_every_head_away():
    made = split_adaptive([1, 2], Request("lin", heads=5), [FREE, FREE])
    assert [h.T for h in made] == [1, 2]
    assert sum(h.heads for h in made) == 5
    logs = split_adaptive([1, 2], Request("log", heads=5), [FREE, FREE])
    assert [h.heads for h in logs] == [2, 3]


def test_bound_counts_every_term():
    heads = adaptive_for_count(2, "lin", 3, F32)
    bound = heads.bound(32, 2.0)
    assert bound.error == 2 * heads.error
    assert bound.amplification > 2 * heads.weight
    assert math.isfinite(bound.amplification)
