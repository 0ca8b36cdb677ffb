"""The NumPy pass of plans and checks agrees with the slow definition, part by part."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct import forward as pass_in_numpy
from headcount.construct.construction import in_precision
from headcount.construct.forward import answers, served, streams
from headcount.core.claims import Precision
from headcount.memory.read import Everywhere, Last
from headcount.model.biases import Fire
from headcount.model.reference import forward
from headcount.model.shape import LayerShape
from tests.construct.drafted import drafted

MODELS = [
    ("folded", "fixed:lags=2", {"bias": "lin", "normaliser": "softmax-bos"}),
    ("folded", "fixed:lags=2", {"bias": "log", "normaliser": "softmax-tail"}),
    ("folded", "fixed:lags=2", {"bias": "log1p", "normaliser": "none"}),
    ("folded", "fixed:lags=2+5", {"bias": "peak", "normaliser": "softmax-sink"}),
    ("folded", "fixed:lags=2+5", {"bias": "table", "normaliser": "softmax-tail"}),
    ("folded", "fixed:lags=4", {"bias": "rope", "normaliser": "softmax-tail"}),
    ("shaped", "fixed:lags=4", {"bias": "rope", "normaliser": "softmax"}),
    ("composed", "fixed:lags=2", {"bias": "lin", "normaliser": "none"}),
    pytest.param(
        "adaptive", "prop42", {"bias": "lin", "normaliser": "none"}, marks=pytest.mark.slow
    ),
    ("tmx", "adaptive:lag_functions=bits+bits", {"bias": "log", "normaliser": "softmax-sink"}),
    ("adaptive", "adaptive:lag_functions=bits", {"bias": "log", "normaliser": "none"}),
    ("peak-tmx", "prop42", {"bias": "peak", "normaliser": "softmax-sink"}),
    ("leaps", "pointer-chain:hops=2,symbols=3", {"bias": "none", "normaliser": "softmax"}),
    ("doubling", "pointer-chain:hops=3,symbols=3", {"bias": "none", "normaliser": "softmax"}),
]


@pytest.mark.parametrize(("method", "target", "wish"), MODELS, ids=str)
def test_agrees_with_the_definition(method, target, wish):
    built, draft = drafted(method, target, tol=0.3, length=12, **wish)
    rng = np.random.default_rng(1)
    x = (
        rng.choice([-1.0, 1.0], (2, 12, 1))
        if built.vocabulary is None
        else rng.integers(-1, built.vocabulary, (2, 12))
    )
    assert served(draft.model)
    for read in (Last(), Everywhere()):
        wanted = forward(draft.model, x, read)
        np.testing.assert_allclose(
            answers(draft.model, x, read, np.float64), wanted, rtol=1e-9, atol=1e-11
        )
    narrow = answers(draft.model, x, Last(), np.float32)
    assert narrow.dtype == np.float32
    model = in_precision(draft.model, Precision.FLOAT32)
    fed = jnp.asarray(x, jnp.float32) if built.vocabulary is None else jnp.asarray(x)
    np.testing.assert_allclose(
        narrow, np.asarray(jax.jit(lambda z: model(z, Last()))(fed)), atol=0.08
    )
    found = streams(draft.model, x, np.float64)
    assert {place for place in found} >= {(1, "attention")}
    assert all(stream.shape[:2] == (2, 12) for stream in found.values())


def test_unknown_parts_are_told():
    _, draft = drafted("folded", "fixed:lags=2", bias="peak", tol=0.1)
    strange = Fire.init(LayerShape(2, 1, 1, 1, 1, 1), jax.random.key(0))
    model = eqx.tree_at(lambda m: m.layers[0].attention.bias, draft.model, strange)
    assert served(draft.model)
    assert not served(model)


REACHING = [
    ("folded", "fixed:lags=2", {"bias": "lin", "normaliser": "softmax-bos"}),
    ("folded", "fixed:lags=2+5", {"bias": "peak", "normaliser": "softmax-sink"}),
    ("folded", "fixed:lags=2+5", {"bias": "peak", "normaliser": "none"}),
    ("leaps", "pointer-chain:hops=2,symbols=3", {"bias": "none", "normaliser": "softmax"}),
    ("leaps", "pointer-chain:hops=2,symbols=3", {"bias": "lin", "normaliser": "none"}),
]


@pytest.mark.parametrize(("method", "target", "wish"), REACHING, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tokens_without_weight_are_left_out(method, target, wish, dtype, monkeypatch):
    """The same answers and streams as with every token; and some are left out."""
    built, draft = drafted(method, target, tol=0.1, length=300, **wish)
    rng = np.random.default_rng(2)
    x = (
        rng.choice([-1.0, 1.0], (2, 300, 1))
        if built.vocabulary is None
        else rng.integers(-1, built.vocabulary, (2, 300))
    )
    reached = []
    measured = pass_in_numpy.reached

    def told(*known):
        reached.append(measured(*known))
        return reached[-1]

    monkeypatch.setattr(pass_in_numpy, "reached", told)
    near = answers(draft.model, x, Everywhere(), dtype)
    near_streams = streams(draft.model, x, dtype)
    assert min(reached) < 299
    monkeypatch.setattr(pass_in_numpy, "reached", lambda by_lags, divided, length: length)
    # what cancels shows the order in which it was added up
    eps = float(np.finfo(dtype).eps) * (64 + draft.output.amplification)
    np.testing.assert_allclose(near, answers(draft.model, x, Everywhere(), dtype), eps, eps)
    for place, stream in streams(draft.model, x, dtype).items():
        np.testing.assert_allclose(near_streams[place], stream, eps, eps)


def test_what_a_head_reaches():
    """The last lag whose weight is not 0 in the format: e^-104 is 0 in float32."""
    falling = -np.arange(400, dtype=np.float32)[None]
    assert 103 <= pass_in_numpy.reached(falling, False, 400) <= 105
    assert 203 <= pass_in_numpy.reached(falling - 100, True, 400) + 100 <= 205
    assert pass_in_numpy.reached(falling - 200, False, 400) == 0
    assert pass_in_numpy.reached(np.full((1, 9), -np.inf), True, 9) == 0
    assert pass_in_numpy.reached(falling.astype(np.float64), True, 400) == 399
    assert pass_in_numpy.reached(None, True, 400) == 400
