import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.registry import PartSpec
from headcount.memory.read import At, Everywhere, Last
from headcount.model.baselines import (
    GRU,
    LSTM,
    CausalConvolution,
    DiagonalSSM,
    GatedRecurrence,
    Heads,
    LinearFilter,
    baselines,
)
from headcount.model.normalisers import NoNormaliser

OPTIONS = {
    "ssm": "width=4,states=3,hidden=5",
    "convolution": "width=4,layers=2,size=2",
    "heads": "heads=3,bias=lin(high=2,positive=softplus)",
    "filter": "taps=3",
    "gated": "width=4,keys=3,values=2,hidden=5,layers=2",
}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def by_hand(model, x):
    """Each baseline from its formula, one token after the other, float64 NumPy."""
    w = jax.tree.map(lambda a: np.asarray(a, np.float64), eqx.filter(model, eqx.is_array))
    if isinstance(model, Heads):
        return bare_heads(
            w.attention.w_value, w.attention.w_out, np.log1p(np.exp(w.attention.bias.rate)), x
        )
    if isinstance(model, LinearFilter):
        taps = range(len(w.weight))
        return np.array(
            [w.offset + sum(w.weight[s] @ x[t - s] for s in taps if t >= s) for t in range(len(x))]
        )
    u = x @ w.embedding.weight.T + w.embedding.offset  # [N, D]
    if isinstance(model, GatedRecurrence):
        for layer in w.layers:
            u = gated(layer, u)
        return u @ w.readout.T
    out = []
    if isinstance(model, GRU):
        state = np.zeros(u.shape[1])
        for token in u:
            a, b = w.w_input @ token + w.offset, w.w_state @ state
            (r, z, n), (rh, zh, nh) = np.split(a, 3), np.split(b, 3)
            z = sigmoid(z + zh)
            state = (1 - z) * np.tanh(n + sigmoid(r + rh) * nh) + z * state
            out.append(state)
    elif isinstance(model, LSTM):
        hidden = cell = np.zeros(u.shape[1])
        for token in u:
            i, f, g, o = np.split(w.w_input @ token + w.offset + w.w_state @ hidden, 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            hidden = sigmoid(o) * np.tanh(cell)
            out.append(hidden)
    elif isinstance(model, DiagonalSSM):
        pole = np.exp(-np.exp(w.log_decay) + 1j * w.frequency)
        gain = np.sqrt(1 - np.abs(pole) ** 2)
        c = w.c_real + 1j * w.c_imag
        for t in range(len(u)):
            state = sum(pole**s * gain * u[t - s][:, None] for s in range(t + 1))
            y = (c * state).sum(1).real + w.skip * u[t]
            out.append(np.maximum(w.w_in @ y + w.offset, 0))
    else:
        assert isinstance(model, CausalConvolution)
        for depth, (kernel, offset) in enumerate(zip(w.kernels, w.offsets, strict=True)):
            step = kernel.shape[0] ** depth
            taps = [
                sum(kernel[k] @ u[t - k * step] for k in range(kernel.shape[0]) if t >= k * step)
                for t in range(len(u))
            ]
            u = u + np.maximum(np.array(taps) + offset, 0)
        out = list(u)
    return np.array(out) @ w.readout.T


def gated(w, u):
    """One layer of a gated recurrence, token by token."""
    keys, out = len(w.gate), []
    state = np.zeros((keys, w.w_out.shape[1]))
    for t, token in enumerate(u):
        joined = w.w_in[0] @ token + (w.w_in[1] @ u[t - 1] if t else 0)
        q, k, a, v = np.split(joined, (keys, 2 * keys, 3 * keys))
        state = sigmoid(a + w.gate)[:, None] * state + np.outer(k, v) / np.sqrt(keys)
        mixed = token + w.w_out @ (q @ state)
        out.append(mixed + w.w_down @ np.maximum(w.w_up @ mixed + w.offset, 0))
    return np.array(out)


def bare_heads(w_value, w_out, rate, x):
    """y_t = sum_h W_O^h W_V^h sum_s softmax(-p_h s) x_{t-s}"""
    out = np.zeros_like(x)
    for t in range(len(x)):
        for h, p in enumerate(rate):
            weights = [np.exp(-p * s) for s in range(t + 1)]
            gathered = sum(weight * x[t - s] for s, weight in enumerate(weights)) / sum(weights)
            out[t] += w_out[h] @ (w_value[h] @ gathered)
    return out


@pytest.mark.parametrize("name", baselines.names())
def test_baselines_follow_their_formulas_and_are_causal(name, x64):
    outputs = 2 if name == "heads" else 3  # bare heads answer with vectors like their tokens
    model = baselines.build(
        f"{name}:{OPTIONS.get(name, 'width=4')}", 2, None, outputs, jax.random.key(0)
    )
    x = jax.random.normal(jax.random.key(1), (2, 9, 2))

    @eqx.filter_jit
    def run(model, x):
        grads = eqx.filter_grad(lambda m: (m(x, Everywhere()) ** 2).sum())(model)
        return model(x, Everywhere()), model(x, At(4)), grads

    y, at, grads = run(model, x)
    assert y.shape == (2, 9, outputs)
    assert (model.tokens, model.outputs) == ((None, 2), outputs)
    np.testing.assert_allclose(
        y, np.stack([by_hand(model, np.asarray(row)) for row in x]), atol=1e-9
    )
    np.testing.assert_allclose(at, y[:, 3:4], atol=1e-12)
    np.testing.assert_allclose(run(model, x.at[:, 5:].set(9.0))[0][:, :5], y[:, :5], atol=1e-12)
    assert all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(grads))


def test_tokens_work_too():
    model = baselines.build("gru:width=4", 0, 5, 2, jax.random.key(0))
    answer = jax.jit(lambda x: model(x, Everywhere()))(jnp.array([[0, 4, -1]]))
    assert answer.shape == (1, 3, 2)
    assert bool(jnp.isfinite(answer).all())


def test_both_kinds_of_tokens_at_once_are_refused():
    with pytest.raises(InputError, match="one of the two"):
        baselines.build("gru", 2, 5, 1, jax.random.key(0))


@pytest.mark.parametrize(
    "bias",
    [
        "lin:high=2,positive=softplus",
        {"kind": "lin", "low": 0, "high": 2, "spacing": "uniform", "positive": "softplus"},
    ],
)
def test_parts_of_bare_heads_are_recipes_with_every_option(bias):
    spec = baselines.spec(
        {"kind": "heads", "heads": 3, "head_dim": 2, "bias": bias, "normaliser": "none"}
    )
    lin = {"low": 0.0, "high": 2.0, "spacing": "uniform", "positive": "softplus"}
    assert spec.options["bias"] == PartSpec(kind="lin", options=lin)
    assert spec.to_plain() == {
        "kind": "heads",
        "heads": 3,
        "head_dim": 2,
        "bias": {"kind": "lin", **lin},
        "normaliser": {"kind": "none"},
    }
    assert baselines.spec(spec.to_plain()) == baselines.spec(spec) == spec
    model = baselines.build(spec, 1, None, 1, jax.random.key(0))
    assert (model.attention.heads, model.attention.bias.positive) == (3, "softplus")
    assert isinstance(model.attention.normaliser, NoNormaliser)


def test_one_lin_head_under_softmax_is_the_default():
    spec = baselines.spec("heads")
    assert (spec.options["heads"], spec.options["bias"].kind, spec.options["normaliser"].kind) == (
        1,
        "lin",
        "softmax",
    )


def test_one_read_of_bare_heads_needs_no_square_of_the_length():
    length = 4000
    model = baselines.build("heads:heads=2", 1, None, 1, jax.random.key(0))
    program = (
        jax.jit(lambda x: model(x, Last()))
        .lower(jax.ShapeDtypeStruct((1, length, 1), "float32"))
        .compile()
    )
    assert program.memory_analysis().temp_size_in_bytes < 100 * length


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("heads", (0, 5, 5), "integer tokens below 5; expected real tokens"),
        ("heads", (2, None, 1), "tokens of size 2 to answers of size 1"),
        ("heads:heads=0", (1, None, 1), "greater than or equal to 1"),
        ("heads:bias=lni", (1, None, 1), "bias: unknown bias 'lni' \\(nearest: 'lin'\\)"),
        (
            "heads:bias=lin(hig=2)",
            (1, None, 1),
            "bias: lin: unknown key 'hig' \\(nearest: 'high'\\)",
        ),
        ("heads:bias=lin(positive=square)", (1, None, 1), "positive is 'square'"),
        ("heads:width=4", (1, None, 1), "unknown key 'width'"),
    ],
)
def test_what_bare_heads_cannot_be_is_refused(text, sizes, message):
    with pytest.raises(InputError, match=message):
        baselines.build(text, *sizes, jax.random.key(0))


def test_bare_heads_refuse_other_tokens():
    model = baselines.build("heads", 1, None, 1, jax.random.key(0))
    with pytest.raises(InputError, match="real numbers of shape"):
        model(jnp.array([[0, 1]]), Everywhere())
