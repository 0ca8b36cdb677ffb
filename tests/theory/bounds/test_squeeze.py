"""The squeeze of rates: nearly sharp for power laws, and refused when its evidence is changed."""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.claims import Claim, Lags
from headcount.memory.kernels import Exponential, Power
from headcount.theory.bounds import Effort, check, lower_bound
from headcount.theory.bounds.squeeze import is_tight, squeeze_claim
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


def claim_of(exponent: float, heads: int, window: int = 1000) -> Claim:
    found = squeeze_claim(Problem(Power(exponent), family("lin"), window=window), heads)
    assert found is not None
    return found


def reached(claim: Claim) -> float:
    """The error of the last sum of the squeeze, in float64."""
    first, stop = claim.evidence["lags"]
    lags = np.arange(first, stop, dtype=float)
    _, rates, a = claim.evidence["above"][-1]
    drawn = np.exp(-np.outer(lags, np.array(rates, dtype=float))) @ np.array(a, dtype=float)
    return float(np.abs(lags**-claim.subject.exponent - drawn).sum())


@pytest.mark.parametrize(
    ("exponent", "heads"), [(0.3, 1), (0.3, 2), (0.3, 4), (2.0, 3), (2.0, 5), (1.0, 4)]
)
def test_bound_and_sum_meet(exponent, heads):
    claim = claim_of(exponent, heads)
    assert check(claim)
    assert is_tight(claim)
    assert claim.value <= reached(claim) < 1.02 * claim.value
    assert math.isinf(claim.scope.weight)
    assert claim.scope.heads == heads


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "within"), [(8, 1.02), (12, 1.02), (16, 1.1)])
def test_many_heads(heads, within):
    claim = claim_of(0.3, heads)
    assert check(claim)
    assert claim.value <= reached(claim) < within * claim.value


def test_the_best_bound_takes_it():
    problem = Problem(Power(0.3), family("lin"), window=1000, budget=1e3)
    best = lower_bound(problem, 3)
    assert best.method == "squeeze"
    assert best.value == claim_of(0.3, 3).value
    assert lower_bound(problem, 3, Effort.DEEP).value >= best.value


def test_it_is_for_power_laws_by_lin_heads_in_l1():
    assert squeeze_claim(Problem(Power(1.0), family("log"), window=100), 2) is None
    assert squeeze_claim(Problem(Power(1.0), family("lin"), Norm.SUP, window=100), 2) is None
    assert squeeze_claim(Problem(Exponential(0.1), family("lin"), window=100), 2) is None
    assert squeeze_claim(Problem(Power(1.0), family("lin"), window=6), 3) is None


def forged(claim: Claim, **evidence) -> Claim:
    return dataclasses.replace(claim, evidence={**claim.evidence, **evidence})


def test_changed_evidence_is_refused():
    claim = claim_of(0.5, 2, 200)
    assert check(claim)
    above, below, places = (claim.evidence[key] for key in ("above", "below", "places"))
    scope = claim.scope
    assert not check(dataclasses.replace(claim, value=claim.value * 1.001))
    assert not check(dataclasses.replace(claim, subject=Power(0.6)))
    assert not check(dataclasses.replace(claim, subject=Exponential(0.01)))
    for changed in (
        {"heads": 3}, {"bias": "log1p"}, {"norm": Norm.SUP}, {"lags": Lags(1, 150)},
    ):  # fmt: skip
        other = dataclasses.replace(scope, **changed)
        assert not check(dataclasses.replace(claim, scope=other)), changed
    assert not check(forged(claim, above=above[1:]))
    assert not check(forged(claim, below=below[1:]))
    assert not check(forged(claim, above=above[:3] + above[4:]))
    assert not check(forged(claim, below=below[:3] + below[4:]))
    assert not check(forged(claim, above=below, below=above))
    assert not check(forged(claim, places=tuple(t + 1 for t in places)))
    assert not check(forged(claim, heads=1))
    assert not check(forged(claim, lags=(1, 1000)))
    last = above[-1]
    lower = tuple(str(float(b) * 0.99) for b in last[1])
    assert not check(forged(claim, above=(*above[:-1], (last[0], lower, last[2]))))
    negative = ("-" + last[2][0], *last[2][1:])
    assert not check(forged(claim, above=(*above[:-1], (last[0], last[1], negative))))


def test_fewer_heads_are_covered():
    claim = claim_of(0.5, 3, 200)
    asked = dataclasses.replace(claim.scope, heads=2)
    assert claim.answers(asked).value == claim.value
    assert check(dataclasses.replace(claim, scope=asked))
