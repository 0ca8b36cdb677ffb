"""Checks a pair of sequences that the heads of one layer cannot tell apart (`recovery`).

The evidence is a sequence d by lag. Where the claim is about heads of every rate, no rate may see
more of d than the resolution; where it is about given rates, d is run through these heads one by
one. Outputs that are to be equal exactly are made so: d is changed at as many lags as there are
heads, by a linear system solved in balls, and what is left is scaled into the ball of tokens. Where
the answer is any function, both sequences are checked as they are handed to it, rounding included.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb, arb_mat

from headcount.core.claims import Claim, Norm, Readout, Scope, Sense, Status
from headcount.theory.balls import precision
from headcount.theory.bounds.check_continuum import never_above
from headcount.theory.heads import DECAYS, AbstractDecay

BITS = 192
Evidence = Mapping[str, Any]
Words = tuple[tuple[float, ...], ...]  # a sequence, oldest token first
Answer = Callable[[Words], float]


def confused(family: AbstractDecay, scope: Scope, c: Evidence) -> dict[int, arb] | None:
    """Lag → d(s), with |d| <= 1, seen by no head of the scope beyond its resolution; None when the
    evidence does not show one.
    """
    lags, y = [int(s) for s in c["lags"]], [float(v) for v in c["y"]]
    tidy = len(lags) == len(y) and len(set(lags)) == len(lags) and min(lags) >= 1
    if not tidy or not all(math.isfinite(v) and abs(v) <= 1 for v in y):
        return None
    d = {s: arb(v) for s, v in zip(lags, y, strict=True)}
    if c["kind"] == "pair":
        allowed = arb(scope.resolution)
        fits = scope.resolution > 0 and never_above(family, d, scope.lowest_rate, allowed)
        return d if fits else None
    return _at_rates(family, scope, c, d)


def _at_rates(
    family: AbstractDecay, scope: Scope, c: Evidence, d: dict[int, arb]
) -> dict[int, arb] | None:
    rates = [float(b) for b in c["rates"]]
    known = scope.rates is not None and set(scope.rates) <= set(rates)
    if not known or not all(b >= 0 for b in rates) or not family.first_lag <= min(d):
        return None
    with precision(BITS + 64 * len(rates)):
        curves = [family.curve(b, max(d) + 1) for b in rates]
        outputs = [sum((v * curve[s] for s, v in d.items()), arb(0)) for curve in curves]
        largest = arb(1)
        if scope.resolution > 0:
            for z in outputs:
                largest = largest.max(abs(z) / arb(scope.resolution))
        else:
            pivots = [int(s) for s in c["pivots"]]
            if len(pivots) != len(rates) or not set(pivots) <= set(d):
                return None
            system = arb_mat([[curve[s] for s in pivots] for curve in curves])
            change = system.solve(arb_mat([[-z] for z in outputs]))
            d = dict(d)
            for k, s in enumerate(pivots):
                d[s] = d[s] + change[k, 0]
        for v in d.values():
            largest = largest.max(abs(v))
        return {s: v / largest for s, v in d.items()}


def check_pair(claim: Claim, answer: Answer) -> bool:
    """Does the pair prove the claim for these answers, in the whole of its scope? The answers are
    asked for here; the pair is c ± (1 - |c|) d, which has the same x_t = c.
    """
    scope, c = claim.scope, claim.evidence
    lower = claim.sense is Sense.AT_LEAST and claim.status is Status.PROVED
    sane = math.isfinite(claim.value) and claim.value >= 0
    layer = scope.layers == 1 and not scope.dot_product and scope.precision is None
    any_readout = scope.readout is Readout.ANY and scope.norm is Norm.L1
    ball = scope.tokens.letters is None and 0 < scope.tokens.radius < math.inf
    known = scope.bias in DECAYS and scope.lowest_rate >= 0 and scope.resolution > 0
    if not (lower and sane and layer and any_readout and ball and known):
        return False
    assert scope.bias is not None
    try:
        shift = float(c["shift"])
        if not abs(shift) < 1 or not all(int(s) in scope.lags for s in c["lags"]):
            return False
        here, there = _shown(c, shift, scope.tokens.radius)
        with precision(BITS):
            if not _alike(DECAYS[scope.bias], scope, here, there):
                return False
        spread = abs(Fraction(float(answer(here))) - Fraction(float(answer(there))))
        return spread / 2 >= Fraction(claim.value)
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError):
        return False


def _alike(family: AbstractDecay, scope: Scope, here: Words, there: Words) -> bool:
    """Are these two, as doubles, sequences of the ball that end alike, with no head of the scope
    further apart than twice the resolution?
    """
    radius, halves = Fraction(scope.tokens.radius), {}
    for lag, ((a,), (b,)) in enumerate(zip(reversed(here), reversed(there), strict=True)):
        if max(abs(Fraction(a)), abs(Fraction(b))) > radius:
            return False
        halves[lag] = (arb(a) - arb(b)) / 2
    if halves.pop(0) != 0:
        return False
    allowed = arb(scope.resolution) * arb(scope.tokens.radius)
    if scope.rates is None:
        return never_above(family, halves, scope.lowest_rate, allowed)
    curves = [family.curve(b, len(here)) for b in scope.rates]
    outputs = [sum((v * curve[s] for s, v in halves.items()), arb(0)) for curve in curves]
    return min(scope.rates) >= 0 and all(abs(z) <= allowed for z in outputs)


def _shown(c: Evidence, shift: float, radius: float) -> list[Words]:
    """Both sequences as they are handed to the answer, oldest first."""
    length = max(int(s) for s in c["lags"]) + 1
    both: list[Words] = []
    for sign in (1, -1):
        row = [shift] * length
        for s, v in zip(c["lags"], c["y"], strict=True):
            row[length - 1 - int(s)] = shift + sign * (1 - abs(shift)) * float(v)
        both.append(tuple((radius * v,) for v in row))
    return both
