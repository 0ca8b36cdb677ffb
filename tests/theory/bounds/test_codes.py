"""Finite letters: windows that codes confuse, cells that are too few, pieces that are too few."""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.claims import (
    BALL,
    FIELDS,
    SIGNS,
    Lags,
    Norm,
    Precision,
    Readout,
    Scope,
    Sense,
    Status,
    Tokens,
)
from headcount.core.errors import InputError
from headcount.memory.kernels import ArrayKernel, Exponential, Lag
from headcount.theory.bounds import check
from headcount.theory.bounds.check_codes import check_code
from headcount.theory.bounds.codes import (
    collision_claim,
    collision_of_answers,
    pieces_claim,
    pigeonhole_claim,
    pigeonhole_heads,
)

TERNARY = Tokens(frozenset({(-1.0,), (0.0,), (1.0,)}))
FLOAT32, BFLOAT16 = Precision.FLOAT32.unit, Precision.BFLOAT16.unit
CASES = {
    "collision": lambda: collision_claim(Lag(9), "lin", (0.5,), BFLOAT16, 9),
    "two-heads": lambda: collision_claim(Lag(12), "log1p", (1.5, 4.0), BFLOAT16, 14),
    "kernel": lambda: collision_claim(
        ArrayKernel((0, 1.0, -0.5, 0.25)), "log", (1.0,), 0.05, 6, TERNARY
    ),
    "lattice": lambda: collision_claim(Lag(30), "lin", (0.3,), FLOAT32, 30),
    "pigeonhole": lambda: pigeonhole_claim(40, 1, FLOAT32),
    "pieces": lambda: pieces_claim(6, "lin", 0.9),
}


@pytest.fixture(scope="module")
def claims():
    return {name: make() for name, make in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_accepts_what_is_proved_and_no_more(claims, name):
    claim = claims[name]
    assert claim.value > 0
    assert claim.scope.readout is Readout.ANY
    assert check(claim)
    assert not check(dataclasses.replace(claim, value=claim.value * (1 + 1e-9)))
    assert not check(dataclasses.replace(claim, value=math.inf))
    assert not check(dataclasses.replace(claim, value=-1.0))
    for change in (
        {"subject": Exponential(3.0)},
        {"subject": Lag(64)},
        {"sense": Sense.AT_MOST},
        {"status": Status.FOUND},
        {"evidence": {"kind": "collision"}},
        {"evidence": {}},
    ):
        assert not check(dataclasses.replace(claim, **change)), change


def wider(scope: Scope) -> dict:
    """One value for each field that says more than this scope; None for heads and rates where they
    are limited."""
    return {
        "bias": None if scope.bias != "lin" else "log",
        "lowest_rate": -0.5,
        "heads": None,
        "weight": 7.0,  # no wider, but no class of any readout either
        "layers": 2,
        "dot_product": True,
        "readout": Readout.LINEAR,
        "precision": Precision.FLOAT32,
        "rates": None,
        "neurons": None,
        "norm": Norm.SUP,
        "lags": Lags(1, 3),
        "tokens": Tokens(frozenset({(-0.5,), (0.5,)})),
        "resolution": scope.resolution / 1e6,
    }


UNLIMITED = {"state", "reads", "normalised"}


@pytest.mark.parametrize("name", CASES)
def test_refuses_a_wider_scope_in_every_field(claims, name):
    claim, seen = claims[name], set()
    assert set(wider(claim.scope)) | UNLIMITED == set(FIELDS)
    for field, value in wider(claim.scope).items():
        if value == getattr(claim.scope, field):
            continue
        if name == "kernel" and field == "lags":
            value = Lags(3, 7)
        scope = dataclasses.replace(claim.scope, **{field: value})
        assert not check(dataclasses.replace(claim, scope=scope)), field
        seen.add(field)
    assert {"bias", "lowest_rate", "layers", "dot_product", "readout", "precision"} <= seen
    on_ball = dataclasses.replace(claim.scope, tokens=BALL)
    assert not check(dataclasses.replace(claim, scope=on_ball))


@pytest.mark.parametrize("name", ["collision", "two-heads", "kernel", "lattice"])
def test_refuses_changed_windows(claims, name):
    claim = claims[name]
    here, there = claim.evidence["here"], claim.evidence["there"]
    other = {-1.0: 1.0, 1.0: -1.0, 0.0: 1.0}
    nearest = ((other[here[-2][0]],), here[-1])
    for forged in (
        {"here": (*here[:-2], *nearest)},
        {"here": (*here[:-1], (other[here[-1][0]],))},  # another x_t
        {"here": here[1:]},
        {"there": ((0.5,), *there[1:])},
        {"rates": (claim.scope.rates[0] + 0.2,)},
    ):
        assert not check(dataclasses.replace(claim, evidence={**claim.evidence, **forged})), forged


def test_refuses_changed_pieces(claims):
    claim = claims["pieces"]
    windows = claim.evidence["windows"]
    for forged in (windows[::-1], windows[:10] + windows[9:], (*windows, windows[0])):
        assert not check(dataclasses.replace(claim, evidence={"kind": "pieces", "windows": forged}))
    fewer = {"kind": "pieces", "windows": windows[:-2]}
    assert not check(dataclasses.replace(claim, evidence=fewer))


def test_the_code_of_a_small_base_asks_for_exponentially_many_neurons():
    """Digits in base e^b > 2: the older the token, the more often its answer changes."""
    for lag in (2, 3, 5, 8):
        assert pieces_claim(lag, "lin", 1.0).scope.neurons == 2**lag - 3


def test_interpolation_attains_the_pieces():
    """One neuron more than the claim excludes is enough: a zigzag through the answers."""
    claim = pieces_claim(4, "lin", 0.9)
    windows = np.array(claim.evidence["windows"])
    codes = windows @ np.exp(-0.9 * np.arange(1, 5))
    slopes = np.diff(windows[:, -1]) / np.diff(codes)
    neurons = len(slopes) - 1
    assert neurons == claim.scope.neurons + 1
    z = (np.array(np.meshgrid(*[[-1.0, 1.0]] * 4, indexing="ij")).reshape(4, -1)).T  # [16, 4]
    x = z @ np.exp(-0.9 * np.arange(1, 5))
    drawn = windows[0, -1] + slopes[0] * (x - codes[0])
    for bend, place in zip(np.diff(slopes), codes[1:-1], strict=True):
        drawn = drawn + bend * np.maximum(x - place, 0)
    np.testing.assert_allclose(drawn, z[:, -1], atol=1e-9)


def test_answers_of_any_kind():
    def parity(x):
        return x[-3][0] * x[-6][0]

    claim = collision_of_answers("parity", parity, "lin", (0.35,), 0.02, 6)
    assert claim.value == 1.0
    assert check_code(claim, parity)
    assert not check_code(claim)
    assert not check_code(claim, lambda x: x[-1][0])
    fine = collision_of_answers("parity", parity, "lin", (1.0,), 1e-3, 6)
    assert fine.value == 0.0


def test_counting():
    assert pigeonhole_claim(20, 1, FLOAT32).value == 0.0  # 2^20 windows, more cells
    assert pigeonhole_claim(40, 1, FLOAT32).value == 1.0
    assert pigeonhole_claim(40, 1, FLOAT32, TERNARY).value == 0.5
    assert pigeonhole_heads(40, FLOAT32) == 2
    claim = pigeonhole_claim(40, 1, FLOAT32)
    assert not check(dataclasses.replace(claim, scope=dataclasses.replace(claim.scope, heads=2)))
    assert claim.excludes(
        Scope(bias="lin", heads=1, readout=Readout.ANY, resolution=BFLOAT16, tokens=SIGNS), 0.9
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: collision_claim(Lag(3), "lin", (1.0,), 0.1, 4, BALL), "finitely many"),
        (lambda: collision_claim(Lag(3), "lin", (), 0.1, 4), "rates"),
        (lambda: collision_claim(Lag(3), "lin", (-1.0,), 0.1, 4), "rate"),
        (lambda: collision_claim(Lag(3), "lin", (1.0,), 2.0, 4), "resolution"),
        (lambda: collision_claim(Lag(3), "lin", (1.0,), 0.1, 0), "lags"),
        (lambda: collision_of_answers("x", len, "lin", (1.0,), 0.1, 40), "windows"),
        (lambda: pieces_claim(40, "lin", 1.0), "windows"),
        (lambda: pigeonhole_claim(40, 0, 0.1), "heads"),
        (lambda: pigeonhole_claim(40, 1, 0.0), "resolution"),
        (lambda: pigeonhole_claim(4, 1, 0.1, Tokens(frozenset({(1.0,)}))), "letters"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()
