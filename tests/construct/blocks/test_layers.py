import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct.blocks.layers import (
    Head,
    Neurons,
    attention,
    constant,
    idle,
    linear_readout,
    no_ffn,
    relu_ffn,
    token_embedding,
)
from headcount.construct.blocks.space import Space
from headcount.core.errors import InputError
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.biases import NoBias
from headcount.model.normalisers import NoNormaliser
from headcount.model.scores import DotFree

SPACE = Space(token=2, memory=2, flag=1)


def test_heads_of_different_sizes_share_a_layer():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    made = attention(
        SPACE,
        [Head("token", "memory", turn), Head("flag", "flag", 3.0)],
        DotFree(),
        NoBias(2),
        NoNormaliser(),
    )
    x = SPACE.vector(token=np.array([1.0, 2.0]), flag=5.0)
    both = sum(made.w_out[h] @ (made.w_value[h] @ x) for h in range(2))
    assert both == pytest.approx(SPACE.vector(memory=np.array([-2.0, 1.0]), flag=15.0))


def test_networks_side_by_side_and_constants():
    double = ReluNetwork(np.array([2.0, -2.0]), np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2))
    ffn = relu_ffn(SPACE, [Neurons(double, ("token",), "memory", 1), constant(7.0, "flag", "flag")])
    x = SPACE.vector(token=np.array([-1.5, 9.0]))
    assert np.asarray(ffn(jnp.asarray(x))) == pytest.approx(
        SPACE.vector(memory=np.array([0.0, -3.0]), flag=7.0)
    )


def test_parts_that_add_nothing():
    x = jnp.ones(SPACE.width)
    assert not np.any(np.asarray(no_ffn(SPACE)(x)))
    assert not np.any(idle(SPACE).w_out)
    assert np.asarray(linear_readout(SPACE, np.ones((1, 2)), ["memory"])(x)).tolist() == [2.0]


def test_a_layer_needs_heads():
    with pytest.raises(InputError, match="without heads"):
        attention(SPACE, [], DotFree(), NoBias(1), NoNormaliser())


def test_tokens_are_unit_vectors_and_places_are_added(x64):
    places = np.stack([SPACE.vector(flag=float(t)) for t in range(3)])
    rows = np.asarray(
        token_embedding(SPACE, positions=places).stream(jnp.array([[1, -1, 0]])).full()
    )
    assert rows.tolist() == [[[0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 2]]]
    with pytest.raises(InputError, match="learned positions up to 3"):
        token_embedding(SPACE, positions=places).stream(jnp.zeros((1, 4), int))
    assert token_embedding(SPACE).stream(jnp.array([[1]])).full().tolist() == [[[0, 1, 0, 0, 0]]]
