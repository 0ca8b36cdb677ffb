"""Bounds about finite letters against enumeration of every pair of windows, in fractions.

With outputs known to ±eta the best error of any readout is half the largest difference of answers
between two windows with the same x_t whose outputs are within 2 eta of each other: pairs are enough
for boxes. Nothing of `headcount` is used for that.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.core.claims import Tokens
from headcount.memory.kernels import kernels
from headcount.theory.bounds import check
from headcount.theory.bounds.codes import (
    collision_claim,
    collision_of_answers,
    pieces_claim,
    pigeonhole_claim,
)
from tests.brute.codes import curve

QUICK, ALL = 30, 2_000


def best_error(curves: list[list[float]], w, letters, eta: float) -> tuple[float, float]:
    """(the best error of any readout, the same a hair finer): every pair of windows over the lags
    1..S; curves [H][S], w [S]."""
    windows = np.array(list(itertools.product(letters, repeat=len(w))))
    codes, answers = windows @ np.array(curves).T, windows @ np.array(w)
    far = np.abs(codes[:, None] - codes[None]).max(axis=2)
    spread = np.abs(answers[:, None] - answers[None])
    reach = 2 * eta * max(map(abs, letters))
    return tuple(
        float(np.where(far <= reach * (1 + slack) + slack, spread, 0).max()) / 2
        for slack in (1e-8, -1e-8)
    )


def contradiction(seed: int) -> str | None:
    rng = np.random.default_rng([20261118, seed])
    bias = str(rng.choice(["lin", "log", "log1p"]))
    rates = [float(b) for b in np.round(10 ** rng.uniform(-2, 0.5, rng.integers(1, 3)), 3)]
    letters = [(-1.0, 1.0), (-1.0, 0.0, 1.0), (0.0, 1.0, 3.0)][int(rng.integers(3))]
    lags = int(rng.integers(2, 8 if len(letters) == 2 else 5))
    eta = float(10 ** rng.uniform(-4, -0.5))
    w = np.round(rng.normal(size=lags), 2)
    w[-1] = 1.0
    curves = [list(curve(bias, b, lags + 1)[1:]) for b in rates]
    above, below = best_error(curves, w, letters, eta)
    kernel = kernels.build("array:0.0+" + "+".join(f"{v!r}" for v in map(float, w)))
    tokens = Tokens(frozenset((v,) for v in letters))
    claim = collision_claim(kernel, bias, rates, eta, lags, tokens)

    def answer(x):
        return float(sum(v * x[-2 - k][0] for k, v in enumerate(w)))

    same = collision_of_answers("sum", answer, bias, rates, eta, lags, tokens)
    if not check(claim):
        return f"{seed}: {claim} is not accepted"
    for value in (claim.value, same.value):
        if not below - 1e-9 <= value <= above + 1e-9:
            return f"{seed}: {value} of {claim}, but enumeration finds {below}..{above}"
    return None


def test_collisions_are_what_enumeration_finds():
    found = [said for said in map(contradiction, range(QUICK)) if said is not None]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_collisions_are_what_enumeration_finds_on_many_questions():
    found = [said for said in map(contradiction, range(ALL)) if said is not None]
    assert not found, "\n".join(found)


def test_counting_holds_for_every_rate():
    """Wherever cells are too few, enumeration finds lag T confused, at random rates."""
    rng = np.random.default_rng(5)
    seen = 0
    for lag, heads, eta in ((4, 1, 0.5), (6, 1, 0.2), (7, 1, 0.1), (8, 2, 0.9), (9, 2, 0.5)):
        claim = pigeonhole_claim(lag, heads, eta)
        if claim.value == 0:
            continue
        seen += 1
        assert check(claim)
        for _ in range(6):
            rates = 10 ** rng.uniform(-2, 0.7, heads)
            curves = [list(curve("lin", b, lag + 1)[1:]) for b in rates]
            w = [0.0] * (lag - 1) + [1.0]
            assert best_error(curves, w, (-1.0, 1.0), eta)[0] >= claim.value
    assert seen >= 3


def test_crossings_are_counted_in_fractions():
    """Codes in base 2 to the power of whole numbers, sorted exactly."""
    for lag, power in ((4, 1), (5, 2), (6, 1)):
        windows = list(itertools.product((-1, 1), repeat=lag))
        code = {
            x: sum(Fraction(v, 2 ** (power * (s + 1))) for s, v in enumerate(x)) for x in windows
        }
        ordered = sorted(windows, key=code.get)
        crossings = sum(a[-1] != b[-1] for a, b in itertools.pairwise(ordered))
        claim = pieces_claim(lag, "lin", power * math.log(2))
        assert check(claim)
        assert claim.scope.neurons == crossings - 2
