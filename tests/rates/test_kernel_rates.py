"""How fast smooth kernels are learnt head by head: error ~ exp(-c H), and c falls with the window
as 1/ln N.

The declared rates are properties of the kernels (sums of exponentials reach completely monotone
functions exponentially fast; for s^-p on [1, N] the constant is close to pi^2/ln N, Braess and
Hackbusch 2005), so that a fitter that stops short of the optimum shows up as a slope.
"""

import dataclasses
import math

import numpy as np
import pytest

from headcount.memory.kernels import Power
from headcount.theory.fit import fit_heads
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem


@dataclasses.dataclass(frozen=True)
class Declared:
    """error ~ exp(-rate H) for s^-exponent by lin heads over lags 1..lags, on the heads given."""

    exponent: float
    lags: int
    rate: float
    within: float
    heads: tuple[int, ...]
    norm: Norm = Norm.L1


HEADS = (3, 4, 5, 6, 7, 8)
DECLARED = [
    Declared(0.5, 1000, 1.40, 0.15, HEADS),
    Declared(1.5, 1000, 1.33, 0.15, HEADS),
    Declared(3.0, 1000, 1.18, 0.15, HEADS),
]
WINDOW_CONSTANT = 9.4  # c ln N for s^-0.5 in l2
WINDOWS = [
    Declared(0.5, 100, WINDOW_CONSTANT / math.log(100), 0.15, (2, 3, 4, 5), Norm.L2),
    Declared(0.5, 1000, WINDOW_CONSTANT / math.log(1000), 0.15, HEADS, Norm.L2),
]
LONG = Declared(0.5, 10_000, WINDOW_CONSTANT / math.log(10_000), 0.15, (4, 6, 8, 10), Norm.L2)


def slope(declared: Declared) -> float:
    """-d log(error) / dH, by least squares over the heads."""
    problem = Problem(Power(declared.exponent), family("lin"), declared.norm, declared.lags + 1)
    errors = [
        measure(problem, fit_heads(problem, h).head_sum).relative[declared.norm]
        for h in declared.heads
    ]
    return -float(np.polyfit(declared.heads, np.log(errors), 1)[0])


def name(declared: Declared) -> str:
    return f"s^-{declared.exponent:g}-{declared.lags}-{declared.norm}"


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param(d, id=name(d), marks=() if d.exponent == 1.5 else pytest.mark.slow)
        for d in DECLARED
    ],
)
def test_error_falls_exponentially_in_the_heads(declared):
    assert slope(declared) == pytest.approx(declared.rate, rel=declared.within)


@pytest.mark.parametrize(
    "declared",
    [pytest.param(d, id=name(d), marks=() if d.lags == 100 else pytest.mark.slow) for d in WINDOWS],
)
def test_rate_falls_as_one_over_log_window(declared):
    assert slope(declared) == pytest.approx(declared.rate, rel=declared.within)


@pytest.mark.slow
def test_rate_over_a_long_window():
    assert slope(LONG) == pytest.approx(LONG.rate, rel=LONG.within)


def test_no_power_law_fits_as_well():
    """log(error) is straight in H, not in log H: the residual of the first line is less than
    half that of the second.
    """
    problem, heads = Problem(Power(0.5), family("lin"), window=1001), np.array([2, 4, 6, 8])
    logs = np.log([measure(problem, fit_heads(problem, int(h)).head_sum).l1 for h in heads])
    straight, power = (np.polyfit(x, logs, 1, full=True)[1][0] for x in (heads, np.log(heads)))
    assert straight < 0.25 * power
