import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.memory.read import At, Everywhere, Last
from headcount.model import paths
from headcount.model.biases import Lin, Log, Peak, Table
from headcount.model.normalisers import NoNormaliser, Softmax, SoftmaxBos, SoftmaxSink, SoftmaxTail
from headcount.model.spec import ModelSpec


def test_each_kind_takes_its_path():
    def path(length, rows, **spec):
        return (
            ModelSpec(heads=2, width=4, **spec)
            .build(jax.random.key(0), dim=1)
            .layers[0]
            .attention.path(length, rows)
        )

    assert path(1000, 1, attention="dp-free") == "rows"
    assert path(1000, 1000, attention="dp-free") == "recurrence"
    assert path(1000, 1000, attention="dp-free", bias="alibi") == "recurrence"
    assert path(1000, 1000, attention="dp-free", normaliser="sigmoid") == "convolution"
    assert path(1000, 1000, attention="dp-free", bias="log") == "convolution"
    assert path(1000, 1000, attention="dp-free", bias="fire") == "rows"
    assert path(1000, 1000, attention="dot") == "causal"
    assert path(1000, 1000, attention="dot", bias="rope", normaliser="softmax-sink") == "causal"
    assert path(1000, 1000, attention="dot", normaliser="sigmoid") == "rows"
    assert path(1000, 1000, attention="dot", normaliser="none") == "rows"
    assert path(1000, 1000, attention="tmx") == "rows"
    assert path(1000, 1, attention="dot") == "rows"
    # N^2 weights of one sequence would be too many
    assert path(5000, 5000, attention="dot") == "rows"
    assert path(8, 8, attention="dp-free") == "rows"


@eqx.filter_jit
def answer(model, x, read):
    """The model compiled whole: step by step, every operation would be compiled by itself."""
    return model(x, read)


@eqx.filter_jit
def dense(bias, normaliser, u):
    """Every row from its own weights, float64."""
    n = u.shape[1]
    lag = jnp.maximum(jnp.arange(n)[:, None] - jnp.arange(n)[None, :], 0)
    weights = paths.weights(
        bias,
        normaliser,
        bias.logits(lag, jnp.broadcast_to(jnp.arange(n)[:, None] + 1, lag.shape)),
        jnp.arange(n),
    )
    return jnp.einsum("hrn,bnf->brhf", weights, u)


LONG = 700
EXTREMES = [
    Lin(jnp.array([0.0, 1e-4, 3.0, 1e6])),
    Log(jnp.array([0.0, 1.01, 40.0, 1e6])),
    Peak(jnp.array([1e-6, 0.1, 50.0, 1e4]), jnp.array([300.0, 500.0, 2.5, 699.0])),
    Table(10 * jax.random.normal(jax.random.key(5), (4, LONG))),
]


DIVIDED = [
    Softmax(),
    NoNormaliser(),
    SoftmaxSink(jnp.array([-30.0, 0.0, 30.0, 0.0])),
    SoftmaxTail(800),
]


def each_with_two(biases, normalisers):
    """Every pair; quick are the recurrence (lin) with each, and each other bias with two."""
    for j, normaliser in enumerate(normalisers):
        for i, bias in enumerate(biases):
            quick = bias.kind == "lin" or (i + j) % 2 == 0
            marks = () if quick else pytest.mark.slow
            yield pytest.param(bias, normaliser, id=f"{normaliser.kind}-{bias.kind}", marks=marks)


@pytest.mark.parametrize(("bias", "normaliser"), list(each_with_two(EXTREMES, DIVIDED)))
def test_fast_paths_equal_dense_weights_on_long_sequences_and_extreme_rates(bias, normaliser, x64):
    bias, normaliser = (
        jax.tree.map(lambda w: w.astype(jnp.float64), part) for part in (bias, normaliser)
    )
    u = jax.random.normal(jax.random.key(1), (2, LONG, 3), jnp.float64)
    rows = np.arange(LONG)
    exact = dense(bias, normaliser, u)
    for dtype, tolerance in ((jnp.float64, 1e-8), (jnp.float32, 2e-4)):
        b, n, v = (
            jax.tree.map(lambda w, d=dtype: w.astype(d), part) for part in (bias, normaliser, u)
        )
        fast = paths.recurrence if bias.decay() is not None else paths.convolution
        out = eqx.filter_jit(fast)(b, n, v, rows)
        assert bool(jnp.isfinite(out).all())
        np.testing.assert_allclose(
            out, exact, atol=tolerance * max(1.0, float(jnp.abs(exact).max()))
        )


def test_blocks_of_rows_change_nothing(monkeypatch, x64):
    bias = Log(jnp.array([0.5, 2.0]))
    u = jax.random.normal(jax.random.key(1), (2, 50, 3), jnp.float64)
    whole = paths.rows_of_weights(bias, Softmax(), u, np.arange(50))
    monkeypatch.setattr(paths, "BLOCK_ENTRIES", 350)
    np.testing.assert_allclose(
        paths.rows_of_weights(bias, Softmax(), u, np.arange(50)), whole, atol=1e-12
    )


def test_the_bos_sink_makes_every_position_exact(x64):
    """A lin head of rate b is divided by 1/(1-e^-b) at every position (docs/numerics.md#sink)."""
    rate = jnp.array([0.001, 0.3])
    u = jax.random.rademacher(jax.random.key(0), (1, 60, 1), jnp.float64)
    sink = SoftmaxBos(-jnp.log(-jnp.expm1(-rate)))
    recurrence = eqx.filter_jit(paths.recurrence)
    free = recurrence(Lin(rate), NoNormaliser(), u, np.arange(60))
    exact = recurrence(Lin(rate), sink, u, np.arange(60))
    np.testing.assert_allclose(exact, free * -jnp.expm1(-rate)[:, None], atol=1e-12)
    plain = recurrence(Lin(rate), Softmax(), u, np.arange(60))
    assert float(jnp.abs(plain - free * -jnp.expm1(-rate)[:, None]).max()) > 0.1


@pytest.mark.parametrize("attention", ["dp-free", "dot"])
def test_rows_that_see_nothing_give_zero_and_every_length_works(attention):
    model = ModelSpec(heads=2, width=4, hidden=3, attention=attention, bias="log").build(
        jax.random.key(0), dim=1
    )
    layer = model.layers[0].attention
    for length in (1, 2, 66):
        x = jnp.ones((1, length, 1))
        out = eqx.filter_jit(lambda x: layer(model.embedding.stream(x), np.arange(x.shape[1])))(x)
        assert bool(jnp.isfinite(out).all())
        # lag 0 is excluded: the first position sees nothing
        np.testing.assert_array_equal(out[:, 0], 0)
        every = answer(model, x, Everywhere())
        np.testing.assert_allclose(answer(model, x, Last()), every[:, -1:], atol=1e-5)


def test_a_peak_head_returns_its_lag():
    bias = Peak(jnp.array([20.0]), jnp.array([300.0]))
    u = jax.random.normal(jax.random.key(0), (1, 500, 1))
    out = eqx.filter_jit(paths.convolution)(bias, NoNormaliser(), u, np.arange(500))
    np.testing.assert_allclose(out[0, 300:, 0, 0], u[0, :200, 0], atol=2e-5)
    np.testing.assert_allclose(out[0, :300, 0, 0], 0, atol=2e-5)


def test_tmx_reads_the_lag_that_the_token_asks_for(x64):
    """Normalisation-free TMX with many steep heads' sum is Lemma F.2's shifted kernel: e^{-b (s
    - g)}.
    """
    model = ModelSpec(
        heads=1, width=1, hidden=1, head_dim=1, attention="tmx", bias="lin", normaliser="none"
    ).build(jax.random.key(0), dim=1)
    layer = eqx.tree_at(
        lambda a: (a.score.direction, a.bias.rate, a.w_value, a.w_out),
        model.layers[0].attention,
        (jnp.ones((1, 1)), jnp.array([0.7]), jnp.ones((1, 1, 1)), jnp.ones((1, 1, 1))),
    )
    from headcount.model.stream import Stream

    x = jnp.array([[[0.5], [2.0], [-3.0], [2.0]]])
    out = layer(Stream(x), np.array([3]))[0, 0, 0]
    expected = sum(np.exp(-0.7 * (s - 2.0)) * float(x[0, 3 - s, 0]) for s in range(4))
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_reading_one_position_is_the_row_of_all_positions():
    model = ModelSpec(heads=4, width=8, layers=2, attention="dp-free", bias="log1p").build(
        jax.random.key(0), dim=2
    )
    x = jax.random.normal(jax.random.key(1), (3, 130, 2))
    everywhere = answer(model, x, Everywhere())
    for t in (1, 64, 65, 130):
        np.testing.assert_allclose(answer(model, x, At(t)), everywhere[:, t - 1 : t], atol=2e-5)
