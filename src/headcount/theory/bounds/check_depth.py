"""Checks bounds about depth and width (`depth`): answers are asked for here, positions and pieces
counted here; a bound by state is Theorem A again, in `check`.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

from headcount.core.claims import Claim, Lags, Norm, Readout, Sense, Status

Words = tuple[tuple[float, ...], ...]
Answer = Callable[[Words], float]


def check_depth(claim: Claim, answer: Answer) -> bool:
    """Does the evidence prove the claim for these answers, in the whole of its scope?"""
    lower = claim.sense is Sense.AT_LEAST and claim.status is Status.PROVED
    sane = math.isfinite(claim.value) and claim.value >= 0
    scope, kind = claim.scope, claim.evidence.get("kind")
    common = scope.readout is Readout.ANY and scope.precision is None and scope.resolution >= 0
    if not (lower and sane and common and scope.norm is Norm.L1 and kind in CHECKS):
        return False
    if claim.value == 0:
        return True
    try:
        return CHECKS[kind](claim, answer)
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError):
        return False


def _sensitive(claim: Claim, answer: Answer) -> bool:
    scope, base = claim.scope, tuple(tuple(map(float, x)) for x in claim.evidence["base"])
    changes = [(int(lag), tuple(map(float, x))) for lag, x in claim.evidence["changes"]]
    if scope.heads is None or scope.layers is None or scope.reads is None:
        return False
    if scope.heads < 0 or scope.layers < 0 or scope.reads < 0:
        return False
    places = {lag for lag, _ in changes}
    apart = len(places) == len(changes) and places <= set(range(len(base)))
    letters = {*base, *(token for _, token in changes)}
    spelled = scope.tokens.letters is not None and letters <= scope.tokens.letters
    if not (apart and spelled and _holds(scope.lags, len(base))):
        return False
    told, seen = Fraction(float(answer(base))), 0
    for lag, token in changes:
        other = list(base)
        other[-1 - lag] = token
        differs = abs(Fraction(float(answer(tuple(other)))) - told)
        seen += differs >= 2 * Fraction(claim.value)
    return seen > (1 + scope.heads * scope.reads) ** scope.layers


def _line(claim: Claim, answer: Answer) -> bool:
    scope, c = claim.scope, claim.evidence
    start, stop = ([[Fraction(v) for v in x] for x in c[name]] for name in ("start", "stop"))
    points, level = [Fraction(p) for p in c["points"]], Fraction(c["level"])
    one_layer = scope.layers == 1 and not scope.dot_product and scope.neurons is not None
    ball = scope.tokens.letters is None and _holds(scope.lags, len(start))
    if not (one_layer and ball and len(start) == len(stop)):
        return False
    radius = Fraction(scope.tokens.radius) ** 2
    if any(sum(v * v for v in x) > radius for x in (*start, *stop)):
        return False  # a ball is convex: its ends hold the line
    rising = all(0 <= a < b <= 1 for a, b in itertools.pairwise(points))
    sides = []
    for p in points:
        exact = [
            [a + p * (b - a) for a, b in zip(x, y, strict=True)]
            for x, y in zip(start, stop, strict=True)
        ]
        held = tuple(tuple(map(float, x)) for x in exact)
        if [[Fraction(v) for v in x] for x in held] != exact:
            return False
        sides.append(Fraction(float(answer(held))) - level)
    far = all(abs(side) >= Fraction(claim.value) for side in sides)
    turns = all(a * b < 0 for a, b in itertools.pairwise(sides))
    assert scope.neurons is not None
    return rising and far and turns and len(points) - 1 > scope.neurons + 1


def _holds(lags: Lags, length: int) -> bool:
    return lags.first == 0 and (lags.stop is None or lags.stop >= length)


CHECKS: dict[str, Callable[[Claim, Answer], bool]] = {"sensitive": _sensitive, "line": _line}
