"""The squeeze of rates: nearly sharp for power laws, and refused when its evidence is changed."""

import dataclasses
import math

import mpmath
import numpy as np
import pytest
from flint import arb

from headcount.core.claims import Claim, Lags
from headcount.memory.kernels import Exponential, Power
from headcount.theory.balls import precision
from headcount.theory.bounds import Effort, check, lower_bound
from headcount.theory.bounds.check_squeeze import added_up
from headcount.theory.bounds.squeeze import is_tight, squeeze_claim
from headcount.theory.fit import fit_heads
from headcount.theory.heads import family
from headcount.theory.measure import measure
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


@pytest.mark.parametrize(("exponent", "heads"), [(1.2, 2), (1.5, 1), (1.5, 3), (2.0, 4), (3.0, 3)])
def test_a_proof_about_all_lags_goes_on_to_far_ones(exponent, heads):
    problem = Problem(Power(exponent), family("lin"))
    found = measure(problem, fit_heads(problem, heads).head_sum).l1
    claim = squeeze_claim(problem, heads)
    assert claim is not None
    assert check(claim)
    assert is_tight(claim)
    assert claim.value <= found < 1.1 * claim.value
    first, stop = claim.evidence["lags"]
    assert stop > problem.length or exponent == 3.0
    nearer = {**claim.evidence, "lags": (first, stop - 1)}
    assert not check(dataclasses.replace(claim, evidence=nearer, value=claim.value * 1.001))
    assert not check(dataclasses.replace(claim, value=claim.value * 1.000001))
    # no farther than allowed, and no proof about lags that do not exist
    short = squeeze_claim(problem, heads, farthest=2000)
    assert short is not None
    assert short.evidence["lags"][1] <= 4000
    window = dataclasses.replace(claim.scope, lags=Lags(1, 100))
    assert not check(dataclasses.replace(claim, scope=window))


@pytest.mark.parametrize("p", ["0.3", "1", "1.5", "4.25"])
@pytest.mark.parametrize(("begin", "end"), [(1, 20), (3, 40_000), (17_000, 10**9), (5, 10**15)])
def test_the_checker_adds_up_powers(p, begin, end):
    with mpmath.workdps(60), precision(256):
        exact = (
            mpmath.digamma(end) - mpmath.digamma(begin)
            if p == "1"
            else mpmath.zeta(mpmath.mpf(p), begin) - mpmath.zeta(mpmath.mpf(p), end)
        )
        exponent = arb(p)
        found = added_up(exponent, begin, end)
        assert found.overlaps(arb(mpmath.nstr(exact, 50), 1e-40 * float(exact)))
        assert float(found.rad()) < 1e-24 * float(found)


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


def test_one_head_on_a_window_whose_slow_limit_has_no_strict_signs():
    assert claim_of(1.5, 1, 1025).value >= claim_of(1.5, 1, 1024).value * 0.999


def test_a_checker_refuses_what_is_no_claim():
    claim = claim_of(0.5, 2, 200)
    huge = {**claim.evidence, "heads": 10**9, "above": (), "below": (), "lags": (1, 2**59)}
    everywhere = dataclasses.replace(claim.scope, lags=Lags(1, None), heads=10**9)
    assert not check(dataclasses.replace(claim, scope=everywhere, evidence=huge))
    for kind in ([], {}):
        assert not check(forged(claim, kind=kind))
    for value in ("x", None, 10**400):
        assert not check(dataclasses.replace(claim, value=value))
    for name in ("weight", "lowest_rate", "resolution"):
        for value in ("x", None, -1.0, math.nan):
            scope = dataclasses.replace(claim.scope, **{name: value})
            assert not check(dataclasses.replace(claim, scope=scope))


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
