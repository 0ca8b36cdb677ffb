import math

import numpy as np
import pytest

import headcount as hc
from headcount.construct.draft import PRECISIONS, Unreachable
from headcount.construct.impossible import accepted
from headcount.construct.methods.fewest_lin_heads import (
    best_error,
    best_eta,
    chebyshev_heads,
    heads_within,
    nodes,
    reach,
    tail_error,
    weight,
)
from headcount.core.claims import Precision
from headcount.memory.kernels import Lag
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin
from headcount.theory.measure import measure
from headcount.theory.problem import Problem
from tests.construct.drafted import drafted, largest_error, promised, refused, signs


@pytest.mark.parametrize("T", [1, 2, 3, 5])
def test_tail_and_weight_are_the_closed_forms(T):
    made = chebyshev_heads(T, 0.05)
    assert made.count == T + 1
    assert made.error == pytest.approx(tail_error(T, 0.05), rel=1e-3)
    assert np.abs(made.coefficients).sum() == pytest.approx(2 ** (2 * T - 1) / 0.05**T, rel=1e-9)
    by_hand = math.prod(1 / (1 - x) for x in nodes(T, 0.05)) - 1
    assert tail_error(T, 0.05) == pytest.approx(by_hand, rel=1e-9)


def test_one_head_fewer_leaves_everything():
    """Theorem A: without one of the nodes the error is at least 1, whatever the coefficients."""
    from headcount.theory.fit import best_coefficients

    made, problem = chebyshev_heads(3, 0.3), Problem(Lag(3), Lin())
    fewer = best_coefficients(problem, made.rates[:-1])
    head_sum = fewer if isinstance(fewer, HeadSum) else fewer.head_sum
    assert measure(problem, head_sum).l1 >= 1 - 1e-9


def test_best_eta_balances_tail_and_rounding():
    for precision in PRECISIONS:
        eta = best_eta(2, precision)
        best = best_error(2, precision)
        for other in (eta / 3, min(3 * eta, 0.99)):
            assert tail_error(2, other) + precision.unit * weight(2, other) > best


def test_how_far_t_plus_one_heads_reach():
    assert [reach(p, 0.1) for p in (Precision.FLOAT32, Precision.FLOAT64)] == [2, 6]
    assert best_error(3, Precision.FLOAT32) == pytest.approx(0.115, rel=0.02)
    assert best_error(6, Precision.FLOAT64) == pytest.approx(0.0711, rel=0.02)
    assert reach(Precision.FLOAT64, 1e-12) == 0


@pytest.mark.parametrize(
    ("lags", "precision"), [("1", "float32"), ("2", "float32"), ("1+4", "float64")]
)
def test_draft_keeps_its_promise(lags, precision):
    target, draft = drafted(
        "minimal",
        f"fixed:lags={lags}",
        bias="lin",
        tol=0.1,
        precision=Precision(precision),
        length=10,
    )
    assert largest_error(target, draft, signs(3, 10)) <= promised(draft) <= 0.1
    assert draft.facts["heads_by_memory"] == [int(T) for T in lags.split("+")]
    assert any("bear lag 9 in float64" in note for note in draft.notes)


def test_heads_given_must_be_those_of_the_theorem():
    for heads in (2, 3):  # beside x_t, and without it
        target, draft = drafted("minimal", "fixed:lags=2", bias="lin", heads=heads)
        assert draft.facts["heads_by_memory"] == [heads]
        assert largest_error(target, draft, signs(3, 24)) <= promised(draft) <= 0.1
    assert "T + 1 are 3" in refused("minimal", "fixed:lags=2", bias="lin", heads=4)
    assert "not one of lin" in refused("minimal", "fixed:lags=2", bias="log", tol=0.1)
    assert "is no fixed memory" in refused("minimal", "essential:kernel=exp:1", bias="lin", tol=0.1)


def test_beyond_its_reach_it_says_how_far_it_goes():
    with pytest.raises(Unreachable, match="float32 reaches lag 2 by such heads"):
        heads_within(4, 0.1, Precision.FLOAT32)


def test_impossible_lags_carry_a_certificate():
    with pytest.raises(Unreachable, match="however many heads") as caught:
        heads_within(40, 0.1, Precision.FLOAT64)
    assert accepted(caught.value.claims[0])


def test_very_long_lags_are_refused_and_not_an_overflow():
    with pytest.raises(Unreachable):
        hc.construct("fixed:lags=901", bias="lin", tol=0.1, theorem="minimal", length=1000)


@pytest.mark.parametrize(("T", "window"), [(3, 4), (3, 6), (6, 7), (5, 12)])
def test_lags_beyond_the_window_do_not_exist(T, window):
    """The tail counted lag by lag from the weights written, and none beyond the window."""
    made = chebyshev_heads(T, 0.7, window)
    lags = np.arange(window)
    curve = np.exp(-np.outer(lags, made.rates)) @ made.coefficients
    assert np.abs(curve - (lags == T)).sum() == pytest.approx(made.error, rel=1e-6, abs=1e-9)
    assert made.error == pytest.approx(tail_error(T, 0.7, window), rel=1e-6, abs=1e-9)
    assert tail_error(T, 0.7, window) < tail_error(T, 0.7)


def test_sequences_no_longer_than_the_lag_cost_the_lightest_weights():
    """Lag 6 in 7 tokens: nodes on [0, 1], sum|a| = 2^11, exact; beside x_t six heads do."""
    alone, beside = (heads_within(6, 0.1, Precision.FLOAT32, 7, free) for free in (False, True))
    assert (alone.count, beside.count) == (7, 6)
    assert alone.weight == pytest.approx(2048)
    assert max(alone.error, beside.error) < 1e-9
    target, draft = drafted("minimal", "fixed:lags=6", bias="lin", tol=0.1, length=7)
    assert largest_error(target, draft, signs(16, 7)) <= promised(draft) < 1e-6


def test_notes_of_the_readout_come_once():
    """A readout with a note of its own (a product of reals) keeps it, once."""
    product = "fixed:lags=1,readout=product(current=true),inputs=uniform"
    for method in ("fixed", "minimal", "composed"):
        _, draft = drafted(method, product, bias="lin", tol=0.5, width=64)
        assert sum("directions" in note for note in draft.notes) == 1
