"""How fast adaptive lags are learnt head by head, each theorem with the rate that its proof
declares.

Theorem 4.1 promises C(n) H^-n for every n. Its proof by a bump (Lemmas F.2, F.5), with the
Chebyshev bump of `theory/closed_forms.py` in place of Jackson's theorem, gives more: error <= mass
/ cosh((H-1) artanh r), a straight line of slope -artanh r in H, so that the local exponent -d
log(error)/d log(H) grows past every n. Coefficients reach 10^32 on the way: all of this is ball
arithmetic, no model could hold it. Proposition 4.2 promises O(1/H), and a model of double precision
shows it.
"""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.claims import Precision
from headcount.memory.kernels import Lag
from headcount.theory.adaptive_lags import adaptive_errors
from headcount.theory.closed_forms import best_bump, bump_bound, bump_radius, chebyshev_bump
from headcount.theory.fit import best_coefficients
from headcount.theory.heads import family
from headcount.theory.problem import Problem
from headcount.theory.promised import PAPER_STEP, lag_lemma
from tests.construct.adaptive_targets import drafted, worst


@dataclasses.dataclass(frozen=True)
class Bump:
    """Error of all lags up to T by the Chebyshev bump, on these heads."""

    bias: str
    T: int
    heads: tuple[int, ...]

    @property
    def parameters(self) -> tuple[float, float]:
        return best_bump(family(self.bias), self.T, self.heads[-1])

    def errors(self) -> np.ndarray:
        curve = family(self.bias)
        return np.array(
            [
                max(adaptive_errors(self.T, chebyshev_bump(curve, self.T, h, *self.parameters)))
                for h in self.heads
            ]
        )


BUMPS = [
    Bump("lin", 2, (17, 25, 33, 41)),
    Bump("lin", 4, (33, 49, 65)),
    Bump("log", 2, (17, 25, 33)),
]


@pytest.mark.parametrize("bump", BUMPS, ids=lambda b: f"{b.bias}-{b.T}")
def test_bump_has_the_declared_slope(bump):
    errors, curve = bump.errors(), family(bump.bias)
    declared = math.atanh(bump_radius(curve, bump.T, bump.parameters[0]))
    slope = -float(np.polyfit(bump.heads, np.log(errors), 1)[0])
    assert slope == pytest.approx(declared, rel=0.05)
    for heads, error in zip(bump.heads, errors, strict=True):
        assert error <= bump_bound(curve, bump.T, heads, *bump.parameters)


@pytest.mark.parametrize("bump", BUMPS, ids=lambda b: f"{b.bias}-{b.T}")
def test_faster_than_any_power_of_the_heads(bump):
    exponents = local_exponents(bump.heads, bump.errors())
    assert np.all(np.diff(exponents) > 1)
    assert exponents[-1] > 6


def local_exponents(heads: tuple[int, ...], errors: np.ndarray) -> np.ndarray:
    """-d log(error) / d log(H) between neighbours: above n, the error falls faster than H^-n
    there.
    """
    return -np.diff(np.log(errors)) / np.diff(np.log(heads))


@pytest.mark.parametrize(("T", "heads"), [(1, (30, 34, 38, 42)), (2, (36, 40, 44, 48))])
def test_paper_exponents_fall_faster_than_declared(T, heads):
    """b_k = 0.01 + 0.01 k with the best coefficients: past its threshold the error falls faster
    than H^-7, and stays below C(n) H^-n for all n.
    """
    rates = [PAPER_STEP * (1 + np.arange(h)) for h in heads]
    errors = np.array(
        [
            max(adaptive_errors(T, best_coefficients(Problem(Lag(T), family("lin")), b).head_sum))
            for b in rates
        ]
    )
    assert errors[0] < 0.5
    assert local_exponents(heads, errors).min() > 7
    lemma = lag_lemma("lin", T)
    for h, error in zip(heads, errors, strict=True):
        assert all(math.log(error) <= lemma.log_constant(n) - n * math.log(h) for n in range(1, 8))


@pytest.mark.slow  # quick with one number of heads: tests/construct/blocks/test_moved_heads.py
def test_proposition_42_is_at_least_one_over_the_heads():
    """The model itself (its NumPy forward pass): 1 with two heads (Theorem A), then far below
    O(1/H).
    """
    heads = (2, 3, 4)
    drafts = [drafted("prop42", "prop42", bias="lin", heads=h) for h in heads]
    measured = [worst(draft, "prop42") for draft in drafts]
    assert measured[0] == 1.0
    assert -np.polyfit(np.log(heads), np.log(measured), 1)[0] > 1
    for draft, error in zip(drafts, measured, strict=True):
        assert error <= draft.output.at(Precision.FLOAT64)
    assert measured[2] < measured[1] / 10
