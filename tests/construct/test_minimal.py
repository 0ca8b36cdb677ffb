import math

import numpy as np
import pytest

import headcount as hc
from headcount.construct.draft import Precision, Unreachable
from headcount.construct.methods.fewest_lin_heads import (
    best_error,
    best_eta,
    heads_within,
    minimal_heads,
    nodes,
    reach,
    tail_error,
    weight,
)
from headcount.memory.kernels import Lag
from headcount.theory.bounds import check_weight
from headcount.theory.errors import measure
from headcount.theory.families import Lin
from headcount.theory.problem import HeadSum, Problem
from tests.construct.drafted import drafted, largest_error, promised, refused, signs


@pytest.mark.parametrize("T", [1, 2, 3, 5])
def test_tail_and_weight_are_the_closed_forms(T):
    made = minimal_heads(T, 0.05)
    assert made.heads.heads == T + 1
    assert made.error == pytest.approx(tail_error(T, 0.05), rel=1e-3)
    assert np.abs(made.coefficients).sum() == pytest.approx(2 ** (2 * T - 1) / 0.05**T, rel=1e-9)
    by_hand = math.prod(1 / (1 - x) for x in nodes(T, 0.05)) - 1
    assert tail_error(T, 0.05) == pytest.approx(by_hand, rel=1e-9)


def test_one_head_fewer_leaves_everything():
    """Theorem A: without one of the nodes the error is at least 1, whatever the coefficients."""
    from headcount.theory.fit import best_coefficients

    made, problem = minimal_heads(3, 0.3), Problem(Lag(3), Lin())
    fewer = best_coefficients(problem, np.array(made.heads.rates[:-1]))
    head_sum = fewer if isinstance(fewer, HeadSum) else fewer.head_sum
    assert measure(problem, head_sum).l1 >= 1 - 1e-9


def test_best_eta_balances_tail_and_rounding():
    for precision in Precision:
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
    assert draft.facts["heads_by_memory"] == [int(T) + 1 for T in lags.split("+")]
    assert any("bear lag 6 in float64" in note for note in draft.notes)


def test_heads_given_must_be_those_of_the_theorem():
    _, draft = drafted("minimal", "fixed:lags=2", bias="lin", heads=3)
    assert draft.facts["heads_by_memory"] == [3]
    assert "T + 1 a lag are 3" in refused("minimal", "fixed:lags=2", bias="lin", heads=4)
    assert "is not lin" in refused("minimal", "fixed:lags=2", bias="log", tol=0.1)
    assert "is no fixed memory" in refused("minimal", "essential:kernel=exp:1", bias="lin", tol=0.1)


def test_beyond_its_reach_it_says_how_far_it_goes():
    with pytest.raises(Unreachable, match=r"float32 reaches lag 2 by T . 1 heads"):
        heads_within(4, 0.1, Precision.FLOAT32)


def test_impossible_lags_carry_a_certificate():
    with pytest.raises(Unreachable, match="however many heads") as caught:
        heads_within(40, 0.1, Precision.FLOAT64)
    assert check_weight(caught.value.certificate)


def test_very_long_lags_are_refused_and_not_an_overflow():
    with pytest.raises(Unreachable):
        hc.construct("fixed:lags=901", bias="lin", tol=0.1, theorem="minimal", length=1000)
