"""What the page Heads draws and says of a fit."""

import numpy as np
import pytest

from headcount.web.asked import AskFit
from headcount.web.views.head_views import MOST_LAGS, heads_view, shown_lags


@pytest.mark.parametrize("lag", [3, 97, 99, 300, 1000])
def test_a_spike_at_any_lag_is_drawn_with_its_neighbours(lag):
    spike = np.eye(1024)[lag]
    lags = shown_lags(np.stack([np.zeros(1024), spike]))
    assert {lag - 1, lag, lag + 1} <= set(lags.tolist())
    assert len(lags) < 160
    line = np.interp(np.arange(1024), lags, spike[lags])
    assert np.abs(line - spike).max() <= 0.02


def test_lines_between_shown_lags_follow_a_wave_until_there_are_too_many():
    lags = np.arange(1024)
    slow = np.cos(lags / 40)[None]
    shown = shown_lags(slow)
    assert np.abs(np.interp(lags, shown, slow[0, shown]) - slow[0]).max() <= 0.02
    assert len(shown_lags(np.cos(3 * lags)[None])) < MOST_LAGS + 3
    assert len(shown_lags(np.zeros((2, 5)))) == 5


def test_one_lag_far_back_by_one_head():
    curves = heads_view(AskFit(kernel="lag:99", bias="table", heads=1))["curves"]
    at = curves["lags"].index(99)
    assert curves["kernel"][at] == curves["fit"][at] == curves["heads"][0][at] == 1
    assert curves["residual"][at] == 0


@pytest.mark.parametrize(
    ("kernel", "heads", "budget", "zero"),
    [("lag:2", 3, None, True), ("lag:2", 2, None, False), ("lag:2", 3, 100.0, False)],
)
def test_as_many_heads_as_lags_have_no_best_sum(kernel, heads, budget, zero):
    asked = AskFit(kernel=kernel, heads=heads, budget=budget, certify=False)
    assert heads_view(asked)["infimum_zero"] is zero


def test_how_many_lags_count_where_a_kernel_has_no_sum():
    asked = {"heads": 1, "certify": False}
    found = heads_view(AskFit(kernel="power:1.0", **asked))
    assert found["lags_judged"] == 1024
    assert "not summable" in found["notes"][0]
    assert heads_view(AskFit(kernel="power:1.0", window=64, **asked))["lags_judged"] is None
    assert heads_view(AskFit(kernel="power:1.5", **asked))["lags_judged"] is None
