"""States, layers and neurons: what is accepted, what is refused, and that it is attained."""

import dataclasses
import itertools
import math
from fractions import Fraction

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
from headcount.memory.named.pointer_chain import PointerChain
from headcount.theory.bounds import check
from headcount.theory.bounds.check_depth import check_depth
from headcount.theory.bounds.depth import (
    chain_adversary,
    chain_layers,
    changed,
    layers_claim,
    on_line,
    state_claim,
    width_claim,
)
from headcount.theory.heads import family
from headcount.theory.problem import Problem


def lag(T: int) -> Problem:
    return Problem(Lag(T), family("lin"))


# --- state ----------------------------------------------------------------------------------------


def test_lag_t_needs_a_state_of_t():
    claim = state_claim(lag(6), 5)
    assert claim.value == 1.0
    assert check(claim)
    assert state_claim(lag(6), 6) is None
    # of whatever depth, without denominators; a softmax is another question
    asked = Scope(bias="lin", layers=40, state=5, normalised=False, neurons=0, lags=Lags(1, None))
    assert claim.excludes(asked, 0.9)
    assert not claim.excludes(dataclasses.replace(asked, normalised=True), 0.9)
    assert not claim.excludes(dataclasses.replace(asked, state=6), 0.9)
    assert not claim.excludes(dataclasses.replace(asked, readout=Readout.ANY), 0.9)


def test_a_wider_state_claim_is_refused():
    kernel = ArrayKernel((0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, -2.0))
    claim = state_claim(Problem(kernel, family("lin")), 2)
    assert claim.value == 3.0
    assert check(claim)
    wider = {
        "bias": "log1p",
        "lowest_rate": -0.5,
        "state": 4,
        "normalised": True,
        "dot_product": True,
        "readout": Readout.ANY,
        "neurons": None,  # one head as a code, decoded between two layers, needs one state
        "precision": Precision.FLOAT32,
        "norm": Norm.SUP,
        "lags": Lags(1, 5),
        "tokens": Tokens(frozenset({(1.0,)})),
    }
    # any weights, heads, layers and rates already
    unlimited = {"weight", "heads", "layers", "rates", "reads", "resolution"}
    assert set(wider) | unlimited == set(FIELDS)
    for field, value in wider.items():
        scope = dataclasses.replace(claim.scope, **{field: value})
        assert not check(dataclasses.replace(claim, scope=scope)), field
    assert not check(dataclasses.replace(claim, scope=dataclasses.replace(claim.scope, state=None)))
    from_zero = dataclasses.replace(claim.scope, lags=Lags(0, claim.scope.lags.stop))
    assert not check(dataclasses.replace(claim, scope=from_zero))
    assert not check(dataclasses.replace(claim, value=3.1))
    assert not check(dataclasses.replace(claim, subject=Exponential(1.0)))


# --- layers ---------------------------------------------------------------------------------------


def follow(hops: int):
    """The pointer chain of this package, as an answer."""
    target = PointerChain(hops=hops, symbols=2)

    def answer(x):
        found = float(target.reference(np.array([[int(v[0]) for v in x]]))[0, -1])
        return found if found >= 0 else math.nan  # the chain leaves the sequence

    return answer


@pytest.mark.parametrize("hops", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_chain_needs_as_many_layers_as_counting_says(hops, heads):
    base, changes = chain_adversary(hops)
    least, answer = chain_layers(hops, heads), follow(hops)
    for layers in range(1, least + 1):
        claim = layers_claim("pointer-chain", answer, base, changes, heads, layers)
        assert claim.value == (0.5 if layers < least else 0.0)
        assert check_depth(claim, answer)


def test_a_wider_layers_claim_is_refused():
    base, changes = chain_adversary(5)
    answer = follow(5)
    claim = layers_claim("pointer-chain", answer, base, changes, 1, 2)
    assert claim.value == 0.5
    wider = {
        "heads": 2, "layers": 3, "reads": 2, "precision": Precision.FLOAT32, "norm": Norm.SUP,
        "lags": Lags(1, 7), "tokens": SIGNS, "readout": Readout.LINEAR,
    }  # fmt: skip
    # every bias, rate, weight, rank, score and network already
    unlimited = {
        "bias", "lowest_rate", "weight", "dot_product", "rates", "state", "normalised", "neurons",
        "resolution",
    }  # fmt: skip
    assert set(wider) | unlimited == set(FIELDS)
    for field, value in wider.items():
        scope = dataclasses.replace(claim.scope, **{field: value})
        assert not check_depth(dataclasses.replace(claim, scope=scope), answer), field
        if field in ("heads", "layers", "reads"):
            none = dataclasses.replace(claim.scope, **{field: None})
            assert not check_depth(dataclasses.replace(claim, scope=none), answer)
    refused = (
        {"value": 0.6}, {"sense": Sense.AT_MOST}, {"status": Status.FOUND}, {"evidence": {}},
        {"evidence": {**claim.evidence, "changes": changes[:4]}},
        {"evidence": {**claim.evidence, "changes": (*changes[:4], changes[0])}},
        {"evidence": {**claim.evidence, "base": ((0.0,),) * len(base)}},
    )  # fmt: skip
    for change in refused:
        assert not check_depth(dataclasses.replace(claim, **change), answer), change
    assert not check_depth(claim, lambda x: 0.0)


def test_doubling_attains_it():
    """One head, 2^L - 1 hops in L layers: every row keeps how far it has come and what is there;
    each layer reads one position, which the row itself names. Every sequence of 3 symbols."""
    for layers in (1, 2, 3):
        hops = 2**layers - 1
        answer = follow(hops)
        for x in itertools.product((0, 1), repeat=min(2 * hops + 1, 11)):
            rows = [(v + 1, v) for v in x]  # the lag of the next token, the token here
            for _ in range(layers):
                # the next row's way is appended to ours; at the ends a row stays where it is
                rows = [
                    (lag + rows[t - lag][0], rows[t - lag][1]) if t >= lag else (10**6, v)
                    for t, (lag, v) in enumerate(rows)
                ]
            wanted = answer(tuple((float(v),) for v in x))
            assert rows[-1][1] == wanted or math.isnan(wanted)


# --- width ----------------------------------------------------------------------------------------

TEETH = 4


def wave(x) -> float:
    """A triangle wave of the token at lag 2, four teeth on [-1, 1]."""
    phase = (float(x[-3][0]) + 1) * TEETH / 2 % 1
    return 1 - 4 * abs(phase - 0.5)


ENDS = (((-1.0,), (0.0,), (0.0,)), ((1.0,), (0.0,), (0.0,)))
POINTS = [Fraction(k, 4 * TEETH) for k in range(4 * TEETH + 1)]


def test_teeth_cost_neurons():
    claim = width_claim("wave", wave, *ENDS, POINTS)
    assert claim.value == 1.0
    assert claim.scope.neurons == 2 * TEETH - 2  # 2 TEETH crossings need 2 TEETH - 1 neurons
    assert claim.scope.tokens == BALL
    assert check_depth(claim, wave)
    asked = Scope(bias="lin", heads=9, readout=Readout.ANY, neurons=5, tokens=BALL)
    assert claim.excludes(asked, 0.9)
    assert not claim.excludes(dataclasses.replace(asked, neurons=None), 0.9)
    assert not claim.excludes(dataclasses.replace(asked, tokens=SIGNS), 0.9)
    assert not claim.excludes(dataclasses.replace(asked, dot_product=True), 0.9)
    # the wave itself: one neuron for each turn
    s = np.linspace(-1, 1, 641)
    slopes = np.where(np.arange(2 * TEETH) % 2 == 0, 1, -1) * 2.0 * TEETH
    drawn = -1 + slopes[0] * (s + 1)
    for k, bend in enumerate(np.diff(slopes)):
        drawn = drawn + bend * np.maximum(s - (-1 + (k + 1) / TEETH), 0)
    np.testing.assert_allclose(drawn, [wave(((v,), (0,), (0,))) for v in s], atol=1e-9)
    assert len(np.diff(slopes)) == claim.scope.neurons + 1


def test_a_wider_width_claim_is_refused():
    claim = width_claim("wave", wave, *ENDS, POINTS)
    wider = {
        "layers": 2, "dot_product": True, "neurons": 7, "precision": Precision.FLOAT32,
        "norm": Norm.SUP, "lags": Lags(0, 2), "tokens": Tokens(None, 0.5),
        "readout": Readout.LINEAR,
    }  # fmt: skip
    unlimited = {
        "bias", "lowest_rate", "heads", "weight", "rates", "state", "normalised", "reads",
        "resolution",
    }  # fmt: skip
    assert set(wider) | unlimited == set(FIELDS)
    for field, value in wider.items():
        scope = dataclasses.replace(claim.scope, **{field: value})
        assert not check_depth(dataclasses.replace(claim, scope=scope), wave), field
    points = claim.evidence["points"]
    refused = (
        {"value": 1.01}, {"sense": Sense.AT_MOST}, {"status": Status.FOUND}, {"evidence": {}},
        {"evidence": {**claim.evidence, "points": points[:-1]}},
        {"evidence": {**claim.evidence, "points": points[::-1]}},
        {"evidence": {**claim.evidence, "level": Fraction(1)}},
        {"evidence": {**claim.evidence, "stop": ENDS[0]}},
    )  # fmt: skip
    for change in refused:
        assert not check_depth(dataclasses.replace(claim, **change), wave), change
    assert not check_depth(claim, lambda x: 0.0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: state_claim(Problem(Lag(3), family("log")), 2), "lin"),
        (lambda: state_claim(Problem(Lag(3), family("lin"), Norm.SUP), 2), "l1"),
        (lambda: state_claim(lag(3), 0), "state"),
        (lambda: chain_layers(0, 1), "hops"),
        (lambda: chain_layers(2, 0), "heads"),
        (lambda: chain_adversary(0), "hops"),
        (lambda: layers_claim("x", len, ((0.0,),), [(3, (1.0,))], 1, 1), "lags"),
        (lambda: layers_claim("x", len, ((0.0,),), [(0, (1.0,))], 1, 0), "layers"),
        (lambda: width_claim("x", wave, ENDS[0], ENDS[1][:2], POINTS), "shapes"),
        (lambda: width_claim("x", wave, *ENDS, [Fraction(3, 2)]), "points"),
        (lambda: on_line(*ENDS, Fraction(1, 3)), "float64"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_changes_are_by_lag():
    assert changed(((1.0,), (2.0,), (3.0,)), 2, (9.0,)) == ((9.0,), (2.0,), (3.0,))
    assert math.isinf(-layers_claim("x", len, ((0.0,),), [], 1, 1).scope.lowest_rate)
