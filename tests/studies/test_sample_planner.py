"""From a learning curve to the samples that an error needs: what it tells, and what it does not."""

import json

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.studies.decomposition import Floor, RiskPoint
from headcount.studies.needed_words import needed_words
from headcount.studies.sample_planner import Outcome, more_sizes, samples_needed


def told(sizes, risks, error, fresh):
    """The document of a curve's answer, and its sentence."""
    rows = np.asarray(risks, float)
    need = samples_needed(sizes, rows, error, fresh)
    left = np.broadcast_to(np.asarray(fresh, float), rows.shape[1:])
    made = json.loads(json.dumps(need.to_json(), allow_nan=False))
    return made, needed_words(need, RiskPoint(sizes[-1], {}, rows[-1], left, Floor()))


def power(sizes, rng, seeds=5, limit=0.0, spread=0.2):
    """Risks limit + 10/n, the second term times log-normal factors of mean 1."""
    factors = rng.lognormal(-(spread**2) / 2, spread, (len(sizes), seeds))
    return limit + 10 / np.array(sizes)[:, None] * factors


# --- within the sizes


def test_the_interval_covers_the_true_n_as_often_as_meant():
    """Chi-square risks p/(n - p) as least squares have them: 90% are meant, 67% to 78% were."""
    rng, taps, sizes = np.random.default_rng(0), 8, [30, 100, 300, 1000]
    true = taps + taps / 0.05
    held = trials = 300
    for _ in range(trials):
        now = sizes
        drawn = {}
        while True:
            for n in now:
                drawn.setdefault(n, rng.chisquare(taps, 5) / (n - taps))
            rows = np.stack([drawn[n] for n in now])
            found = samples_needed(now, rows, 0.05, 0.0)
            more = more_sizes(found, now, rows)
            if not more:
                break
            now = sorted([*now, *more])
        held -= not (found.low or 0) <= true <= (found.high or np.inf)
    assert held / trials > 0.87  # 0.9 but for chance


def test_the_answer_lies_in_its_interval_and_more_seeds_narrow_it():
    rng, widths = np.random.default_rng(1), []
    for seeds in (5, 40):
        found = samples_needed([100, 300, 1000], power([100, 300, 1000], rng, seeds), 0.03, 0.0)
        assert found.low < found.n < found.high
        widths.append(found.high / found.low)
    assert widths[1] < widths[0]


def test_other_shapes_between_two_sizes_are_in_the_interval():
    """c/(n - b) with b = 25: a power of n gives 85, which is 76."""
    risks = [[25 / (n - 26)] * 3 for n in (30, 100)]
    found = samples_needed([30, 100], risks, 0.5, 0.0)
    assert found.low == pytest.approx(76)
    assert found.n > 80
    limit = samples_needed([30, 3000], [[0.01 + 1 / n] * 3 for n in (30, 3000)], 0.02, 0.01)
    assert limit.low <= 100 < limit.n


def test_a_cliff_between_two_sizes_is_no_power_of_n():
    """A filter of 90 taps without noise: 1 - n/91 up to 90 samples, then 0. The true n is 87."""
    made, said = told([30, 100], [[0.67] * 5, [1e-12] * 5], 0.05, 0.0)
    assert made["outcome"] == "between"
    assert (made["low"], made["high"]) == (30, 100)
    assert "[30, 100]: between two sizes the risk falls too steeply to say more" in said


def test_a_cliff_is_bisected_until_its_sizes_are_near():
    sizes = [30, 100]

    def risks(sizes):
        return [[max(1 - n / 91, 1e-12)] * 5 for n in sizes]

    for _ in range(4):
        found = samples_needed(sizes, risks(sizes), 0.05, 0.0)
        more = more_sizes(found, sizes, risks(sizes))
        sizes = sorted([*sizes, *more])
    found = samples_needed(sizes, risks(sizes), 0.05, 0.0)
    assert found.low <= 87 <= found.high < 1.2 * found.low


def test_a_size_near_the_answer_is_measured_once():
    risks = [[10 / n] * 3 for n in (100, 1000)]
    found = samples_needed([100, 1000], risks, 0.04, 0.0)
    assert more_sizes(found, [100, 1000], risks) == [250]
    assert more_sizes(found, [100, 200, 1000], risks) == []
    assert more_sizes(samples_needed([100], [[0.1]], 0.2, 0.0), [100], [[0.1]]) == []


def test_too_easy_an_error_has_an_upper_bound_only():
    made, said = told([30, 100], [[0.2, 0.3, 0.25], [0.02, 0.03, 0.02]], 0.5, 0.0)
    assert (made["n"], made["low"], made["at_most"]) == (30, None, True)
    assert "at most 30 samples (the smallest size tried);" in said
    made, said = told([30, 100], [[0.2, 0.9, 0.3], [0.02, 0.03, 0.02]], 0.5, 0.0)
    assert 30 < made["high"] < 100  # other seeds would not reach it with 30
    assert "tried) [up to " in said


def test_ends_that_the_seeds_leave_open_are_none():
    low = samples_needed([30, 100], [[0.5, 0.001, 0.9], [1e-3, 1e-3, 1e-3]], 0.4, 0.0)
    assert low.low is None
    high = samples_needed([30, 100, 300], [[9, 9.0, 9], [1, 1, 1.0], [0.1, 0.5, 0.001]], 0.3, 0.0)
    assert high.high is None
    assert high.wide
    assert samples_needed([30, 100], [[9], [0.1]], 0.3, 0.0).low is None  # one seed tells nothing


def test_a_curve_that_reaches_the_error_is_believed_whatever_fresh_data_leave():
    found = samples_needed([30, 100], [[6, 6.2, 6.1], [0.8, 0.7, 0.75]], 1.0, 3.4)
    assert found.outcome is Outcome.MEASURED
    assert found == samples_needed([30, 100], [[6, 6.2, 6.1], [0.8, 0.7, 0.75]], 1.0, 0.0)


def test_a_size_that_reaches_the_error_is_told_where_the_largest_does_not():
    """Training leaps later on more data: 1,000 samples reach 0.01, 10,000 and fresh data do not."""
    risks = [[6.3] * 5, [0.34] * 5, [8e-4] * 5, [0.35] * 5]
    made, said = told([30, 100, 1000, 10_000], risks, 0.01, 0.34)
    assert (made["n"], made["outcome"], made["reached"]) == (None, "not kept", 1000)
    assert said == ("How many samples reach 0.01 is not known: 1000 reach it, but 10000 samples"
                    " leave 0.35, above 0.01.")  # fmt: skip


# --- beyond the sizes


def test_what_is_drawn_on_is_the_risk_above_fresh_data():
    """0.0099 + 10/n is 0.01 at 100,000, not where a power of the whole is."""
    sizes = [30, 100, 300, 1000]
    risks = [[0.0099 + 10 / n] * 5 for n in sizes]
    made, said = told(sizes, risks, 0.01, 0.0099)
    assert made["extrapolated"] is True
    assert made["n"] == pytest.approx(1e5, rel=1e-3)
    assert "(drawn on beyond the sizes measured)" in said
    assert "dominates at the largest size measured." in said


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_what_is_drawn_on_holds_the_truth(seed):
    sizes, rng = [30, 100, 300, 1000], np.random.default_rng(seed)
    found = samples_needed(sizes, power(sizes, rng, 10, 0.005), 0.01, [0.005] * 10)
    assert found.outcome is Outcome.DRAWN_ON
    assert (found.low or 0) < 2000 < (found.high or np.inf)


def test_a_curve_that_still_bends_is_not_drawn_on_as_if_it_did_not():
    """25/(n - 26) falls steeply at first; the last two sizes are nearer to 1/n than three are."""
    sizes = [30, 100, 300]
    found = samples_needed(sizes, [[25 / (n - 26)] * 3 for n in sizes], 0.01, 0.0)
    assert found.n == pytest.approx(2526, rel=0.3)
    assert found.low < 2526 < found.high


def test_what_is_drawn_on_lies_beyond_the_sizes_and_grows_as_the_error_falls():
    sizes, risks = [100, 1000, 10_000], [[1] * 3, [0.1] * 3, [0.09] * 3]
    drawn = [samples_needed(sizes, risks, error, 0.0) for error in (0.0899, 0.085, 0.08, 0.07)]
    assert all(found.outcome is Outcome.DRAWN_ON for found in drawn)
    reached = [found.n for found in drawn]
    assert reached == sorted(reached)
    assert 10_000 < reached[0] < 10_300


def test_an_error_below_fresh_data_needs_no_number_of_samples():
    made, said = told([10, 100], [[1.0] * 3, [0.1] * 3], 0.01, 0.02)
    assert made["n"] is made["low"] is made["high"] is None
    assert made["outcome"] == "fresh above"
    assert said.startswith("No size tried reaches 0.01, and fresh data leave 0.02")


def test_fresh_data_that_are_worse_are_no_limit():
    made, said = told([30, 1000], [[6, 6.2, 6.1], [8e-4, 7e-4, 7.5e-4]], 1e-4, 0.34)
    assert (made["n"], made["outcome"]) == (None, "fresh worse")
    assert said.startswith("How many samples reach 0.0001 is not known: 1000 samples leave 0.00075")


@pytest.mark.parametrize("error", [0.0095, 0.0105])
def test_an_error_that_seeds_do_not_tell_from_fresh_data_has_no_number(error):
    fresh = [0.007, 0.012, 0.010, 0.011, 0.010]
    risks = [[0.5] * 5, [0.1] * 5, [0.02, 0.025, 0.024, 0.026, 0.022]]
    made, said = told([30, 100, 300], risks, error, fresh)
    assert (made["n"], made["outcome"]) == (None, "fresh near")
    assert "are too near to it for so few seeds" in said
    assert samples_needed([30, 100, 300], risks, error, fresh).wide  # more seeds may tell


def test_a_last_size_that_seeds_do_not_tell_from_fresh_data_has_no_number():
    fresh = [0.010, 0.020, 0.030, 0.015, 0.025]
    risks = [[0.5] * 5, [0.1] * 5, [0.040, 0.021, 0.032, 0.010, 0.045]]
    made, said = told([30, 100, 300], risks, 0.028, fresh)
    assert (made["n"], made["outcome"]) == (None, "in noise")
    assert "do not tell this from the 0.02 that fresh data leave" in said


@pytest.mark.filterwarnings("error")
def test_one_size_tells_no_slope():
    made, said = told([30], [[0.5, 0.6, 0.4]], 0.1, 0.0)
    assert (made["n"], made["outcome"]) == (None, "one size")
    assert "one size tells no slope; pass at least two --sizes" in said
    made, said = told([30], [[0.05, 0.06, 0.04]], 0.1, 0.0)
    assert made["at_most"] is True
    assert "at most 30 samples" in said


FLAT = [[0.5, 0.6, 0.4, 0.5, 0.5], [0.5, 0.5, 0.6, 0.4, 0.5], [0.52, 0.5, 0.5, 0.5, 0.5]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("risks", [FLAT, [[0.3] * 5, [0.4] * 5, [0.5] * 5],
                                   [[0.5] * 5, [0.4997] * 5, [0.495] * 5]])  # fmt: skip
def test_a_curve_that_does_not_fall_has_no_number(risks):
    made, said = told([30, 100, 300], risks, 0.1, 0.0)
    assert (made["n"], made["high"], made["outcome"]) == (None, None, "no slope")
    assert "does not fall at the last sizes, or too slowly" in said


@pytest.mark.filterwarnings("error")
def test_seeds_that_are_flat_leave_the_interval_open():
    risks = [[1.0, 0.5, 0.5, 0.5], [0.35, 0.5, 0.5, 0.5]]  # one seed of four falls
    made, said = told([100, 1000], risks, 0.3, 0.0)
    assert made["high"] is None
    assert made["low"] < made["n"]
    assert " and more] (drawn on" in said
    assert samples_needed([100, 1000], risks, 0.3, 0.0).wide


@pytest.mark.filterwarnings("error")
def test_a_seed_that_diverged_opens_the_interval_and_what_is_no_number_is_refused():
    risks = [[0.5] * 5, [0.05, 0.05, 0.05, 0.05, 1e8], [0.001] * 5]
    found = samples_needed([30, 100, 300], risks, 0.01, 0.0)
    assert found.low <= 100 < found.n < 300 == found.high
    with pytest.raises(InputError, match="1 risks that are not finite"):
        samples_needed([30, 100], [[0.5, 0.1], [0.1, np.nan]], 0.2, 0.0)
