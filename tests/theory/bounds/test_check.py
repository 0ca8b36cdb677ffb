"""The checker accepts what was proved and refuses everything else: larger values, wider scopes,
changed evidence.
"""

import dataclasses
import math

import pytest

from headcount.core.claims import (
    FIELDS,
    Claim,
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
from headcount.core.refs import Ref
from headcount.memory.kernels import ArrayKernel, Exponential, Lag, Power, Window
from headcount.theory.bounds import check, lower_bound
from headcount.theory.heads import family
from headcount.theory.problem import Problem

CASES = {
    "dual-l1": (Problem(Lag(2), family("lin"), window=64, budget=30.0), None),
    "dual-l1-all": (Problem(Lag(3), family("log"), budget=30.0), None),
    "dual-l2": (
        Problem(Exponential(0.1), family("log"), norm=Norm.L2, window=64, budget=30.0),
        None,
    ),
    "dual-sup": (Problem(Lag(2), family("log1p"), norm=Norm.SUP, window=64, budget=30.0), None),
    "chebyshev": (Problem(Lag(40), family("log"), budget=1e3), None),
    "theorem-a": (Problem(ArrayKernel((0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, -2.0)), family("log1p")), 2),
    "theorem-a-sup": (Problem(Lag(6), family("log"), norm=Norm.SUP), 3),
    "block": (Problem(Window(7), family("log")), 3),
    "squeeze": (Problem(Power(1.5), family("lin"), window=300), 3),
    "zeros": (Problem(Power(1.5), family("log1p"), window=300), 3),
    "zeros-l2": (Problem(Power(1.5), family("lin"), norm=Norm.L2, window=300), 3),
    "zeros-sup": (Problem(Power(1.5), family("lin"), norm=Norm.SUP, window=300), 3),
}


# What these proofs do not limit: they hold for the widest value already.
NO_LIMIT = {
    "rates": None,
    "state": None,
    "reads": None,
    "neurons": None,
    "resolution": 0.0,
    "normalised": True,
}


@pytest.fixture(scope="module")
def claims():
    return {name: lower_bound(problem, heads) for name, (problem, heads) in CASES.items()}


def widened(scope):
    """Every scope that says more than this one, field by field."""
    wider = {
        "bias": None,
        "heads": None if scope.heads is not None and math.isinf(scope.weight) else scope.heads,
        "weight": scope.weight * 1e60,
        "layers": 2,
        "dot_product": True,
        "readout": Readout.ANY,
        "precision": Precision.FLOAT32,
        "norm": {Norm.L1: Norm.L2, Norm.L2: Norm.SUP}.get(scope.norm, scope.norm),
        "lags": Lags(scope.lags.first, scope.lags.stop // 2),
        "tokens": Tokens(frozenset({(1.0,)})),
        "lowest_rate": scope.lowest_rate - 0.5,
    }
    assert set(wider) | set(NO_LIMIT) == set(FIELDS)
    assert all(getattr(scope, name) == value for name, value in NO_LIMIT.items())
    for name, value in wider.items():
        if value != getattr(scope, name):
            yield name, dataclasses.replace(scope, **{name: value})


@pytest.mark.parametrize("name", CASES)
def test_accepts(claims, name):
    assert claims[name].value > 0
    assert claims[name].status is Status.PROVED
    assert check(claims[name])


@pytest.mark.parametrize("name", CASES)
def test_refuses_a_larger_value(claims, name):
    claim = claims[name]
    assert not check(dataclasses.replace(claim, value=claim.value * (1 + 1e-4) + 1e-9))
    assert not check(dataclasses.replace(claim, value=math.inf))


@pytest.mark.parametrize("name", CASES)
def test_refuses_a_wider_scope_in_every_field(claims, name):
    claim, seen = claims[name], set()
    for field, scope in widened(claim.scope):
        seen.add(field)
        assert not check(dataclasses.replace(claim, scope=scope)), field
    assert {"bias", "layers", "dot_product", "readout", "precision", "tokens", "lags"} <= seen


@pytest.mark.parametrize("name", CASES)
def test_refuses_another_kernel_sense_status_or_evidence(claims, name):
    claim = claims[name]
    assert not check(dataclasses.replace(claim, subject=Exponential(3.0)))
    assert not check(dataclasses.replace(claim, subject="lag:2"))
    assert not check(dataclasses.replace(claim, sense=Sense.AT_MOST))
    assert not check(dataclasses.replace(claim, status=Status.MEASURED))
    assert not check(dataclasses.replace(claim, evidence={"kind": "faith"}))
    assert not check(dataclasses.replace(claim, evidence={}))


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][1] is not None])
def test_refuses_more_heads(claims, name):
    claim, many = claims[name], 12
    more = dataclasses.replace(claim, scope=dataclasses.replace(claim.scope, heads=many))
    assert not check(more)
    assert not check(dataclasses.replace(more, evidence={**claim.evidence, "heads": many}))


def test_refuses_a_changed_dual_vector(claims):
    claim = claims["dual-l1"]
    y = list(claim.evidence["y"])
    y[5] = -y[5] + 0.25
    assert not check(dataclasses.replace(claim, evidence={**claim.evidence, "y": tuple(y)}))
    y[5] = float("nan")
    assert not check(dataclasses.replace(claim, evidence={**claim.evidence, "y": tuple(y)}))
    fewer = {**claim.evidence, "lags": claim.evidence["lags"][:-1]}
    assert not check(dataclasses.replace(claim, evidence=fewer))


def test_refuses_changed_blocks(claims):
    claim = claims["zeros"]
    start, stop, sign = claim.evidence["blocks"][0]
    twice = ((start, stop, sign), (start, stop, -sign), *claim.evidence["blocks"][1:])
    assert not check(dataclasses.replace(claim, evidence={**claim.evidence, "blocks": twice}))
    moved = (claim.evidence["coefficients"][0] * 1.5, *claim.evidence["coefficients"][1:])
    assert not check(dataclasses.replace(claim, evidence={**claim.evidence, "coefficients": moved}))


def test_refuses_overlapping_windows(claims):
    claim = claims["theorem-a"]
    assert claim.evidence["places"] == (4, 10)
    three = dataclasses.replace(claim.scope, heads=3)
    evidence = {**claim.evidence, "heads": 3}
    assert not check(dataclasses.replace(claim, scope=three, evidence=evidence))
    early = {**claim.evidence, "places": (1, 10)}
    assert not check(dataclasses.replace(claim, value=2.0, evidence=early))


USE_LAG_ZERO = {
    "dual": (Problem(Lag(2), family("lin"), window=64, budget=30.0), None),
    "chebyshev": (Problem(Lag(40), family("log1p"), budget=1e3), None),
    "theorem-a": (Problem(Lag(4), family("lin")), 4),
    "theorem-a-differences": (Problem(Window(6), family("log1p")), 5),
    "zero-counting": (Problem(Exponential(0.3), family("log1p"), window=300), 1),
}


@pytest.mark.parametrize("method", USE_LAG_ZERO)
def test_refuses_a_proof_by_lag_zero_where_the_residual_gives_it(method):
    problem, heads = USE_LAG_ZERO[method]
    claim = lower_bound(problem, heads)
    assert claim.method == method
    assert claim.value > 0
    assert check(claim)
    later = dataclasses.replace(claim.scope, lags=Lags(1, claim.scope.lags.stop))
    assert not check(dataclasses.replace(claim, scope=later))
    free = dataclasses.replace(problem, residual=True)
    assert claim.answers(free.scope(heads)).value is None
    own = lower_bound(free, heads)
    assert check(own)
    assert not check(dataclasses.replace(own, value=own.value * (1 + 1e-4) + 1e-9))


def test_refuses_a_polynomial_of_another_degree():
    """Pell's identity holds for -n too, and for a constant with every n: lag 6 is not among lags 0
    to 2, where nothing has error 0.
    """
    ref = Ref("headcount", "a forgery")
    for degree, place, coefficients in ((-5, 0, (1,)), (-3, 2, (-1, 18, -48, 32)), (7, 0, (1,))):
        forged = {
            "kind": "chebyshev", "lag": 6, "degree": degree, "place": place,
            "coefficients": coefficients,
        }  # fmt: skip
        scope = Scope(bias="lin", weight=0.5, lags=Lags(0, 3))
        claim = Claim(Lag(6), scope, Sense.AT_LEAST, 0.5, Status.PROVED, "chebyshev", ref, forged)
        assert not check(claim)
        assert not check(dataclasses.replace(claim, scope=Scope(bias="lin", weight=0.5)))


@pytest.mark.parametrize("rate", [math.inf, 1e300])
def test_rates_without_end_are_refused_not_a_crash(claims, rate):
    scope = dataclasses.replace(claims["dual-l1"].scope, lowest_rate=rate)
    assert check(dataclasses.replace(claims["dual-l1"], scope=scope)) in (True, False)


@pytest.mark.parametrize("kernel", [Lag, Window])
def test_half_a_lag_is_refused(kernel):
    with pytest.raises(InputError, match="integer"):
        kernel(2.5)
