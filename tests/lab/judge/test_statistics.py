"""Sign tests, intervals, looks and Holm: against scipy, by hand, and by exhaustion."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from headcount.core.errors import InputError
from headcount.lab.judge.statistics import (
    Interval,
    Looks,
    Region,
    Scale,
    crossing,
    holm,
    median_interval,
    p_positive,
    power,
    seeds_needed,
    t_interval,
)

EFFECTS = np.array([0.5, 0.8, 0.2, 0.9, 0.4, 0.7])


def test_levels():
    losses = np.array([0.1, 0.01])
    assert Scale.LOG10_RATIO.level(losses, 5.0) == pytest.approx([-1, -2])
    assert Scale.EXPLAINED.level(losses, 5.0) == pytest.approx([0.02, 0.002])
    assert Scale.NATS.level(losses, 5.0) == pytest.approx(losses)


def test_the_sign_test_is_scipys():
    for above in range(11):
        effects = np.where(np.arange(10) < above, 1.0, -1.0)
        expected = stats.binomtest(above, 10, alternative="greater").pvalue
        assert p_positive(effects) == pytest.approx(expected)


def test_zeros_and_undefined_effects_count_for_nobody():
    effects = np.array([1.0, 1.0, 0.0, np.nan, np.inf])
    assert p_positive(effects) == pytest.approx(stats.binom.sf(2, 5, 0.5))
    assert p_positive(-effects) == 1.0


def test_regions():
    assert Region(low=0.3).p(EFFECTS) == pytest.approx(stats.binom.sf(4, 6, 0.5))
    assert Region(high=0.3).p(EFFECTS) == pytest.approx(stats.binom.sf(0, 6, 0.5))
    both = Region(0.3, 0.75).p(EFFECTS)
    assert both == max(Region(low=0.3).p(EFFECTS), Region(high=0.75).p(EFFECTS))


def test_refusals():
    with pytest.raises(InputError, match="low < high"):
        Region(0.3, -0.3)
    with pytest.raises(InputError, match="at least one finite end"):
        Region()
    with pytest.raises(InputError, match="confidence 90"):
        t_interval(EFFECTS, 90)
    with pytest.raises(InputError, match="2 paired seeds"):
        t_interval(EFFECTS[:2])
    with pytest.raises(InputError, match="no paired seeds"):
        p_positive(np.zeros(0))
    with pytest.raises(InputError, match="rising numbers"):
        Looks((20, 10))


def test_the_t_interval_is_scipys():
    both = stats.ttest_1samp(EFFECTS, 0.0).confidence_interval(0.90)
    assert t_interval(EFFECTS).to_json() == pytest.approx([both.low, both.high])
    assert t_interval(np.full(4, 2.0)) == Interval(2.0, 2.0)


@pytest.mark.parametrize("count", [3, 5, 10, 20, 40])
def test_order_statistics_cover_the_median_as_said(count):
    """By the law of the rank of the median: no draw is needed."""
    interval = median_interval(np.arange(1.0, count + 1), 0.90)
    if count < 5:
        assert interval == Interval(-math.inf, math.inf)
        return
    rank = int(interval.low)
    assert interval.high == count + 1 - rank
    assert 2 * stats.binom.cdf(rank - 1, count, 0.5) <= 0.10
    assert 2 * stats.binom.cdf(rank, count, 0.5) > 0.10


def test_crossing_is_what_exhaustion_gives():
    looks, level = (3, 6), 0.2
    chance = 0.6
    total = 0.0
    for signs in itertools.product([0, 1], repeat=6):
        first, second = sum(signs[:3]), sum(signs)
        crossed = stats.binom.sf(first - 1, 3, 0.5) <= level or (
            stats.binom.sf(second - 1, 6, 0.5) <= level
        )
        total += crossed * chance ** sum(signs) * (1 - chance) ** (6 - sum(signs))
    assert crossing(looks, level, chance) == pytest.approx(total)


def test_looks_keep_the_level_for_every_level():
    looks = Looks((10, 20, 40))
    for level in (0.5, 0.1, 0.05, 0.01, 0.05 / 16):
        assert crossing(looks.seeds, level / looks.factor, 0.5) <= level
    assert 1 < looks.factor < 3  # what three independent tests would cost
    assert Looks((10,)).factor == pytest.approx(1.0)


def test_a_decision_stands():
    """p never grows with more seeds."""
    effects = np.random.default_rng(0).normal(0.1, 1, (200, 40))
    seen = [Looks().p_positive(effects[:, :n]) for n in (9, 10, 20, 39, 40)]
    assert (seen[0] == 1).all()
    assert (seen[2] == Looks().p_positive(effects[:, :25])).all()
    for before, after in itertools.pairwise(seen):
        assert (after <= before).all()


def test_where_looks_are():
    assert [Looks().reached(n) for n in (9, 10, 25, 40, 50)] == [0, 10, 20, 40, 40]
    assert [Looks().after(n) for n in (0, 10, 20, 40)] == [10, 20, 40, None]


def test_holm():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(p, 16)[3] == pytest.approx(0.08)
    for bad, message in (([[0.1]], "shape"), ([1.5], "0, 1"), ([0.1, 0.2], "family of 1")):
        with pytest.raises(InputError, match=message):
            holm(np.array(bad), 1)


def test_power_without_noise_is_certain():
    still = np.zeros((1, 10))
    assert power(still, [1.0], [Region(low=0.3)], Looks(), 0.05) == 1.0
    assert power(still, [0.2], [Region(low=0.3)], Looks(), 0.05) == 0.0


def test_power_is_that_of_the_noise():
    """Normal noise has a power in closed form: the sign test of a chance."""
    effects = np.random.default_rng(1).normal(3.0, 0.4, (1, 20_000))
    found = power(effects, [0.6], [Region(low=0.3)], Looks(), 0.05 / 16)
    chance = float(stats.norm.cdf(0.3 / 0.4))
    exact = crossing((10, 20, 40), 0.05 / 16 / Looks().factor, chance)
    assert found == pytest.approx(exact, abs=0.05)


def test_seeds_needed():
    rng = np.random.default_rng(2)
    above = rng.normal(0.5, 0.4, 40)
    needed = seeds_needed(above, Region(low=0.3), 0.001)
    share = ((above > 0.3).sum() + 0.5) / 41
    assert crossing((int(needed),), 0.001, share) >= 0.8
    assert seeds_needed(above, Region(high=0.3), 0.001) == math.inf
    assert seeds_needed(np.array([0.2, 0.4] * 10), Region(low=0.3), 0.001) == math.inf
