"""The slope in NumPy is the compiled gradient, part by part."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct import backward, forward
from headcount.construct.check import _slope_compiled, _slope_of_known
from headcount.construct.construction import in_precision
from headcount.core.claims import Precision
from headcount.memory.read import Everywhere, Last
from headcount.model.biases import NoBias
from headcount.model.embedding import LinearEmbedding
from tests.construct.drafted import drafted
from tests.construct.test_forward import MODELS


def soft(model):
    """The same with rates and matrices small enough for every head to see many tokens."""
    heads = [layer.attention for layer in model.layers]
    for i, attention in enumerate(heads):
        for part in ("bias", "score"):
            for name in ("rate", "w_query", "w_key"):
                if hasattr(getattr(attention, part), name):
                    value = jnp.asarray(getattr(getattr(attention, part), name), float)
                    small = 0.7 * value / jnp.maximum(1.0, jnp.abs(value).max())
                    model = eqx.tree_at(
                        lambda m, i=i, part=part, name=name: getattr(
                            getattr(m.layers[i].attention, part), name
                        ),
                        model,
                        small,
                    )
    return model


@pytest.mark.parametrize(("method", "target", "wish"), MODELS, ids=str)
@pytest.mark.parametrize("read", [Last(), Everywhere()], ids=str)
@pytest.mark.parametrize("softened", [False, True], ids=["drafted", "soft"])
def test_agrees_with_the_compiled_gradient(method, target, wish, read, softened):
    _, draft = drafted(method, target, tol=0.3, length=12, **wish)
    with jax.enable_x64(True):
        model = in_precision(draft.model, Precision.FLOAT64)
        agrees(soft(model) if softened else model, read, softened)


def agrees(model, read, softened):
    rng = np.random.default_rng(1)
    if not isinstance(model.embedding, LinearEmbedding):
        assert not backward.served(model)
        width = model.embedding.weight.shape[1]
        weight = rng.standard_normal((width, 2))
        model = eqx.tree_at(
            lambda m: m.embedding, model,
            LinearEmbedding(jnp.asarray(weight), jnp.zeros(width), model.embedding.position),
        )  # fmt: skip
    assert backward.served(model)
    x = rng.uniform(-1, 1, (3, 12, model.embedding.weight.shape[1]))
    toward = rng.standard_normal(forward.answers(model, x, read, np.float64).shape)
    wanted = jax.jit(jax.grad(lambda z: (model(z, read) * toward).sum()))(jnp.asarray(x))
    found = backward.slope(model, x, read, toward)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9 * scale)
    assert not softened or scale > 0


def test_a_bias_without_a_slope_is_left_to_the_compiler():
    _, draft = drafted("tmx", "adaptive:lag_functions=bits+bits", bias="log", tol=0.3,
                       length=12, normaliser="softmax-sink")  # fmt: skip
    assert backward.served(draft.model)
    at = next(
        i for i, layer in enumerate(draft.model.layers) if layer.attention.score.kind == "tmx"
    )
    strange = eqx.tree_at(lambda m: m.layers[at].attention.bias, draft.model, NoBias(2))
    assert not backward.served(strange)


@pytest.mark.parametrize("target", ["fixed:lags=2", "adaptive:lag_functions=bits", "prop42"])
def test_the_slope_of_an_error_is_one(target):
    """With the target's own part; tokens at the edge of what may come, or between."""
    method = "folded" if target == "fixed:lags=2" else "peak-tmx"
    built, draft = drafted(method, target, bias="peak", tol=0.3, length=10)
    z = np.random.default_rng(2).uniform(-1, 1, (4, 10, 1))
    for read in (Last(), Everywhere()):
        known = _slope_of_known(built, draft.model, read)(z)
        np.testing.assert_allclose(
            known, _slope_compiled(built, draft.model, read)(z), rtol=1e-6, atol=1e-9
        )
