"""Proposition 4.2, both halves: one layer with the dot product, and the certified floor without
it.
"""

import numpy as np
import pytest
import scipy.optimize

from headcount.construct.methods.affine_lag import affine_lag, answers, dp_free_floor
from headcount.core.claims import Precision
from headcount.core.errors import InputError
from headcount.memory.lag_functions import Bits, Table
from headcount.memory.named import targets
from headcount.memory.read import Last
from headcount.model.ffn import NoFFN
from headcount.theory.bounds.dp_free import check_floor
from tests.construct.adaptive_targets import CHAIN, TWO, drafted, refused, windows, worst

LEGAL = "adaptive:lag_functions=affine(offset=2,slope=1,T=3),inputs=ternary"  # lags 1, 2, 3


@pytest.mark.parametrize("normaliser", ["none", "softmax-sink"])
@pytest.mark.parametrize(
    "text", ["prop42", TWO, "adaptive:lag_functions=table(lags=2+1+2),inputs=onehot:3"]
)
def test_one_layer_without_ffn(text, normaliser):
    draft = drafted(
        "prop42", text, bias="lin", heads=6 if text == TWO else 3, normaliser=normaliser
    )
    assert len(draft.model.layers) == 1
    assert isinstance(draft.model.layers[0].ffn, NoFFN)
    assert worst(draft, text) <= draft.output.at(Precision.FLOAT64)
    assert draft.output.error < 0.1


def test_lags_that_are_affine_on_the_letters():
    slope, offset = affine_lag(Bits(first=3, stride=5), ((-1.0,), (1.0,)))
    assert (slope.tolist(), offset) == ([2.5], 5.5)
    one_hot = tuple(map(tuple, np.eye(3).tolist()))
    slope, offset = affine_lag(Table(lags=(4, 1, 7)), one_hot)
    assert (slope + offset).tolist() == [4, 1, 7]
    bent = Table(lags=(1, 3, 2), alphabet=((-1.0,), (0.0,), (1.0,)))
    assert affine_lag(bent, ((-1.0,), (0.0,), (1.0,))) is None


def test_refusals():
    assert any("log g" in r for r in refused("prop42", "prop42", bias="log"))
    assert any("another layer" in r for r in refused("prop42", CHAIN))
    assert any("needs an FFN behind" in r for r in refused("prop42", TWO + ",readout=parity"))
    assert any("docs/errata.md#e17" in r for r in refused("prop42", "prop42", normaliser="softmax"))


@pytest.mark.parametrize("text", ["prop42", LEGAL])
def test_floor_is_what_a_linear_program_finds(text):
    """min over all affine maps of the largest error on all windows: the floor, exactly, and
    answering 0 attains it.
    """
    target, x = targets.build(text), windows(text, 4)
    y = target.reference(x, Last())[:, 0, 0]
    columns = np.concatenate([x[:, :, 0], np.ones((len(x), 1))], axis=1)
    ones = np.ones((len(x), 1))
    limits = np.concatenate(
        [np.concatenate([columns, -ones], axis=1), np.concatenate([-columns, -ones], axis=1)]
    )
    solved = scipy.optimize.linprog(
        np.eye(6)[-1], A_ub=limits, b_ub=np.concatenate([y, -y]), bounds=(None, None)
    )
    floor = dp_free_floor(target)
    assert floor.value == pytest.approx(solved.fun) == 1.0
    assert check_floor(floor, answers(target))


def test_lag_zero_and_another_lag_alone_leave_half():
    # -1 asks for itself, 1 for the one before
    text = "adaptive:lag_functions=affine(offset=0.5,slope=0.5,T=1,allow_zero=true)"
    floor = dp_free_floor(targets.build(text))
    assert floor.value == 0.5
    assert check_floor(floor, answers(targets.build(text)))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("fixed:lags=2", "one lag function"),
        (TWO, "one lag function"),
        ("adaptive:lag_functions=table(lags=2+2),inputs=onehot:2", "two different lags"),
    ],
)
def test_floor_refuses_what_it_is_not_about(text, match):
    with pytest.raises(InputError, match=match):
        dp_free_floor(targets.build(text))
