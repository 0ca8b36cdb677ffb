"""Checks bounds about finite letters (`codes`): two windows, or a row of windows, run through heads
drawn here lag by lag in balls; cells counted in whole numbers.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb

from headcount.core.claims import Claim, Norm, Readout, Scope, Sense, Status
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.balls import kernel_values, precision
from headcount.theory.heads import DECAYS

BITS = 192
Evidence = Mapping[str, Any]
Answer = Callable[[tuple[tuple[float, ...], ...]], float]


def check_code(claim: Claim, answer: Answer | None = None) -> bool:
    """Does the evidence prove the claim, in the whole of its scope? `answer` is asked where the
    subject is no kernel.
    """
    scope, kind = claim.scope, claim.evidence.get("kind")
    lower = claim.sense is Sense.AT_LEAST and claim.status is Status.PROVED
    sane = math.isfinite(claim.value) and claim.value >= 0
    layer = scope.layers == 1 and not scope.dot_product and scope.precision is None
    free = scope.readout is Readout.ANY and math.isinf(scope.weight) and scope.norm is Norm.L1
    heads = scope.bias in DECAYS and scope.lowest_rate >= 0 and scope.resolution >= 0
    finite = scope.tokens.letters is not None and all(len(x) == 1 for x in scope.tokens.letters)
    if not (lower and sane and layer and free and heads and finite and kind in CHECKS):
        return False
    if claim.value == 0:
        return True
    try:
        with precision(BITS):
            return CHECKS[kind](claim, scope, answer)
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError):
        return False


def _outputs(scope: Scope, rates: list[float], past: list[float]) -> list[arb]:
    """Of heads that are not normalised; past = tokens at the lags 1, 2, …"""
    assert scope.bias is not None
    curves = [DECAYS[scope.bias].curve(b, len(past) + 1) for b in rates]
    return [sum((arb(x) * c[s] for s, x in enumerate(past, 1)), arb(0)) for c in curves]


def _collision(claim: Claim, scope: Scope, answer: Answer | None) -> bool:
    c, letters = claim.evidence, {x[0] for x in scope.tokens.letters or ()}
    rates = [float(b) for b in c["rates"]]
    here, there = ([float(x[0]) for x in reversed(c[name])] for name in ("here", "there"))  # by lag
    spelled = set(here) | set(there) <= letters and len(here) == len(there)
    counted = all(s in scope.lags for s in range(1, len(here)) if here[s] != there[s])
    known = scope.rates is not None and set(scope.rates) <= set(rates) and min(rates) >= 0
    if not (spelled and counted and known and here[0] == there[0]):
        return False
    radius = max(abs(x) for x in letters)
    change = [a - b for a, b in zip(here[1:], there[1:], strict=True)]
    if [Fraction(v) for v in change] != [
        Fraction(a) - Fraction(b) for a, b in zip(here[1:], there[1:], strict=True)
    ]:
        return False  # letters whose differences are no doubles
    allowed = 2 * arb(scope.resolution) * arb(radius)
    if not all(abs(z) <= allowed for z in _outputs(scope, rates, change)):
        return False
    if isinstance(claim.subject, AbstractKernel):
        rho = kernel_values(claim.subject, len(here))
        worth = sum((arb(v) * rho[s] for s, v in enumerate(change, 1)), arb(0))
        return bool(2 * arb(claim.value) <= abs(worth))
    if answer is None:
        return False
    spread = abs(Fraction(float(answer(c["here"]))) - Fraction(float(answer(c["there"]))))
    return spread >= 2 * Fraction(claim.value)


def _pigeonhole(claim: Claim, scope: Scope, answer: Answer | None) -> bool:
    if not isinstance(claim.subject, Lag) or scope.bias != "lin" or scope.heads is None:
        return False
    T, letters = claim.subject.T, sorted({x[0] for x in scope.tokens.letters or ()})
    if T < 1 or not all(s in scope.lags for s in range(1, T + 1)) or not scope.resolution > 0:
        return False
    cells = math.ceil(T / Fraction(scope.resolution))
    gap = min(Fraction(b) - Fraction(a) for a, b in itertools.pairwise(letters))
    crowded = len(letters) ** T > cells ** max(scope.heads, 1)
    return crowded and 2 * Fraction(claim.value) <= gap


def _pieces(claim: Claim, scope: Scope, answer: Answer | None) -> bool:
    if not isinstance(claim.subject, Lag) or scope.rates is None or len(scope.rates) != 1:
        return False
    T, windows = claim.subject.T, [[float(x) for x in row] for row in claim.evidence["windows"]]
    letters = {x[0] for x in scope.tokens.letters or ()}
    alike = all(len(row) == T and set(row) <= letters for row in windows)
    inside = all(s in scope.lags for s in range(1, T + 1))
    if not (alike and inside and scope.heads == 1 and scope.rates[0] >= 0 and T >= 1):
        return False
    codes = [_outputs(scope, list(scope.rates), row)[0] for row in windows]
    ordered = all(a < b for a, b in itertools.pairwise(codes))
    sides = [row[T - 1] for row in windows]
    apart = all(
        (a >= claim.value and b <= -claim.value) or (b >= claim.value and a <= -claim.value)
        for a, b in itertools.pairwise(sides)
    )
    crossings = len(windows) - 1
    few = scope.neurons is not None and scope.neurons + 1 < crossings
    return ordered and apart and few and claim.value > 0


CHECKS: dict[str, Callable[[Claim, Scope, Answer | None], bool]] = {
    "collision": _collision,
    "pigeonhole": _pigeonhole,
    "pieces": _pieces,
}
