import dataclasses

import numpy as np
import pytest

from headcount.construct.blocks.decaying_heads import (
    affordable,
    heads_for_count,
    heads_for_tol,
    split_heads,
    threshold,
)
from headcount.construct.blocks.drawn_heads import Decay, DrawnHeads, sum_goes_on
from headcount.construct.draft import Request, Unreachable
from headcount.construct.impossible import accepted
from headcount.core.claims import Precision
from headcount.memory.kernels import Exponential, Lag


def drawn(heads, length):
    lags = np.arange(length)
    curve = {
        "lin": lambda b: np.exp(-b * lags),
        "log": lambda b: np.where(lags > 0, np.maximum(lags, 1.0) ** -b, 0.0),
    }[heads.curves[0].bias]
    return sum(a * curve(b) for a, b in zip(heads.coefficients, heads.rates, strict=True))


@pytest.mark.parametrize(
    ("bias", "T", "tol"), [("lin", 1, 0.01), pytest.param("log", 2, 0.05, marks=pytest.mark.slow)]
)
def test_heads_reach_the_tolerance_as_doubles(bias, T, tol):
    found = heads_for_tol(Lag(T), bias, tol, Precision.FLOAT32)
    error = np.abs(drawn(found, 4096) - (np.arange(4096) == T)).sum()
    assert error <= found.error + 1e-9
    assert found.error <= tol
    assert np.abs(found.coefficients).sum() <= affordable(tol, Precision.FLOAT32)


def test_a_long_lag_is_refused_with_a_certificate_that_the_checker_accepts():
    with pytest.raises(Unreachable, match=r"10\^10[0-9]") as refusal:
        heads_for_tol(Lag(99), "lin", 0.1, Precision.FLOAT64)
    assert accepted(refusal.value.claims[0])


@pytest.mark.slow
def test_a_kernel_out_of_reach_of_the_budget_is_refused_with_a_certificate():
    with pytest.raises(Unreachable, match="however many") as refusal:
        heads_for_tol(Lag(3), "log", 0.02, Precision.FLOAT32)
    claim = refusal.value.claims[0]
    assert claim.value > 0.02
    assert accepted(claim)
    assert not accepted(dataclasses.replace(claim, value=claim.value * 1.01))


def test_a_kernel_of_the_family_takes_one_head():
    found = heads_for_count(Exponential(0.3), "lin", 1, Precision.FLOAT32)
    assert (found.error, found.rates.tolist()) == (0.0, [0.3])


def test_thresholds_are_those_of_theorem_a():
    assert [threshold(Lag(4), bias) for bias in ("lin", "log", "log1p")] == [5, 4, 5]


@pytest.mark.slow  # methods share heads in quick tests
def test_heads_are_shared_by_what_they_are_worth():
    found = split_heads([Lag(1), Lag(2)], Request("log", heads=4))
    assert [f.count for f in found] == [1, 3]  # lag 1 is exact with one log head


@pytest.mark.parametrize("bias", ["lin", "log", "log1p"])
def test_masses_are_sums_over_lags(bias):
    rates = np.array([0.5, 2.0])
    wanted = {
        "lin": [sum(np.exp(-b * s) for s in range(9)) for b in rates],
        "log": [sum(s**-b for s in range(1, 9)) for b in rates],
        "log1p": [sum((1 + s) ** -b for s in range(9)) for b in rates],
    }[bias]
    curves = tuple(Decay(bias, b) for b in rates)
    heads = DrawnHeads(Lag(1), curves, np.ones(2), 0.0, "")
    assert heads.masses(9) == pytest.approx(wanted)


def test_the_sink_continues_the_geometric_sum():
    b, t = 0.3, 5
    seen = sum(np.exp(-b * s) for s in range(t))
    assert seen + np.exp(sum_goes_on(np.array([b]))[0] - b * t) == pytest.approx(
        1 / (1 - np.exp(-b))
    )


def test_one_kernel_takes_all_heads_in_one_fit(monkeypatch):
    counts = []

    def fitted(kernel, bias, heads, precision, window=None):
        counts.append(heads)
        return heads_for_count(kernel, bias, heads, precision, window)

    monkeypatch.setattr("headcount.construct.blocks.decaying_heads.heads_for_count", fitted)
    made = split_heads([Lag(1)], Request("lin", heads=6))
    assert counts == [6]
    assert made[0].count <= 6


def test_out_of_reach_of_many_heads_is_not_sought_with_few(monkeypatch):
    """The best of any number of log1p heads within the budget is far from the tolerance."""
    counts = []

    def attempt(problem, heads):
        counts.append(heads)
        return DrawnHeads(problem.kernel, (), np.zeros(0), 1.0, "none")

    monkeypatch.setattr("headcount.construct.blocks.decaying_heads._counted", attempt)
    with pytest.raises(Unreachable):
        heads_for_tol(Lag(1), "log1p", 4e-4, Precision.FLOAT32, 1000)
    assert counts == [18]
