"""Lags are exact as long as the rounding condition holds, and a build that breaks it is refused
with the numbers.
"""

import math

import numpy as np
import pytest

from headcount.construct.blocks.retrieval import LagNetwork, lag_networks, lag_refusals, stages
from headcount.construct.draft import Bound, RefusalKind, Request, Unreachable
from headcount.memory.lag_functions import combinations
from headcount.memory.named import targets, unnamed
from tests.construct.adaptive_targets import CHAIN


def networks(text: str, log: bool, width: int | None = None) -> list[LagNetwork]:
    target = unnamed(targets.build(text))
    return lag_networks(target, Request(heads=3, width=width), stages(target), log)


@pytest.mark.parametrize("log", [False, True])
def test_networks_equal_the_lags_on_every_combination_of_letters(log):
    target = unnamed(targets.build(CHAIN))
    for net, g in zip(networks(CHAIN, log), target.lag_functions, strict=True):
        points = combinations(target.inputs.alphabet, net.arguments)
        lags = np.array([g.reference(p) for p in points], float)
        assert np.allclose(
            net.network(points.reshape(len(points), -1)),
            np.log(lags) if log else lags,
            rtol=0,
            atol=1e-12,
        )
        assert net.largest == lags.max()
        assert net.error < 1e-12


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("share", [0.999, 1.001])
def test_tolerance_is_where_rounding_turns(log, share):
    """A value that is off by just less than the tolerance rounds to the lag; just more, at the
    worst lag T and upwards, does not.
    """
    T, net = 7, networks("adaptive:lag_functions=bits(first=6)", log)[0]
    assert net.tolerance == pytest.approx(math.log(1 + 1 / 14) if log else 0.5)
    value = (math.log(T) if log else T) + share * net.tolerance
    rounded = math.floor((math.exp(value) if log else value) + 0.5)
    assert (rounded == T) == (share < 1)


def test_condition_is_checked():
    net = networks(CHAIN, False)[1]
    limit = net.tolerance / net.lipschitz
    assert net.require_exact(Bound(0.9 * limit), 2.0).error < net.tolerance
    with pytest.raises(Unreachable, match=r"g_2: network error .* Lip .* below 0.5"):
        net.require_exact(Bound(1.1 * limit), 2.0)


def test_too_narrow_a_network_is_caught_by_the_condition():
    wide, narrow = "adaptive:lag_functions=table(lags=9+1+7+2+8),inputs=onehot:5", 2
    net = networks(wide, False, narrow)[0]
    assert net.error > 0.5
    with pytest.raises(Unreachable, match="network error"):
        net.require_exact(Bound(0.0), 1.0)


def test_refusals():
    real = unnamed(
        targets.build("adaptive:lag_functions=affine(offset=3,slope=2,T=5),inputs=uniform")
    )
    lin, log = Request("lin", heads=3), Request("log", heads=3)
    assert "docs/errata.md#e8" in str(lag_refusals(real, lin)[0])
    zero = unnamed(targets.build("prop42"))
    assert lag_refusals(zero, lin) == []
    found = lag_refusals(zero, log)[0]
    assert found.kind is RefusalKind.LAGS
    assert "lag 0" in str(found)
