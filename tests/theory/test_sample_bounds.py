"""Statements for so many samples: against published numbers, and simulated."""

import math

import numpy as np
import pytest
from scipy import stats

from headcount.core.errors import InputError
from headcount.theory.sample_bounds import (
    effective_samples,
    empirical_bernstein,
    head_deficit,
    hoeffding,
    lag_samples,
    least_squares_risk,
    path_norm_gap,
)

PROBLEMS, DELTA = 2000, 0.05


def violations_allowed() -> int:
    """More than this would be seen with chance below 1e-4 if delta were the rate."""
    return int(stats.binom.isf(1e-4, PROBLEMS, DELTA))


@pytest.mark.parametrize("samples", [30, 300])
def test_held_out_certificates_fail_at_most_as_often_as_they_say(samples):
    rng = np.random.default_rng(samples)
    wrong = {"hoeffding": 0, "bernstein": 0}
    for _ in range(PROBLEMS):
        a, b = rng.uniform(0.2, 5, 2)  # losses of many shapes in [0, 1]
        losses, risk = rng.beta(a, b, samples), a / (a + b)
        wrong["hoeffding"] += hoeffding(losses.mean(), samples, 1.0, DELTA).value < risk
        wrong["bernstein"] += empirical_bernstein(losses, 1.0, DELTA).value < risk
    assert max(wrong.values()) <= violations_allowed(), wrong


def test_hoeffding_would_be_caught_if_it_promised_more():
    rng = np.random.default_rng(0)
    wrong = sum(
        hoeffding(rng.binomial(100, 0.5) / 100, 100, 1.0, 0.5).value < 0.5 for _ in range(PROBLEMS)
    )
    assert wrong > violations_allowed()  # at delta 0.5 it fails more often than 5%


def test_the_path_norm_bound_holds_for_the_worst_of_many_networks():
    """The largest gap over a bag of random networks of norm at most 1, in 2,000 small problems."""
    rng = np.random.default_rng(3)
    n, window, networks = 40, 6, 64
    a = rng.choice([-1.0, 1.0], networks)
    u = rng.dirichlet(np.ones(window + 1), networks) * rng.choice([-1, 1], (networks, window + 1))
    limit = 1.0  # |answer|, |y| <= 1: the loss (f - y)^2 is in [0, 4], 4-Lipschitz
    bound = path_norm_gap(1.0, n, window, lipschitz=4 * limit, loss_range=4 * limit**2, delta=DELTA)

    def losses(x):
        z = np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)
        answers = a * np.maximum(z @ u.T, 0)  # [..., networks]
        return (answers - np.sign(x[..., :1] * x[..., 1:2])) ** 2

    every = np.array(np.meshgrid(*[[-1.0, 1.0]] * window)).reshape(window, -1).T
    risk = losses(every).mean(axis=0)
    drawn = rng.choice([-1.0, 1.0], (PROBLEMS, n, window))
    gaps = (risk - losses(drawn).mean(axis=1)).max(axis=1)
    assert np.count_nonzero(gaps > bound.value) <= violations_allowed()


def test_published_numbers():
    found = path_norm_gap(10, 100_000, 1000, lipschitz=1, loss_range=1)
    assert found.value == pytest.approx(0.55, abs=0.005)
    assert path_norm_gap(10, 10**7, 1000, lipschitz=1, loss_range=1).value < 0.056
    assert [lag_samples(r2, 64).value for r2 in (0.3, 0.05, 0.01)] == [51, 410, 2133]
    assert [lag_samples(r2, 1000).value for r2 in (0.3, 0.05, 0.01)] == [67, 542, 2821]


def test_the_samples_for_a_lag_give_the_power_they_promise():
    r2, lags, repeats = 0.05, 64, 2000
    n = int(lag_samples(r2, lags, 0.05, 0.9).value)
    rng = np.random.default_rng(1)
    beta = math.sqrt(r2 / (1 - r2))
    x, e = rng.normal(size=(2, repeats, n))
    y = beta * x + e
    r = [stats.pearsonr(a, b).pvalue for a, b in zip(x, y, strict=True)]
    found = np.mean(np.array(r) < 0.05 / lags)
    assert found == pytest.approx(0.9, abs=0.03)


def test_least_squares_have_the_stated_excess_risk():
    rng, p, n, sigma = np.random.default_rng(2), 5, 30, 0.7
    risks = []
    for _ in range(4000):
        x = rng.normal(size=(n, p))
        w = np.linalg.lstsq(x, sigma * rng.normal(size=n), rcond=None)[0]
        risks.append(w @ w)
    assert np.mean(risks) == pytest.approx(least_squares_risk(sigma, p, n), rel=0.05)
    assert least_squares_risk(1.0, 10, 11) == math.inf


def test_scope_decides_what_is_trivial_and_what_is_said():
    claim = path_norm_gap(5, 10, 100, lipschitz=4, loss_range=4)
    assert claim.trivial
    assert "any network of path norm 5" in str(claim)
    blocks = hoeffding(0.1, effective_samples(10_000, 50, False), 1.0, independent=False)
    assert blocks.scope.samples == 100
    assert "blocks of a dependent series" in str(blocks)
    assert head_deficit(64, 2, 2, 4) is None
    deficit = head_deficit(256, 4, 2, 4)
    assert deficit is not None
    assert deficit.value == pytest.approx((64 - 2 - 4 + 1) / 11 - 1)
    assert claim.to_json()["scope"]["path_norm"] == 5


@pytest.mark.parametrize(
    "call",
    [
        lambda: hoeffding(0.1, 0, 1.0),
        lambda: hoeffding(0.1, 10, math.inf),
        lambda: hoeffding(0.1, 10, 1.0, delta=1.0),
        lambda: empirical_bernstein(np.ones(1), 1.0),
        lambda: path_norm_gap(-1, 10, 10, lipschitz=1, loss_range=1),
        lambda: lag_samples(0.0, 10),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(InputError, match="expected"):
        call()
