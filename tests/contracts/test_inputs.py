"""What every input law promises, over the whole registry."""

import functools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.spec import canonical_json, content_hash
from headcount.memory.inputs import UserArray, inputs

EXAMPLES = [
    "boolean",
    "boolean:3",
    "ternary",
    "ternary:2",
    "uniform",
    "uniform:3",
    "gaussian",
    "gaussian:2,0.5",
    "onehot:5",
    "embedded:symbols=6,d=3,seed=1",
    "ar1:0.9",
    "ar1:phi=-0.5,d=2,scale=2",
    "markov:3",
    "markov:symbols=4,seed=2",
    {"kind": "markov", "symbols": 2, "transition": [[0.9, 0.1], [0.5, 0.5]]},
]
BATCH, LENGTH = 40, 50


@pytest.fixture(scope="module")
def user_array():
    return UserArray.of(np.random.default_rng(0).uniform(-1, 1, (7, 60, 2)))


@pytest.fixture(params=[*EXAMPLES, "user"], ids=str)
def law(request, user_array):
    return user_array if request.param == "user" else inputs.build(request.param)


@functools.lru_cache(maxsize=64)
def compiled(law, batch, length):
    return jax.jit(lambda key: law.sample(key, batch, length))


def draw(law, seed=0, batch=BATCH, length=LENGTH):
    return compiled(law, batch, length)(jax.random.key(seed))


def test_every_entry_has_an_example(user_array):
    assert {inputs.build(example).kind for example in EXAMPLES} | {user_array.kind} == set(
        inputs.names()
    )


@pytest.mark.parametrize("x64", [False, True])
def test_shape_and_dtype(law, x64):
    with jax.enable_x64(x64):
        jitted = draw(law)
        assert jitted.shape == (BATCH, LENGTH, law.dim)
        assert jitted.dtype == (jnp.float64 if x64 else jnp.float32)


def test_drawn_step_by_step_is_drawn_the_same(law):
    eager = law.sample(jax.random.key(0), BATCH, LENGTH)
    assert eager.dtype == jnp.float32
    np.testing.assert_allclose(eager, draw(law), rtol=1e-5, atol=1e-6)


def test_one_token_and_other_keys(law):
    assert draw(law, batch=2, length=1).shape == (2, 1, law.dim)
    assert not np.array_equal(draw(law, 0), draw(law, 1))


def test_norms_stay_within_the_bound(law):
    norms = np.linalg.norm(draw(law), axis=-1)
    assert norms.max() <= law.bound * (1 + 1e-6)
    assert math.isinf(law.bound) or norms.max() > 0.5 * law.bound


def test_moments(law):
    """Mean 0 and covariance v I where the law says so, at the first and at the last position."""
    if law.variance is None:
        assert not law.iid
        return
    x = np.asarray(draw(law, 3, 4000, 12), np.float64)
    for row in (0, 11):
        tokens = x[:, row]
        error = 5 * law.variance / math.sqrt(len(tokens)) * 2
        np.testing.assert_allclose(
            tokens.T @ tokens / len(tokens), law.variance * np.eye(law.dim), rtol=0, atol=error
        )
        np.testing.assert_allclose(
            tokens.mean(0), 0, rtol=0, atol=5 * math.sqrt(law.variance / len(tokens))
        )
    neighbours = np.mean(x[:, 5] * x[:, 6]) / law.variance
    assert (abs(neighbours) < 0.1) == law.iid


def test_tokens_come_from_the_alphabet_and_cover_it(law):
    if law.alphabet is None:
        return
    tokens = np.asarray(draw(law), np.float64).reshape(-1, law.dim)
    distance = np.abs(tokens[:, None] - np.array(law.alphabet)[None]).sum(-1)  # [tokens, V]
    assert distance.min(1).max() < 1e-5
    assert len(set(distance.argmin(1))) == len(law.alphabet)


def test_spec_round_trip(law):
    again = inputs.build(json.loads(canonical_json(law)))
    assert again == law
    assert hash(again) == hash(law)
    assert content_hash(again) == content_hash(law)
