"""Two-layer networks as data."""

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.readouts.network import ReluNetwork, interpolate, zigzag


def test_values_and_path_norm_by_hand():
    net = ReluNetwork(
        np.array([2.0, -1.0]), np.array([[1.0, -1.0], [0.0, 3.0]]), np.array([0.5, -1.0])
    )
    assert net(np.array([1.0, 1.0])) == 2 * 0.5 - 1 * 2
    assert net.path_norm == 2 * (2 + 0.5) + 1 * (3 + 1)
    assert net.neurons == 2


def test_lipschitz_bound_beats_the_triangle_inequality_where_neurons_are_many():
    generator = np.random.default_rng(0)
    net = ReluNetwork(
        generator.standard_normal(200),
        generator.standard_normal((200, 3)),
        generator.standard_normal(200),
    )
    assert net.lipschitz < 0.8 * np.abs(net.a) @ np.linalg.norm(net.b, axis=1)
    points = generator.standard_normal((500, 3))
    active = (points @ net.b.T + net.c > 0).astype(float)
    gradients = (active * net.a) @ net.b
    assert np.linalg.norm(gradients, axis=1).max() <= net.lipschitz


def test_zigzag_goes_through_its_knots():
    knots, values = np.array([-1.0, 0.0, 2.0, 3.0]), np.array([1.0, -1.0, -1.0, 4.0])
    net = zigzag(np.array([2.0, 0.0]), knots, values)
    np.testing.assert_allclose(net(np.stack([knots / 2, np.ones(4)], axis=1)), values, atol=1e-14)
    np.testing.assert_allclose(net(np.array([[1.25, 0.0]])), 1.5)  # u = 2.5, half way


@pytest.mark.parametrize("n", [1, 2, 5])
def test_interpolation_is_exact(n):
    generator = np.random.default_rng(n)
    points, values = generator.standard_normal((40, n)), generator.standard_normal(40)
    net = interpolate(points, values)
    assert net.neurons <= 40
    np.testing.assert_allclose(net(points), values, rtol=0, atol=1e-10 * net.path_norm)


def test_interpolation_merges_equal_points_and_refuses_contradictions():
    net = interpolate(np.array([[0.0], [1.0], [1.0]]), np.array([0.0, 2.0, 2.0]))
    np.testing.assert_allclose(net(np.array([[0.0], [1.0]])), [0.0, 2.0])
    with pytest.raises(InputError, match="distinct points"):
        interpolate(np.array([[0.0], [0.0]]), np.array([0.0, 1.0]))


def test_constant_values_cost_one_neuron():
    net = interpolate(np.array([[0.0], [1.0]]), np.array([3.0, 3.0]))
    assert net.neurons == 1
    assert net.path_norm == 3


def test_shapes_are_checked():
    with pytest.raises(InputError, match="one row per neuron"):
        ReluNetwork(np.ones(2), np.ones((3, 1)), np.ones(2))
