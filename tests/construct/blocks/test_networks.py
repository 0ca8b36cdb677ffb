import itertools

import numpy as np
import pytest

from headcount.construct.blocks.networks import NetworkFit, difference, lipschitz_of, ridge_of
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound
from headcount.memory.readouts import Linear, Parity, Teacher, Triangle
from headcount.memory.readouts.network import ReluNetwork, interpolate


def steepest(net: ReluNetwork, points: np.ndarray) -> float:
    """The largest gradient seen."""
    active = points @ net.b.T + net.c > 0  # [N, m]
    return float(np.linalg.norm((active * net.a) @ net.b, axis=1).max())


@pytest.mark.parametrize(
    "readout", [Linear((2.0, -1.0)), Parity(), Triangle(4)], ids=lambda r: r.kind
)
def test_one_direction_has_its_exact_lipschitz_constant(readout):
    net = readout.network(3, 1)
    assert lipschitz_of(net) == pytest.approx(readout.lipschitz(3, 1), rel=1e-9)
    assert lipschitz_of(net) < 0.75 * net.lipschitz
    assert steepest(net, np.random.default_rng(0).uniform(-1, 1, (4000, 3))) == pytest.approx(
        lipschitz_of(net), rel=1e-6
    )


def test_lipschitz_bounds_every_gradient():
    points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    for seed in range(5):
        net = Teacher(8, seed).network(2, 1)
        assert steepest(net, points) <= lipschitz_of(net) + 1e-12
        line = interpolate(points[:6], np.random.default_rng(seed).standard_normal(6))
        assert steepest(line, points) <= lipschitz_of(line) + 1e-12


def test_ridge_is_the_network():
    net = ReluNetwork(
        np.array([1.0, -2.0, 3.0, 0.5]),
        np.array([[2.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [4.0, 0.0]]),
        np.array([1.0, 0.5, 1.0, -2.0]),
    )
    ridge = ridge_of(net)
    u = np.linspace(-2, 2, 41)
    values = net(u[:, None] * ridge.direction)
    slopes = ridge.slopes[np.searchsorted(ridge.knots, (u[:-1] + u[1:]) / 2)]
    whole = ~np.array(
        [
            np.any((ridge.knots > a + 1e-12) & (ridge.knots < b - 1e-12))
            for a, b in itertools.pairwise(u)
        ]
    )
    assert np.diff(values)[whole] / 0.1 == pytest.approx(slopes[whole], abs=1e-9)
    assert ridge_of(ReluNetwork(np.ones(2), np.eye(2), np.zeros(2))) is None
    assert lipschitz_of(ReluNetwork(np.ones(1), np.zeros((1, 2)), np.ones(1))) == 0


def test_answer_adds_what_the_slots_lose():
    net = ReluNetwork(np.array([1.0, -1.0]), np.array([[2.0], [-2.0]]), np.zeros(2))
    fit = NetworkFit((net,), 0.25, "exact")
    assert fit.lipschitz == pytest.approx(2.0)
    assert fit.answer(Bound(0.5), 1.0).error == pytest.approx(0.25 + 2 * 0.5)
    assert fit.answer(Bound(0.5), 1.0).amplification > 0
    assert fit.ffn(Space(token=1), ("token",)).w_in.shape == (2, 1)


def test_difference_is_pointwise():
    first, second, x = (
        Teacher(4, 0).network(2, 1),
        Teacher(4, 1).network(2, 1),
        np.random.default_rng(0).uniform(-1, 1, (9, 2)),
    )
    assert difference(first, second)(x) == pytest.approx(first(x) - second(x))
