"""How fast built models get better: with heads exponentially, with neurons like one over the square
root.

- Heads (Theorem 5.1 made sharp): the promised error of an essential memory falls as e^{-cH} on a
  window of N lags, c close to 9.4/ln N for s^-1/2 (docs/numerics.md#rates). The promise is that of
  the weights written, so a construction that loses digits shows up.
- Neurons (Barron): the error of a network drawn from f's own measure falls as m^-1/2, with the
  constant of docs/errata.md#e24 above it.
"""

import dataclasses
import math

import numpy as np
import pytest

from headcount.construct.blocks.network_fits import sample, sampling_bound
from headcount.construct.blocks.networks import Domain
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import Power
from headcount.memory.lag_functions import combinations
from headcount.memory.readouts import Teacher
from tests.construct.drafted import drafted

WIDTHS = (8, 32, 128, 512)
SEEDS = 40


@dataclasses.dataclass(frozen=True)
class Declared:
    """Promised error ~ exp(-rate H) for s^-exponent by lin heads in sequences of `length`
    tokens.
    """

    exponent: float
    length: int
    rate: float
    within: float
    heads: tuple[int, ...] = (2, 3, 4, 5)


DECLARED = [Declared(0.5, 100, 9.4 / math.log(100), 0.15), Declared(1.5, 100, 1.85, 0.15)]


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param(
            d, id=f"s^-{d.exponent:g}", marks=() if d.exponent == 0.5 else pytest.mark.slow
        )
        for d in DECLARED
    ],
)
def test_promised_error_falls_exponentially_in_the_heads(declared):
    errors = []
    for heads in declared.heads:
        _, draft = drafted(
            "essential",
            EssentialMemory((Power(declared.exponent),)),
            bias="lin",
            heads=heads,
            length=declared.length,
        )
        errors.append(draft.output.error)
    slope = -float(np.polyfit(declared.heads, np.log(errors), 1)[0])
    assert slope == pytest.approx(declared.rate, rel=declared.within)


def test_sampled_networks_gain_a_half_in_the_exponent():
    net = Teacher(64).network(4, 1)
    points = combinations(((-1.0,), (1.0,)), 4).reshape(81, -1)
    domain, wanted = Domain(4, 1, 1.0, points), net(points)
    errors = []
    for width in WIDTHS:
        errors.append(
            float(
                np.mean(
                    [
                        np.abs(sample(net, width, seed)(points) - wanted).max()
                        for seed in range(SEEDS)
                    ]
                )
            )
        )
        assert errors[-1] <= sampling_bound(net, width, domain)
    slope = float(np.polyfit(np.log(WIDTHS), np.log(errors), 1)[0])
    assert slope == pytest.approx(-0.5, abs=0.06)
