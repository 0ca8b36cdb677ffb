"""Rows, blocks, derivatives and the coordinate of `theory.fit.sample`, against mpmath and
differences.
"""

import dataclasses

import mpmath
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import Exponential, Lag, Oscillating, Power
from headcount.theory.fit.sample import sample, thin
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

from ..reference import curve

NAMES = ("lin", "log", "log1p")


def one_by_one(name: str, rate: float, start: int, end: int) -> float:
    with mpmath.workdps(40):
        return float(mpmath.fsum(curve(name, rate, s) for s in range(start, end)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rate", [0.0, 1e-4, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1.7, 6.0])
def test_block_sums_are_the_sums_of_their_lags(name, rate):
    starts, ends = np.array([40.0, 60.0]), np.array([41.0, 300.0])
    got = family(name).block_sums(np.array([rate]), starts, ends)[:, 0]
    expected = [one_by_one(name, rate, int(s), int(e)) for s, e in zip(starts, ends, strict=True)]
    assert got == pytest.approx(expected, rel=1e-10, abs=1e-18)


@pytest.mark.parametrize("rate", [1.01, 1.5, 4.0])
def test_endless_blocks_are_hurwitz_zetas(rate):
    endless = np.array([np.inf])
    assert family("log").block_sums(np.array([rate]), np.array([50.0]), endless)[
        0, 0
    ] == pytest.approx(float(mpmath.zeta(rate, 50)), rel=1e-11)
    assert family("log1p").block_sums(np.array([rate]), np.array([50.0]), endless)[
        0, 0
    ] == pytest.approx(float(mpmath.zeta(rate, 51)), rel=1e-11)
    geometric = family("lin").block_sums(np.array([rate / 50]), np.array([50.0]), endless)[0, 0]
    assert geometric == pytest.approx(np.exp(-rate) / (1 - np.exp(-rate / 50)), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rate", [1e-4, 0.02, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1.7, 6.0])
@pytest.mark.parametrize("ends", [[41.0, 300.0], [41.0, np.inf]])
def test_block_slopes_are_those_of_the_sums(name, rate, ends):
    if np.isinf(ends[1]) and name != "lin" and rate <= 1 + 1e-6:
        return  # the sum diverges
    starts, ends = np.array([40.0, 41.0]), np.array(ends)
    eps = 1e-5 * rate
    at = [family(name).block_sums(np.array([rate + d]), starts, ends) for d in (eps, 0.0, -eps)]
    got = family(name).block_slopes(np.array([rate]), starts, ends, at[1])
    assert got == pytest.approx((at[0] - at[2]) / (2 * eps), rel=1e-5, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("norm", list(Norm))
def test_derivatives_are_those_of_the_columns(name, norm):
    data = thin(sample(Problem(Power(0.5), family(name), norm, 400)))
    assert len(data.starts) > 5
    rates = np.array([0.03, 0.4, 1.0, 2.5])
    u, eps = data.coordinate(rates), 1e-5
    up, here, down = (data.columns(data.rates_at(u + d)) for d in (eps, 0.0, -eps))
    first, second = data.derivatives(rates, here)
    assert first == pytest.approx((up - down) / (2 * eps), rel=1e-6, abs=1e-8)
    assert second == pytest.approx(
        (up - 2 * here + down) / eps**2, rel=2e-3, abs=2e-4 * np.abs(second).max()
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_coordinate_is_undone_by_rates_at(name):
    data = sample(Problem(Exponential(0.1), family(name), Norm.L1, 200))
    rates = np.array([2 * data.low, 0.05, 1.0, 9.0, data.high])
    assert data.rates_at(data.coordinate(rates))[:-1] == pytest.approx(rates[:-1], rel=1e-9)
    assert data.rates_at(np.array([0.0])) == data.high  # the limit curve
    assert (np.diff(data.dictionary(30)) > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_thin_l1_error_of_a_smooth_fit_is_the_full_one(name):
    """Far residuals keep their sign inside blocks, so that the modulus of block sums loses next
    to nothing.
    """
    full = sample(Problem(Power(1.5), family(name), Norm.L1, 1000))
    short = thin(full)
    assert len(short.target) < 150 < 900 < len(full.target)
    rates, a = np.array([0.5, 1.2]), np.array([0.02, 0.7])
    assert short.error(rates, a) == pytest.approx(full.error(rates, a), rel=2e-2)
    assert short.target.sum() == pytest.approx(full.target.sum(), rel=1e-12)


def test_a_rough_target_is_not_thinned_below_its_detail():
    full = sample(Problem(Oscillating(0.001, 2.0), family("lin"), Norm.L1, 600))
    assert len(thin(full).lags) > 300


def test_the_tail_counts_where_the_problem_says_so():
    endless, bare = (
        sample(Problem(Lag(2), family("log"))),
        sample(Problem(Power(0.5), family("log"), window=300)),
    )
    assert np.isinf(endless.ends[-1])
    assert endless.low > 1
    assert not endless.target[len(endless.lags) :].any()
    assert len(bare.starts) == 0
    assert bare.low < 0.01
    heavy = sample(Problem(Power(3.0), family("lin")))
    assert heavy.target.sum() == pytest.approx(float(mpmath.zeta(3)), rel=1e-9)


def test_lowest_rate_is_obeyed_and_checked():
    problem = Problem(Power(0.5), family("log"), window=300)
    assert sample(problem).low == 1e-4
    assert sample(dataclasses.replace(problem, rates_from=1.0)).low == 1.0
    with pytest.raises(InputError, match="rates from -1"):
        dataclasses.replace(problem, rates_from=-1.0)
