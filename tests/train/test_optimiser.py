"""Learning rates and updates against Optax's own."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from headcount.train.optimiser import Numbers, optimiser, rate
from headcount.train.run_spec import OptimiserSpec, TrainSpec

STEPS, WARMUP = 200, 20


def rates(shape, warmup=WARMUP, final=0.1):
    spec = TrainSpec(
        steps=STEPS, lr=0.5, schedule={"shape": shape, "warmup": warmup, "final": final}
    )
    numbers = Numbers.of(spec, (STEPS,))
    return np.array(
        [float(rate(spec.schedule.shape, numbers, jnp.asarray(step))) for step in range(STEPS)]
    )


@pytest.mark.parametrize(
    ("shape", "theirs"),
    [
        ("constant", optax.constant_schedule(0.5)),
        ("linear", optax.linear_schedule(0.5, 0.05, STEPS - WARMUP)),
        ("cosine", optax.cosine_decay_schedule(0.5, STEPS - WARMUP, 0.1)),
        ("exponential", optax.exponential_decay(0.5, STEPS - WARMUP, 0.1)),
    ],
)
def test_after_the_rise_rates_are_those_of_optax(shape, theirs):
    expected = [float(theirs(step)) for step in range(STEPS - WARMUP)]
    np.testing.assert_allclose(rates(shape)[WARMUP:], expected, rtol=1e-5)
    np.testing.assert_allclose(rates(shape, warmup=0, final=1.0), 0.5, rtol=1e-5)


def test_the_rise_is_linear_and_the_first_step_moves():
    np.testing.assert_allclose(
        rates("cosine")[:WARMUP], 0.5 * np.arange(1, WARMUP + 1) / WARMUP, rtol=1e-6
    )


def test_inverse_square_root():
    np.testing.assert_allclose(
        rates("inverse-sqrt")[WARMUP:],
        0.5 * np.sqrt(WARMUP / np.arange(WARMUP + 1, STEPS + 1)),
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        ({}, optax.adam(0.1)),
        ({"b1": 0.5, "b2": 0.9, "eps": 1e-3}, optax.adam(0.1, 0.5, 0.9, 1e-3)),
        (
            {"weight_decay": 0.3},
            optax.adamw(0.1, weight_decay=0.3, mask={"matrix": True, "rate": False}),
        ),
        ({"clip": 0.01}, optax.chain(optax.clip_by_global_norm(0.01), optax.adam(0.1))),
        ({"method": "sgd"}, optax.sgd(0.1, momentum=0.9)),
    ],
)
def test_updates_are_those_of_optax(options, theirs):
    spec = OptimiserSpec(**options)
    numbers = Numbers.of(TrainSpec(lr=0.1, optimiser=spec), (10,))
    ours = optimiser(spec, numbers, jnp.float32(0.1))
    weights = {"matrix": jnp.array([[1.0, -2.0], [0.5, 3.0]]), "rate": jnp.array([0.3, -0.1])}
    mine, other = (weights, ours.init(weights)), (weights, theirs.init(weights))
    for _ in range(5):
        stepped = []
        for method, (params, state) in ((ours, mine), (theirs, other)):
            grads = {name: weight**3 - 1 for name, weight in params.items()}
            updates, state = method.update(grads, state, params)
            stepped.append((optax.apply_updates(params, updates), state))
        mine, other = stepped
    for name in weights:
        # 1 - b2 is rounded in float32
        np.testing.assert_allclose(mine[0][name], other[0][name], rtol=1e-5)
