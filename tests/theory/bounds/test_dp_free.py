"""The floor of affine maps: the four inputs prove it, and a certificate that was touched proves
nothing.
"""

import dataclasses
from fractions import Fraction

import pytest

from headcount.core.claims import SIGNS, Lags, Norm, Precision, Readout, Scope
from headcount.core.errors import InputError
from headcount.theory.bounds.dp_free import check_floor, two_lag_floor

LAGS = {-1.0: 0, 0.0: 1, 1.0: 2}


def prop42(x):
    """y = x_{t-g(x_t)}, g(-1, 0, 1) = (0, 1, 2), in plain Python."""
    return x[-1 - LAGS[x[-1][0]]][0]


SWING = ((-1.0,), (1.0,))
FLOOR = two_lag_floor(((0.0,), (1.0,)), (1, 2), SWING, prop42, "prop42")

INPUTS, WEIGHTS = FLOOR.evidence["inputs"], FLOOR.evidence["weights"]


def test_two_lags_leave_what_a_constant_answer_costs():
    assert FLOOR.value == 1.0
    assert check_floor(FLOOR, prop42)
    assert sum(WEIGHTS) == 0
    assert sum(map(abs, WEIGHTS)) == 1


def test_lag_zero_leaves_half():
    floor = two_lag_floor(((-1.0,), (1.0,)), (0, 2), SWING, prop42, "prop42")
    assert floor.value == 0.5
    assert check_floor(floor, prop42)


def test_vectors_and_unsymmetric_letters():
    def answer(x):
        return x[-2 if x[-1] == (1.0, 0.0) else -4][1] * 3

    floor = two_lag_floor(
        ((1.0, 0.0), (0.0, 1.0)), (1, 3), ((1.0, 0.0), (0.0, 1.0)), answer, "vectors"
    )
    assert floor.value == 1.5  # half of what the answer swings by
    assert check_floor(floor, answer)


@pytest.mark.parametrize(
    "change",
    [
        {"value": 1.0000001},
        {"value": float("nan")},
        {"weights": (Fraction(1, 2), *WEIGHTS[1:])},
        {"weights": tuple(2 * w for w in WEIGHTS)},
        {"weights": WEIGHTS[:3]},
        {"inputs": ((*INPUTS[0][:-1], (1.0,)), *INPUTS[1:])},
        {"inputs": (INPUTS[1], INPUTS[0], *INPUTS[2:])},
        {"inputs": (INPUTS[0][1:], *INPUTS[1:])},
        {"inputs": (((float("inf"),), *INPUTS[0][1:]), *INPUTS[1:])},
    ],
    ids=[
        "value",
        "nan",
        "unbalanced",
        "too heavy",
        "one weight short",
        "moved token",
        "swapped",
        "short window",
        "infinite",
    ],
)
def test_tampered_certificates_are_refused(change):
    evidence = {**FLOOR.evidence, **{k: v for k, v in change.items() if k != "value"}}
    value = change.get("value", FLOOR.value)
    assert not check_floor(dataclasses.replace(FLOOR, value=value, evidence=evidence), prop42)


@pytest.mark.parametrize(
    "wider",
    [
        {"readout": Readout.ANY},
        {"dot_product": True},
        {"norm": Norm.SUP},
        {"bias": "zzz"},
        {"weight": -1.0},
        {"layers": 0},
        {"precision": Precision.FLOAT32},
        {"lags": Lags(0, 2)},
        {"lags": Lags(1, 3)},
        {"tokens": SIGNS},
    ],
)
def test_wider_scopes_are_refused(wider):
    assert not check_floor(
        dataclasses.replace(FLOOR, scope=dataclasses.replace(FLOOR.scope, **wider)), prop42
    )


def test_it_is_about_every_bias_and_depth_but_not_about_an_ffn():
    asked = Scope(bias="table", heads=7, layers=4, lags=Lags(), tokens=FLOOR.scope.tokens)
    assert FLOOR.answers(asked).value == 1.0
    behind = dataclasses.replace(asked, readout=Readout.ANY)
    assert [gap.field for gap in FLOOR.answers(behind).gaps] == ["readout"]


def test_another_target_is_refused():
    assert not check_floor(FLOOR, lambda x: x[-2][0])  # a fixed lag is an affine map


def test_equal_lags_are_refused():
    with pytest.raises(InputError, match="two different lags"):
        two_lag_floor(((0.0,), (1.0,)), (2, 2), SWING, prop42, "prop42")
