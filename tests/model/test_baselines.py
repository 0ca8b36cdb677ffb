import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.read import At, Everywhere
from headcount.model.baselines import GRU, LSTM, CausalConvolution, DiagonalSSM, baselines


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def by_hand(model, x):
    """Each baseline from its formula, one token after the other, float64 NumPy."""
    w = jax.tree.map(lambda a: np.asarray(a, np.float64), eqx.filter(model, eqx.is_array))
    u = x @ w.embedding.weight.T + w.embedding.offset  # [N, D]
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
            taps = [sum(kernel[k] @ u[t - k * step] for k in range(kernel.shape[0]) if t >= k * step) for t in range(len(u))]
            u = u + np.maximum(np.array(taps) + offset, 0)
        out = list(u)
    return np.array(out) @ w.readout.T


@pytest.mark.parametrize("name", baselines.names())
def test_baselines_follow_their_formulas_and_are_causal(name, x64):
    options = {"ssm": ":width=4,states=3,hidden=5", "convolution": ":width=4,layers=2,size=2"}.get(name, ":width=4")
    model = baselines.build(name + options, 2, None, 3, jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (2, 9, 2))
    y = model(x, Everywhere())
    assert y.shape == (2, 9, 3)
    np.testing.assert_allclose(y, np.stack([by_hand(model, np.asarray(row)) for row in x]), atol=1e-9)
    np.testing.assert_allclose(model(x, At(4)), y[:, 3:4], atol=1e-12)
    np.testing.assert_allclose(model(x.at[:, 5:].set(9.0), Everywhere())[:, :5], y[:, :5], atol=1e-12)
    grads = eqx.filter_grad(lambda m: (m(x, Everywhere()) ** 2).sum())(model)
    assert all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(grads))


def test_tokens_work_too():
    model = baselines.build("gru:width=4", 0, 5, 2, jax.random.key(0))
    assert model(jnp.array([[0, 4, -1]]), Everywhere()).shape == (1, 3, 2)


def test_both_kinds_of_tokens_at_once_are_refused():
    with pytest.raises(InputError, match="one of the two"):
        baselines.build("gru", 2, 5, 1, jax.random.key(0))
