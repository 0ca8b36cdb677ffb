import numpy as np
import pytest

from headcount.construct.blocks.networks import Domain, grid_sup, local_lipschitz, sup_of
from headcount.memory.readouts import Teacher, Triangle
from headcount.memory.readouts.network import ReluNetwork


def test_finite_sets_are_evaluated_everywhere():
    points = np.array([[-1.0], [0.0], [2.0]])
    assert (
        sup_of(
            ReluNetwork(np.array([-3.0]), np.ones((1, 1)), np.zeros(1)), Domain(1, 1, 2.0, points)
        )
        == 6.0
    )


def test_one_direction_is_exact_at_knots_and_ends():
    wave = Triangle(3).network(2, 1)
    assert sup_of(wave, Domain(2, 1, 1.0)) == pytest.approx(1.0)
    far = sup_of(wave, Domain(2, 1, 1.5))
    u = np.linspace(-1.5, 1.5, 30001)
    assert far == pytest.approx(np.abs(wave(np.stack([0 * u, u], 1))).max(), rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_two_directions_by_shrinking_cells(seed):
    net = Teacher(6, seed).network(3, 1)
    top = sup_of(net, Domain(3, 1, 1.0))
    x = Domain(3, 1, 1.0).dense(40000, seed)
    ball = np.random.default_rng(seed).standard_normal((40000, 2))
    ball *= np.sqrt(3) / np.linalg.norm(ball, axis=1, keepdims=True)
    assert np.abs(net(x)).max() <= top
    assert top <= 1.04 * max(
        np.abs(net(np.pad(ball, ((0, 0), (1, 0))))).max(), np.abs(net(x)).max()
    )


def test_large_domains_are_left_alone():
    assert sup_of(Teacher(8).network(5, 2), Domain(5, 2, 1.0)) is None


def test_grid_keeps_its_promise_when_cells_run_out():
    """A function much rougher than the grid: the bound is loose but holds."""
    found = grid_sup(lambda u: np.sin(1e6 * u[:, 0]), lambda u, reach: np.full(len(u), 1e6), 3, 1.0)
    assert found >= 1.0


def test_projection_onto_the_slots():
    domain = Domain(2, 2, 1.0)
    moved = domain.inside(np.array([[3.0, 4.0, 0.1, 0.2]]))
    assert moved == pytest.approx(np.array([[0.6, 0.8, 0.1, 0.2]]))
    assert np.linalg.norm(domain.dense(100).reshape(100, 2, 2), axis=2).max() <= 1 + 1e-12


def test_local_constants_bound_nearby_differences():
    net, generator = Teacher(8).network(3, 1), np.random.default_rng(0)
    x = generator.uniform(-1, 1, (500, 3))
    step = generator.standard_normal((500, 3))
    step *= 0.2 / np.linalg.norm(step, axis=1, keepdims=True)
    local = local_lipschitz(net, x, 0.2)
    assert (np.abs(net(x + step) - net(x)) <= 0.2 * local + 1e-12).all()
    assert local.mean() < 0.7 * net.lipschitz
