"""Networks of a given width for a function: sampled from an exact one, or fitted by least squares.

Sampling (Barron; docs/errata.md#e24). With Gamma its path norm, write the exact network as

    f = sum_k p_k Z_k,
    p_k = |a_k| (||b_k||_1 + |c_k|) / Gamma,
    Z_k = Gamma sign(a_k) relu((b_k.x + c_k) / (||b_k||_1 + |c_k|)).

The mean of m neurons drawn from p has expectation f, each lies within Gamma R on [-R, R]^D
(R >= 1), so in expectation

    on N points        max |f - f_m| <= R Gamma sqrt(2 ln(2N)/m)   (maximum of 2N sub-Gaussians)
    on the whole cube  sup |f - f_m| <= 4 R Gamma sqrt((D+1)/m)    (symmetrisation, contraction)

and one draw exceeds the second by t with probability at most exp(-t^2 m/(2 R^2 Gamma^2)) (bounded
differences): the bound that is stated holds for every one of the seeds tried with probability
1 - 1e-6. Several seeds are tried, the best MEASURED one is kept.

Fitting. Features are the exact network's own neurons where there is one (a random choice by p),
else random ReLUs whose kinks lie in the domain; coefficients by ridge least squares. Neither bounds
its error a priori: `networks.sup_of` does, where it can.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy.linalg

from headcount.construct.blocks.networks import (
    Domain,
    NetworkFit,
    difference,
    grid_sup,
    local_lipschitz,
    sup_of,
)
from headcount.core.claims import Status
from headcount.memory.readouts.network import ReluNetwork

SEEDS = 16
FAILURE = 1e-6  # probability that a sampling bound fails for one of the seeds
DENSE = 4096  # points on which a continuum is measured
RIDGE = 1e-10
SMOOTH = 1e-6  # on a continuum a certificate pays for steepness, so coefficients are kept small


def sample(net: ReluNetwork, width: int, seed: int) -> ReluNetwork:
    """The mean of `width` neurons drawn from the network's measure; equal draws are one neuron."""
    sizes = np.abs(net.b).sum(1) + np.abs(net.c)  # [m]
    mass = np.abs(net.a) * sizes
    gamma = mass.sum()
    drawn, times = np.unique(
        np.random.default_rng(seed).choice(len(mass), width, p=mass / gamma), return_counts=True
    )
    return ReluNetwork(
        np.sign(net.a[drawn]) * gamma * times / width / sizes[drawn], net.b[drawn], net.c[drawn]
    )


def sampling_bound(net: ReluNetwork, width: int, domain: Domain) -> float:
    """What a draw is promised to stay within (module docstring): in expectation on finitely many
    points, with probability else.
    """
    gamma, reach = net.path_norm, domain.reach
    if domain.points is not None:
        return reach * gamma * math.sqrt(2 * math.log(2 * len(domain.points)) / width)
    dims = domain.slots * domain.d
    return (
        reach
        * gamma
        * (4 * math.sqrt((dims + 1) / width) + math.sqrt(2 * math.log(SEEDS / FAILURE) / width))
    )


def best_sample(net: ReluNetwork, width: int, domain: Domain, seeds: int = SEEDS) -> ReluNetwork:
    """The draw with the smallest measured error on the domain's points (or a dense set of them)."""
    points = domain.dense(DENSE)
    wanted = net(points)
    return min(
        (sample(net, width, seed) for seed in range(seeds)),
        key=lambda drawn: float(np.abs(drawn(points) - wanted).max()),
    )


def fitted(
    features: ReluNetwork, points: np.ndarray, values: np.ndarray, ridge: float = RIDGE
) -> ReluNetwork:
    """The features with ridge least-squares coefficients; the ridge keeps them from cancelling."""
    columns = np.maximum(points @ features.b.T + features.c, 0.0)  # [N, m]
    scale = np.linalg.norm(columns, axis=0) + 1e-300
    unit = columns / scale
    # normal equations: the ridge bounds their condition
    gram = unit.T @ unit + ridge * np.eye(len(scale))
    a = scipy.linalg.solve(gram, unit.T @ values, assume_a="pos") / scale
    return ReluNetwork(a, features.b, features.c)


def random_features(width: int, domain: Domain, seed: int) -> ReluNetwork:
    """A constant and neurons of unit direction with kinks through random points of the domain."""
    generator = np.random.default_rng(seed)
    anchors = domain.dense(max(width, 2), seed + 1)
    through = anchors[generator.integers(0, len(anchors), width)] * generator.uniform(
        -1, 1, (width, 1)
    )
    b = generator.standard_normal((width, domain.slots * domain.d))
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    b[0] = 0.0
    c = -(b * through).sum(1)
    c[0] = 1.0
    return ReluNetwork(np.ones(width), b, c)


def near_exact(net: ReluNetwork, width: int, domain: Domain) -> NetworkFit:
    """The best network of at most `width` neurons for an exact one that is wider."""
    points = domain.dense(DENSE)
    wanted = net(points)
    draw = best_sample(net, width, domain)
    chosen = [sample(net, width, seed) for seed in range(4)] + [
        random_features(width, domain, seed) for seed in range(4)
    ]
    fits = [
        fitted(features, points, wanted, RIDGE if domain.finite else SMOOTH) for features in chosen
    ]
    bound = sampling_bound(net, width, domain)
    found = [_judged(net, draw, domain, "sampled", bound)] + [
        _judged(net, fit, domain, "fitted", None) for fit in fits
    ]
    best = min((fit for fit in found if fit is not None), key=lambda fit: fit.error)
    law = (
        "R ||f||_B sqrt(2 ln(2N)/m)"
        if domain.finite
        else "R ||f||_B (4 sqrt((D+1)/m) + sqrt(2 ln(16e6)/m))"
    )
    told = (
        f"{best.neurons} of {net.neurons} neurons, error {best.error:.3g}; sampling promises"
        f" {bound:.3g} = {law}"
    )
    return dataclasses.replace(best, notes=(*best.notes, told))


def _judged(
    net: ReluNetwork, candidate: ReluNetwork, domain: Domain, method: str, bound: float | None
) -> NetworkFit | None:
    """With its certified error; where the domain cannot be searched, a draw keeps its sampling
    bound and a fit is dropped.
    """
    error = sup_of(difference(net, candidate), domain)
    label = f"{method}, {candidate.neurons} of {net.neurons} neurons"
    if error is not None:
        return NetworkFit((candidate,), error, label)
    if bound is None:
        return None
    note = (
        "the readout's error is not certified for these weights: the sampling bound holds with"
        f" probability {1 - FAILURE} over the seeds"
    )
    return NetworkFit((candidate,), bound, label, Status.MEASURED, (note,))


def for_values(
    values: Callable[[np.ndarray], np.ndarray], width: int, domain: Domain, lipschitz: float | None
) -> NetworkFit:
    """The best fitted network of `width` neurons for a function known by its values (and its
    Lipschitz constant) alone.
    """
    points = domain.dense(DENSE)
    wanted = values(points)
    fits = [
        fitted(
            random_features(width, domain, seed), points, wanted, RIDGE if domain.finite else SMOOTH
        )
        for seed in range(4)
    ]
    best = min(fits, key=lambda fit: float(np.abs(fit(points) - wanted).max()))
    measured = float(np.abs(best(points) - wanted).max())
    label = f"fitted, {best.neurons} neurons"
    if domain.finite:
        return NetworkFit((best,), measured, label)
    if lipschitz is not None and domain.slots * domain.d <= 2:

        def steep(u: np.ndarray, reach: float) -> np.ndarray:
            return lipschitz + local_lipschitz(best, domain.inside(u), reach)

        error = grid_sup(
            lambda u: _off(values, best, domain.inside(u)),
            steep,
            domain.slots * domain.d,
            domain.whole_radius,
        )
        return NetworkFit((best,), error, label)
    fresh = domain.dense(4 * DENSE, seed=1)
    measured = max(measured, float(np.abs(best(fresh) - values(fresh)).max()))
    note = (
        f"the readout's error is not certified: twice the largest of {5 * DENSE} measured ones"
        f" ({measured:.3g})"
    )
    return NetworkFit((best,), 2 * measured, label, Status.MEASURED, (note,))


def _off(
    values: Callable[[np.ndarray], np.ndarray], net: ReluNetwork, points: np.ndarray
) -> np.ndarray:
    return values(points) - net(points)
