"""The parts of a diagnosis, each against what is known of it."""

import numpy as np
import pytest
from scipy import stats

from headcount.core.errors import InputError
from headcount.diagnose import diagnose
from headcount.diagnose.arrays import sequences_of
from headcount.diagnose.clock import _running_median, find_clock, level_shift
from headcount.diagnose.decay import decay
from headcount.diagnose.diagnose import rows_of
from headcount.diagnose.find_tokens import SPENDING as TOKEN_SPENDING
from headcount.diagnose.find_tokens import _map_models, token_findings
from headcount.diagnose.find_values import SPENDING, Options, _long_without
from headcount.diagnose.held_out import Candidate, ModelKind, judge
from headcount.diagnose.kernel_tail import TailClass, best_curve, kernel, long_memory, tail_of
from headcount.diagnose.recall import agreement, previous
from headcount.diagnose.sample_size import rows_for_nats, rows_for_partial_r2
from headcount.diagnose.samples import Column, Sequences, Setting, lagged, split
from headcount.diagnose.sign_flips import Filter, wilson_hilferty
from headcount.diagnose.token_counts import (
    Strata,
    TokenRows,
    g_tests,
    gumbel_p,
    mixed_blocks,
    replicate,
)
from headcount.diagnose.token_models import Table
from headcount.diagnose.token_scan import TokenMap


def test_rows_never_reach_into_another_sequence():
    source = Sequences(np.arange(20.0)[:, None], np.array([0, 10, 20]))
    rows = lagged(source, (1, 4))
    back = rows.column(Column(0, 4))
    assert ((rows.y < 10) == (back < 10)).all()
    assert len(rows.y) == 12


def test_settings_are_told_apart():
    x = np.random.default_rng(0).normal(size=(30, 9))
    assert sequences_of(x).setting is Setting.SELF
    assert sequences_of(x, x[:, 0] * 2 + x[:, 1]).setting is Setting.ROWS
    assert sequences_of(x, np.roll(x, 1)).setting is Setting.PAIRED


def test_the_sides_of_a_split_are_apart():
    rows = lagged(Sequences(np.arange(900.0)[:, None], np.array([0, 900])), tuple(range(1, 11)))
    _, (fold,) = split(rows)
    assert fold.judge[0] - fold.fit[-1] > 10
    few = lagged(Sequences(np.arange(200.0)[:, None], np.array([0, 200])), tuple(range(1, 11)))
    _, folds = split(few)
    assert len(folds) == 5
    judged = np.concatenate([fold.judge for fold in folds])
    assert sorted(judged) == list(range(190))
    assert not any(set(fold.fit) & set(fold.judge) for fold in folds)


def test_log_p_of_chi_squared():
    q = np.array([1.0, 5.0, 20.0, 60.0])
    for df in (3, 9, 45):
        exact = stats.chi2.logsf(q, df)
        assert np.allclose(wilson_hilferty(q, df), exact, rtol=0.15, atol=0.05)
    assert np.isfinite(wilson_hilferty(np.array([1e6]), 3)).all()


def test_the_filter_is_that_of_the_series():
    rng = np.random.default_rng(0)
    e, x = rng.normal(size=4000), np.zeros(4000)
    for t in range(1, 4000):
        x[t] = 0.8 * x[t - 1] + e[t]
    sequence = np.zeros(4000, int)
    found = Filter.of(x, sequence)
    assert found.weights[0] == pytest.approx(0.8, abs=0.05)
    a, b = rng.normal(size=4000), rng.normal(size=(1, 4000))
    assert found(a, sequence) @ b[0] == pytest.approx(a @ found.transposed(b, sequence)[0])


@pytest.mark.parametrize(("shape", "rate"), [("exp", 0.2), ("power", 1.3)])
def test_the_tail_of_a_kernel(shape, rate):
    rng, lags = np.random.default_rng(1), np.arange(40.0)
    x = rng.normal(size=(3000, 40))
    weights = np.exp(-rate * lags) if shape == "exp" else (lags + 1) ** -rate
    found = kernel(x, x @ weights + rng.normal(size=3000), lags)
    curves = [best_curve(found, kind) for kind in (TailClass.EXP, TailClass.POWER)]
    tail = tail_of(*curves, 3000)
    assert tail.shape == shape
    assert tail.interval[0] < rate < tail.interval[1]


def test_long_memory_needs_both_bandwidths():
    rng = np.random.default_rng(0)
    assert not long_memory(rng.normal(size=3000)).long
    assert long_memory(np.cumsum(rng.normal(size=3000))).d > 0.8


def test_a_clock_must_extrapolate():
    rng, t = np.random.default_rng(4), np.arange(1200)
    clock = find_clock(3 * np.sin(2 * np.pi * t / 12) + 0.01 * t + rng.normal(size=1200), 840)
    assert clock.degree == 1
    assert [round(period.length, 1) for period in clock.periods] == [12.0]
    assert not find_clock(rng.normal(size=1200), 840)
    x = np.zeros(1200)  # a cycle whose phase drifts
    for i in range(2, 1200):
        x[i] = 1.9 * np.cos(2 * np.pi / 11) * x[i - 1] - 0.9 * x[i - 2] + rng.normal()
    assert not find_clock(x, 840).periods


def test_medians_on_a_grid_are_those_between_them():
    power = np.random.default_rng(0).exponential(size=30_000)
    level, width = _running_median(power, 400), 400
    for at in (1000, 12_345, 29_000):
        assert level[at] == pytest.approx(np.median(power[at - width : at + width + 1]), rel=0.05)


def test_a_clock_without_noise_leaves_nothing():
    for series in (np.arange(300.0), np.sin(np.arange(400) / 2)):
        found = diagnose(series, advise=False, learner=False, tokens=False)
        assert (found.memory, bool(found.clock)) == ("none", True)


def test_rows_stay_cut_behind_a_clock():
    rows = lagged(Sequences(np.arange(90.0)[:, None], np.array([0, 90])), (1, 2)).rows(np.arange(5))
    other = rows.of(Sequences(-np.arange(90.0)[:, None], np.array([0, 90])))
    assert other.y.tolist() == (-rows.y).tolist()
    assert other.column(Column(0, 2)).tolist() == (-rows.column(Column(0, 2))).tolist()


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
def test_replicates_reach_every_share_of_the_level(alpha):
    options = Options((1,), alpha)
    for share in (*SPENDING.values(), *TOKEN_SPENDING.values()):
        assert 1 / (options.replicates_for(share * alpha) + 1) <= share * alpha + 1e-12
    assert Options((1,), 0.05).replicates_for(0.04) == 199


def test_a_shift_is_placed():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    none = np.empty((300, 0))
    assert level_shift(y, none, rng).p > 0.01
    y[120:] += 1.5
    found = level_shift(y, none, rng)
    assert found.p <= 0.01
    assert abs(found.place - 120) <= 5


def test_g_is_that_of_scipy():
    rng = np.random.default_rng(0)
    flat = rng.integers(0, 3, 500)
    rows = TokenRows(flat, np.arange(5, 500), flat[5:], (1, 2), 3, 3, False)
    strata = Strata.of(rows=495)
    g, df = g_tests(rows, strata, rows.y, strata.code)
    for i, lag in enumerate(rows.lags):
        table = np.zeros((3, 3))
        np.add.at(table, (rows.y, rows.at(lag)), 1)
        wanted = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
        assert g[0, i] == pytest.approx(wanted.statistic)
        assert df[0, i] == wanted.dof


def test_g_inside_strata_adds_up():
    rng = np.random.default_rng(0)
    flat = rng.integers(0, 3, 400)
    rows = TokenRows(flat, np.arange(5, 400), flat[5:], (1, 3), 3, 3, False)
    whole = Strata.of(rows.at(2), rows=395)
    parts = Strata.by(rows.at(2))
    together = g_tests(rows, whole, rows.y, whole.code)
    apart = g_tests(rows, parts, rows.y, parts.code)
    assert np.allclose(together[0], apart[0].sum(0, keepdims=True))
    assert np.allclose(together[1], apart[1].sum(0, keepdims=True))


def test_blocks_keep_runs_and_leave_no_row_in_place():
    rng, n, reach = np.random.default_rng(2), 1356, 63
    starts = set()
    for _ in range(50):
        order = mixed_blocks(n, reach, rng)
        assert sorted(order) == list(range(n))
        moved = (order - np.arange(n)) % n
        assert moved.min() >= reach
        assert moved.max() <= n - reach
        assert ((np.diff(order) % n) != 1).sum() <= 6  # seven blocks
        starts.add(int(order[0]))
    assert len(starts) > 40


def test_blocks_of_few_rows():
    order = mixed_blocks(60, 30, np.random.default_rng(0))
    assert sorted(order) == list(range(60))
    assert (order != np.arange(60)).any()


def test_answers_and_strata_move_together():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, 700)
    y, code = rng.integers(0, 3, 690), rng.integers(0, 2, 690)
    rows = TokenRows(x, np.arange(10, 700), y, tuple(range(8)), 3, 3, True)
    strata = Strata.of(code, rows=690)
    moved, moved_code = replicate(rows, strata, rng)
    assert (moved != y).any()
    assert (np.bincount(moved * 2 + moved_code) == np.bincount(y * 2 + strata.code)).all()


def test_the_law_of_extremes():
    drawn = stats.gumbel_r.rvs(size=5000, random_state=0)
    p, limit = gumbel_p(3.0, drawn, 0.05)
    assert p == pytest.approx(stats.gumbel_r.sf(3.0), rel=0.1)
    assert limit == pytest.approx(stats.gumbel_r.isf(0.05), rel=0.1)


def test_few_replicates_keep_the_level():
    """The largest of 1,024 normal scores, against 19 others like it."""
    rng, level = np.random.default_rng(0), 0.025
    largest = stats.norm.isf(1 - rng.random((4000, 20)) ** (1 / 1024))
    found = sum(gumbel_p(row[0], row[1:], level)[0] <= level for row in largest)
    assert found <= 4000 * level + 3 * np.sqrt(4000 * level)  # 120 are found without the widening
    assert found >= 60


def test_the_latest_earlier_match():
    flat = np.array([1, 2, 1, 3, 1, 2, 9, 1, 2])
    assert previous(flat, np.array([0, 9]), 1).tolist() == [-1, -1, 0, -1, 2, 1, -1, 4, 5]
    assert previous(flat, np.array([0, 9]), 2).tolist() == [-1] * 5 + [1, -1, -1, 5]
    assert previous(flat, np.array([0, 4, 9]), 1).tolist()[4:6] == [-1, -1]


def test_agreement_has_the_moments_of_permutations():
    rng = np.random.default_rng(0)
    y, r = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    counts = [(rng.permutation(y) == r).sum() for _ in range(20_000)]
    z = agreement(y, r, np.zeros(60, int), 1)
    assert z == pytest.approx(((y == r).sum() - np.mean(counts)) / np.std(counts), abs=0.03)


def test_a_table_gives_probabilities():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    table = Table.of([x], y, np.arange(150), 4)
    rows = np.arange(150, 200)
    assert sum(table.p(rows, np.full(50, v)) for v in range(4)) == pytest.approx(np.ones(50))


def test_the_simplest_of_equals_is_chosen():
    rng = np.random.default_rng(0)
    losses = rng.random(400)
    none = Candidate(ModelKind.NONE, (), 0, losses + 1, "none")
    one = Candidate(ModelKind.LAGS, (), 1, losses + 0.001, "one")
    two = Candidate(ModelKind.LAGS, (), 2, losses, "two")
    assert judge([none, one, two], None).chosen is one
    assert judge([none, two], None).chosen is two


def test_sample_sizes_are_those_of_the_formula():
    assert rows_for_partial_r2(0.05, 128) == pytest.approx(723, abs=1)
    assert rows_for_partial_r2(0.01, 128) == pytest.approx(3769, abs=1)
    assert rows_for_nats(0.05, 9, 64) == pytest.approx(371, abs=2)


def test_the_decay_of_a_markov_chain_is_exponential():
    rng = np.random.default_rng(0)
    flips = rng.random(200_000) < 0.1
    chain = np.cumsum(flips) % 2
    found = decay(chain, np.array([0, 200_000]), 2, 40, 0)
    assert found.shape == "exp"
    assert found.rate == pytest.approx(-2 * np.log(0.8), rel=0.15)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.ones(100), None, "constant"),
        (np.full(100, np.nan), None, "missing"),
        (np.r_[np.inf, np.arange(99.0)], None, "infinite"),
        (np.arange(100.0), np.arange(100.0), "equal the input"),
        (np.arange(100.0), np.arange(7.0), "7 answers"),
        (np.zeros((2, 2, 2, 2)), None, "shape"),
        (np.arange(100.0) * 1j, None, "real numbers"),
        (np.arange(100.0) ** 2, np.r_[np.inf, np.arange(99.0)], "infinite answers"),
        (["a", "b"], None, "something else than real numbers"),
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], None, "a sequence of 2"),
    ],
)
def test_what_is_refused(x, y, words):
    with pytest.raises(InputError, match=words):
        sequences_of(x, y)


def tokens_read(weight, lag, n=3000):
    """Findings on tokens where the newest element matters with this weight, beside one lag."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, n)
    y = np.where(rng.random(n) < weight, (np.roll(x, lag) + x) % 3, np.roll(x, lag))
    source = sequences_of(x[lag:], y[lag:], tokens=True)
    return token_findings(rows_of(source, 6, None))


def test_a_map_of_one_lag_for_all_tokens_is_a_table_if_the_newest_element_is_worth_it():
    same = TokenMap({0: (2,), 1: (2,), 2: (2,)}, {0: 0.01, 1: 0.01, 2: 0.01}, ())
    alone, both = tokens_read(0.0, 2), tokens_read(0.5, 2)
    assert _map_models(alone, same, alone.rows.at(0), 25) == []
    (table,) = _map_models(both, same, both.rows.at(0), 25)
    assert table.kind is ModelKind.LAGS
    assert [column.lag for column in table.columns] == [0, 2]


def test_a_map_of_different_lags_is_a_map():
    found = tokens_read(0.5, 2)
    other = TokenMap({0: (2,), 1: (4,), 2: (2,)}, {0: 0.01, 1: 0.01, 2: 0.01}, ())
    (model,) = _map_models(found, other, found.rows.at(0), 25)
    assert model.kind is ModelKind.MAP


def test_long_memory_is_told_from_a_shift_of_the_level():
    """It stays when a step is taken away; that of a series whose level did shift goes with it."""
    rng, d, n = np.random.default_rng(3), 0.35, 4000
    k = np.arange(1, 2 * n)
    weights = np.concatenate([[1.0], np.cumprod((k - 1 + d) / k)])
    long = np.convolve(rng.normal(size=2 * n), weights)[n : 2 * n]
    shifted = rng.normal(size=n) + 1.0 * (np.arange(n) >= 1700)
    assert _long_without(long, 1700)
    assert not _long_without(shifted, 1700)
    assert long_memory(shifted).d > 0.15


def test_no_model_explains_more_than_everything():
    """Blocks of unequal size must not make the share of a perfect model exceed 1."""
    rng = np.random.default_rng(0)
    none = np.cumsum(rng.normal(size=137)) ** 2
    judged = judge(
        [
            Candidate(ModelKind.NONE, (), 0.0, none, "none"),
            Candidate(ModelKind.LAGS, (Column(0, 1),), 1.0, np.zeros(137), "lags"),
        ],
        20,
    )
    assert judged.explained(judged.chosen)[0] == pytest.approx(1.0)
