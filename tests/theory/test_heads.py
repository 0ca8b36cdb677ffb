"""One interface, every family: each number that a family gives in closed form is that of its
curve.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from headcount.core.errors import InputError
from headcount.theory.balls import precision
from headcount.theory.head_sum import HeadSum, rational
from headcount.theory.heads import DECAYS, FAMILIES, SHAPED, family
from headcount.theory.problem import Norm
from headcount.theory.shaped_curves import Peak, Rotary, Table, frequencies

CURVES = {
    "lin": (0.3, 1.7, math.inf),
    "log": (1.6, 3.5, math.inf),
    "log1p": (1.6, 3.5, math.inf),
    "peak": (Peak(3.0, 0.4), Peak(7.5, 2.0)),
    "table": (Table((0.0, -1.0, -math.inf, 0.5)),),
    "rope": (Rotary((1.0, 0.5), (0.2, -0.1), 1.5),),
}
LENGTH = 40


def sampled(name):
    """Curves in float64 from their balls.  [S, H]"""
    with precision(128):
        curves = [family(name).curve(c, LENGTH) for c in CURVES[name]]
    return np.array([[float(x) for x in curve] for curve in curves]).T


def test_every_family_is_here():
    assert set(CURVES) == set(FAMILIES) == {*DECAYS, *SHAPED}


@pytest.mark.parametrize("name", FAMILIES)
def test_columns_and_scaled_curves_are_the_curve(name):
    curves = CURVES[name] if name in SHAPED else np.array(CURVES[name])
    assert family(name).columns(curves, np.arange(LENGTH)) == pytest.approx(
        sampled(name), rel=1e-12, abs=1e-300
    )
    with precision(128):
        scaled = [family(name).scaled(arb(-2), c, LENGTH) for c in CURVES[name]]
    assert np.array([[float(x) for x in c] for c in scaled]).T == pytest.approx(
        -2 * sampled(name), rel=1e-12, abs=1e-40
    )


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("norm", list(Norm))
def test_sizes_are_norms_of_the_curve(name, norm):
    order = {Norm.L1: 1, Norm.L2: 2, Norm.SUP: np.inf}[norm]
    first = family(name).first_lag
    for curve, values in zip(CURVES[name], sampled(name).T, strict=True):
        with precision(128):
            size = float(family(name).size(curve, norm, first + 1, LENGTH))
        assert size == pytest.approx(np.linalg.norm(values[first + 1 :], order), rel=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_probabilities_are_the_curve_over_its_sum(name):
    found = family(name).probabilities(CURVES[name], LENGTH)
    values = sampled(name)[family(name).first_lag :]
    assert found.dtype == np.float32
    assert found == pytest.approx(values / values.sum(axis=0), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_tails_bound_what_is_left(name):
    for curve, values in zip(CURVES[name], sampled(name).T, strict=True):
        with precision(128):
            tail = family(name).tail(curve, 5)
        assert float(tail.upper()) >= values[5:].sum() * (1 - 1e-12)


@pytest.mark.parametrize("name", DECAYS)
def test_decays_are_exponentials_of_their_distance(name):
    decay, lags = DECAYS[name], np.arange(1, LENGTH)
    rate = 1.6
    assert np.exp(-rate * decay.distance(lags)) == pytest.approx(
        decay.columns(np.array([rate]), lags)[:, 0], rel=1e-12
    )
    for lag in (2, 3, 17):
        with precision(128):
            assert float(decay.exact_distance(lag)) == pytest.approx(decay.distance([lag])[0])
            assert float(decay.value(rate, lag)) == pytest.approx(
                math.exp(-rate * decay.distance([lag])[0])
            )
            there = decay.lag_at(lag, decay.exact_distance(lag + 3) - decay.exact_distance(lag))
        assert float(there) == pytest.approx(lag + 3)
        slope = (decay.distance([lag + 1e-6]) - decay.distance([lag - 1e-6]))[0] / 2e-6
        assert float(decay.steepness(rate, lag)) == pytest.approx(rate * slope, rel=1e-6)


@pytest.mark.parametrize("name", DECAYS)
def test_totals_and_quadrature_sum_the_decay(name):
    decay, rate = DECAYS[name], 2.5
    with precision(128):
        whole = float(decay.tail(rate, decay.first_lag))
        rest = float(decay.tail(rate, 64))
    assert decay.total(rate) == pytest.approx(whole, rel=1e-12)
    distances, weights = decay.quadrature(64, rate, 600)
    assert np.exp(weights - rate * distances).sum() == pytest.approx(rest, rel=2e-2)


def test_curves_are_sorted_by_their_fall_far_out():
    order = [("lin", 0.0), ("log", 0.5), ("log1p", 3.0), ("lin", 0.01), ("lin", 2.0)]
    keys = [DECAYS[name].eventual(rate) for name, rate in order]
    assert keys == sorted(keys)
    assert keys[0] == (0, Fraction(0))


def test_a_sum_of_any_heads():
    table = HeadSum(family("table"), (Table((0.0,)),), (fmpq(-1, 3),))
    assert (table.heads, table.weight) == (1, fmpq(1, 3))
    assert not table.within(1 / 3)  # the double lies below a third
    assert table.within(math.nextafter(1 / 3, 1))
    with pytest.raises(InputError, match="a curve of table heads"):
        HeadSum(family("table"), (0.5,), (fmpq(1),))
    with pytest.raises(InputError, match="at least 0"):
        HeadSum(family("log"), (-0.5,), (fmpq(1),))
    with pytest.raises(InputError, match="one of each per head"):
        HeadSum(family("log"), (0.5,), ())
    assert rational(0.1) != fmpq(1, 10)


def test_weight_bits_hold_a_sum_beyond_a_double():
    huge = HeadSum(family("lin"), (1.0,), (fmpq(2) ** 2000,))
    assert 2000 <= huge.weight_bits <= 2002
    assert huge.coefficient_sum == math.inf


@pytest.mark.parametrize("length", [0, 1, 2, 5, 16, 100, 1001])
def test_rotary_balls_are_those_of_the_formula(length):
    """The product of matrices holds what each cosine by itself gives, hardly wider."""
    rng = np.random.default_rng(0)
    r = Rotary(tuple(rng.uniform(0, 9, 16)), tuple(rng.uniform(-3, 3, 16)), 40.0)
    parts = list(zip(frequencies(r.dims, r.base), r.phases, r.amplitudes, strict=True))
    found = r.balls(length)
    assert len(found) == length
    for s, ball in enumerate(found):
        logit = sum((arb(a) * (arb(float(t)) * s + arb(f)).cos() for t, f, a in parts), -arb(40))
        assert ball.overlaps(logit.exp())
        assert ball.rad() <= 1e-10 * ball.mid()
