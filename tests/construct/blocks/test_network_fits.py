import math

import numpy as np
import pytest

from headcount.construct.blocks.network_fits import (
    best_sample,
    fitted,
    for_values,
    near_exact,
    random_features,
    sample,
    sampling_bound,
)
from headcount.construct.blocks.networks import Domain
from headcount.core.claims import Status
from headcount.memory.lag_functions import combinations
from headcount.memory.readouts import Teacher, Triangle


def signs(slots: int) -> Domain:
    points = combinations(((-1.0,), (1.0,)), slots)
    return Domain(slots, 1, 1.0, points.reshape(len(points), -1))


def test_samples_average_to_the_network():
    net, x = Teacher(16).network(3, 1), signs(3).points
    mean = np.mean([sample(net, 8, seed)(x) for seed in range(3000)], axis=0)
    spread = net.path_norm / math.sqrt(8 * 3000)
    assert np.abs(mean - net(x)).max() <= 5 * spread
    assert sample(net, 8, 3).neurons <= 8


def test_sampling_bound_holds_in_the_mean_on_finite_sets():
    net, domain = Teacher(16).network(3, 1), signs(3)
    errors = [
        np.abs(sample(net, 32, seed)(domain.points) - net(domain.points)).max()
        for seed in range(200)
    ]
    bound = sampling_bound(net, 32, domain)
    assert bound == pytest.approx(net.path_norm * math.sqrt(2 * math.log(2 * 27) / 32))
    assert np.mean(errors) <= bound
    best = best_sample(net, 32, domain)
    assert np.abs(best(domain.points) - net(domain.points)).max() <= min(errors[:16]) + 1e-12


def test_below_the_exact_width_the_error_is_the_measured_one():
    net, domain = Teacher(64).network(3, 1), signs(3)
    errors = {}
    for width in (4, 16, 40):
        fit = near_exact(net, width, domain)
        errors[width] = fit.error
        assert fit.status is Status.PROVED
        assert fit.neurons <= width
        assert fit.error == pytest.approx(
            np.abs(fit.networks[0](domain.points) - net(domain.points)).max()
        )
        assert any("sampling promises" in note for note in fit.notes)
    assert errors[4] > errors[16] > errors[40]
    assert errors[40] < 1e-4  # 27 points, 40 features: least squares meets them all


def test_one_direction_is_certified_on_the_interval():
    net, domain = Triangle(8).network(2, 1), Domain(2, 1, 1.0)
    fit = near_exact(net, 10, domain)
    x = domain.dense(20000, 3)
    assert fit.status is Status.PROVED
    assert 0.9 * fit.error <= np.abs(fit.networks[0](x) - net(x)).max() <= fit.error
    assert fit.error >= 0.3  # 10 kinks cannot follow 15


def test_large_domains_fall_back_to_the_sampling_bound_and_say_so():
    net, domain = Teacher(64).network(4, 2), Domain(4, 2, 1.0)
    fit = near_exact(net, 32, domain)
    assert fit.status is Status.MEASURED
    assert "probability" in fit.notes[0]
    assert fit.error == pytest.approx(sampling_bound(net, 32, domain))
    assert (
        np.abs(fit.networks[0](domain.dense(4000, 9)) - net(domain.dense(4000, 9))).max()
        <= fit.error
    )


def test_functions_known_by_values():
    domain = Domain(1, 1, 1.0)
    fit = for_values(lambda z: np.sin(3 * z[:, 0]), 32, domain, 3.0)
    x = np.linspace(-1, 1, 5001)[:, None]
    assert fit.status is Status.PROVED
    assert np.abs(fit.networks[0](x) - np.sin(3 * x[:, 0])).max() <= fit.error <= 0.1
    unknown = for_values(lambda z: np.sin(3 * z[:, 0]), 32, domain, None)
    assert unknown.status is Status.MEASURED
    assert "not certified" in unknown.notes[0]


def test_features_bend_inside_the_domain():
    features = random_features(50, Domain(2, 2, 1.0), 0)
    kinks = np.abs(features.c[1:]) / np.linalg.norm(features.b[1:], axis=1)
    assert kinks.max() <= math.sqrt(2)
    constant = fitted(features, Domain(2, 2, 1.0).dense(500), np.full(500, 7.0))
    assert constant(np.zeros((1, 4)))[0] == pytest.approx(7.0, abs=1e-3)
