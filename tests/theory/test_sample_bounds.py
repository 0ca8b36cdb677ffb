"""Statements for so many samples: against published numbers, and simulated."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from headcount.core.claims import Status
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
from headcount.theory.sample_claims import Quantity, Rows, Unit

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


@pytest.mark.parametrize("samples", [10, 100])
@pytest.mark.parametrize("chance", [0.05, 0.5])
def test_they_hold_for_the_hardest_losses_too(samples, chance):
    """Losses of 0 or 1: at one half Hoeffding is nearly as bad as it may be."""
    losses = (np.random.default_rng(samples).random((PROBLEMS, samples)) < chance).astype(float)
    wrong = [sum(hoeffding(x.mean(), samples, 1.0, DELTA).value < chance for x in losses),
             sum(empirical_bernstein(x, 1.0, DELTA).value < chance for x in losses)]  # fmt: skip
    assert max(wrong) <= DELTA * PROBLEMS
    if chance == 0.5:
        assert wrong[0] > 0.002 * PROBLEMS  # it is no empty test


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
    weak = [lag_samples(r2, 64).value for r2 in (0.05, 0.01)]  # there the normal formula is near
    assert weak == [420, 2143]
    z = stats.norm.isf(0.05 / 128) + stats.norm.ppf(0.9)
    assert weak == pytest.approx([z**2 * (1 - r2) / r2 for r2 in (0.05, 0.01)], rel=0.03)


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize(("share", "lags"), [(0.99, 32), (0.9, 1000), (0.5, 32), (0.1, 8)])
def test_the_samples_for_a_lag_give_the_power_they_promise(share, lags, signs):
    n, repeats = int(lag_samples(share, lags, 0.05, 0.9).value), 3000
    rng = np.random.default_rng([int(100 * share), lags, signs])
    shape = (repeats, n)
    x = rng.choice([-1.0, 1.0], shape) if signs else rng.normal(size=shape)
    y = math.sqrt(share) * x + math.sqrt(1 - share) * rng.normal(size=shape)
    dx, dy = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
    with np.errstate(invalid="ignore"):  # equal signs: no slope, nothing found
        r = np.nan_to_num((dx * dy).sum(1) / np.sqrt((dx**2).sum(1) * (dy**2).sum(1)))
    t = r * np.sqrt((n - 2) / (1 - r**2))
    found = np.mean(2 * stats.t.sf(np.abs(t), n - 2) < 0.05 / lags)
    assert found > 0.9 - 4 * 0.3 / math.sqrt(repeats)


def test_a_scope_names_what_a_lag_is_tested_for():
    claim = lag_samples(0.3, 64)
    assert claim.value == 60
    for part in ("samples enough: 60 with probability 0.9", "the share 0.3", "64 lags alone",
                 "at level 0.05/64", "approximate: t-test"):  # fmt: skip
        assert part in str(claim)
    assert claim.to_json()["scope"] == {"about": "LagScope", "lags": 64, "alpha": 0.05,
                                        "share": 0.3}  # fmt: skip


@pytest.mark.parametrize("constant", [False, True])
def test_least_squares_have_the_stated_excess_risk(constant):
    """On 200,000 problems, to four standard errors: (p - 2/n) and p differ by six."""
    rng, p, n, sigma, repeats = np.random.default_rng(2), 3, 10, 0.7, 200_000
    x = rng.normal(size=(repeats, n, p))
    if constant:
        x[:, :, 0] = 1.0
    turned = x.transpose(0, 2, 1)
    w = np.linalg.solve(turned @ x, turned @ (sigma * rng.normal(size=(repeats, n, 1))))[..., 0]
    risks = (w**2).sum(axis=1)  # E (w.z)^2 for new inputs of the same law
    error = risks.std() / math.sqrt(repeats)
    true = least_squares_risk(sigma, p, n, constant=constant)
    other = least_squares_risk(sigma, p, n, constant=not constant)
    assert abs(risks.mean() - true) < 4 * error < abs(true - other)
    assert least_squares_risk(1.0, 10, 11) == math.inf


def test_scope_decides_what_is_trivial_and_what_is_said():
    claim = path_norm_gap(5, 10, 100, lipschitz=4, loss_range=4)
    assert claim.trivial
    assert "any network of path norm 5" in str(claim)
    assert claim.to_json()["scope"]["path_norm"] == 5


def test_blocks_of_a_series_say_what_is_known_of_their_tokens():
    n = effective_samples(10_000, 50, False)
    assert n == 100
    windows = hoeffding(0.1, n, 1.0, rows=Rows.WINDOWS)
    assert windows.status is Status.PROVED
    assert "100 blocks of overlapping windows of one series of independent tokens" in str(windows)
    for claim in (
        hoeffding(0.1, n, 1.0, rows=Rows.MIXING),
        path_norm_gap(1, n, 50, lipschitz=4, loss_range=4, rows=Rows.MIXING),
    ):
        assert claim.status is Status.CONJECTURED
        assert "dependent tokens, up to its unknown mixing coefficient" in str(claim)
        assert "(proved" not in str(claim)


def test_a_head_deficit_names_the_class_that_it_is_about():
    assert head_deficit(64, 2, 2, 4) is None
    deficit = head_deficit(256, 4, 2, 4)
    assert deficit.value == pytest.approx((64 - 2 - 4 + 1) / 11 - 1)
    for part in ("every target y = F(z_1, ..., z_4)", "min over t in S_i", "on 256 tokens",
                 "2 heads of width 4", "not about memories of fixed lags", "yu-2026"):  # fmt: skip
        assert part in str(deficit)
    assert "probability" not in str(deficit)


def test_what_the_losses_are_is_part_of_the_claim():
    plain = hoeffding(0.1, 1000, 4.0)
    claim = plain.about(
        Quantity.CLIPPED_RISK, clip=1.0, unit=Unit.SEQUENCE, measured=0.09, constant=0.2
    )
    said = str(claim)
    assert said.startswith("risk of clipped answers at most")
    assert "answers clipped to ±1" in said
    assert "the mean over the answers of a sequence that has any" in said
    assert not claim.beats_constant
    assert dataclasses.replace(claim, constant=0.9).beats_constant
    assert not plain.beats_constant


def test_blocks_of_overlapping_windows_are_as_good_as_they_say():
    """Means of losses over the rows of series of fair signs, each the majority of its window."""
    rng, tokens, window = np.random.default_rng(5), 400, 5
    series = rng.integers(0, 2, (PROBLEMS, tokens))
    rows = np.lib.stride_tricks.sliding_window_view(series, window, axis=1)
    losses = (rows.sum(axis=2) > window / 2).mean(axis=1)
    n = effective_samples(tokens - window + 1, window, False)
    wrong = sum(hoeffding(x, n, 1.0, rows=Rows.WINDOWS).value < 0.5 for x in losses)
    assert wrong <= violations_allowed()


@pytest.mark.parametrize(
    "call",
    [
        lambda: hoeffding(0.1, 0, 1.0),
        lambda: hoeffding(0.1, 10, math.inf),
        lambda: hoeffding(0.1, 10, 1.0, delta=1.0),
        lambda: empirical_bernstein(np.ones(1), 1.0),
        lambda: path_norm_gap(-1, 10, 10, lipschitz=1, loss_range=1),
        lambda: lag_samples(0.0, 10),
        lambda: lag_samples(0.1, 0),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(InputError, match="expected"):
        call()
