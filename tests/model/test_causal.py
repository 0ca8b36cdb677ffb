import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.model import attention, causal
from headcount.model.biases import biases
from headcount.model.spec import ModelSpec
from headcount.model.stream import Stream

N = 19  # blocks of 5 rows and a shorter one
OPTIONS = {
    "table": "table:window=8",
    "t5": "t5:buckets=6,farthest=9",
    "fire": "fire:hidden=4,threshold=5",
    "peak": "peak:reach=6",
}
NORMALISERS = (
    "softmax",
    "softmax-sink:logit=0.5",
    "softmax-bos:logit=-0.3",
    "softmax-tail:horizon=15",
)
CASES = [(bias, "softmax-sink:logit=0.5") for bias in biases.names()] + [
    (b, n) for b in ("lin", "log", "rope") for n in NORMALISERS
]
QUICK = {(bias, "softmax-sink:logit=0.5") for bias in ("lin", "table", "rope")} | {
    ("log", "softmax")
}
PARAMETERS = [
    pytest.param(*case, id="-".join(case), marks=[] if case in QUICK else pytest.mark.slow)
    for case in dict.fromkeys(CASES)
]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(causal, "LEAST_BLOCK", 5)
    monkeypatch.setattr(attention, "DENSE_ROWS", 4)


def layer_and_stream(bias="lin", normaliser="softmax", **sizes):
    spec = ModelSpec(
        heads=2,
        width=8,
        attention="dot",
        bias=OPTIONS.get(bias, bias),
        normaliser=normaliser,
        **sizes,
    )
    layer = spec.build(jax.random.key(0), dim=1).layers[0].attention
    if bias == "rope":  # its offsets of queries and keys start at zero
        layer = eqx.tree_at(
            lambda a: (a.bias.query, a.bias.key),
            layer,
            (layer.bias.query + 0.3, layer.bias.key - 0.2),
        )
    return layer, jax.random.normal(jax.random.key(1), (4, N, 8))


def outcome(layer, x):
    """Output and gradients of a loss that looks at every output with its own weight."""
    aim = jax.random.normal(jax.random.key(2), x.shape, x.dtype)

    @eqx.filter_jit
    def run(parts):
        def loss(parts):
            layer, x = parts
            out = layer(Stream(x), np.arange(N))
            return jnp.sum(aim * out + out**2), out

        return eqx.filter_value_and_grad(loss, has_aux=True)(parts)

    (_, out), grads = run((layer, x))
    return out, jax.tree.leaves(grads)


def same(found, expected, tolerance):
    assert len(found[1]) == len(expected[1])
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, atol=tolerance * max(1.0, float(jnp.abs(b).max())), rtol=0)


@pytest.mark.parametrize(("bias", "normaliser"), PARAMETERS)
def test_outputs_and_gradients_equal_the_general_path(bias, normaliser, monkeypatch, x64):
    """The other path builds [B, H, N, N] weights row by row and is differentiated by JAX; both
    meet the reference in contracts.
    """
    layer, x = layer_and_stream(bias, normaliser)
    assert layer.path(N, N) == "causal"
    fast = outcome(layer, x)
    monkeypatch.setattr(attention, "DENSE_ROWS", N)
    assert layer.path(N, N) == "rows"
    same(fast, outcome(layer, x), 1e-12)
    assert all(bool(jnp.isfinite(g).all()) for g in fast[1])


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("sequences", [1, 2])
def test_large_batches_in_parts_change_nothing(sequences, kept, monkeypatch, x64):
    layer, x = layer_and_stream("log", "softmax-sink")
    whole = outcome(layer, x)
    monkeypatch.setattr(causal, "CACHED", sequences * 2 * N * 5)  # at a time: 2 heads, 5 rows
    if not kept:
        monkeypatch.setattr(causal, "BLOCK_ENTRIES", N**2)
    same(outcome(layer, x), whole, 1e-12)


def test_blocks_never_look_ahead():
    for length in (1, 4, 5, 6, 39, 40, 41, 1000):
        blocks = causal._blocks(length)
        assert len(blocks) <= causal.MOST_BLOCKS
        assert [row for block in blocks for row in range(block.start, block.stop)] == list(
            range(length)
        )


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "bfloat16"])
def test_smaller_floats_keep_their_type(dtype, monkeypatch):
    layer, x = layer_and_stream("rope", "softmax-sink")
    layer, x = jax.tree.map(lambda w: w.astype(dtype) if eqx.is_inexact_array(w) else w, (layer, x))
    fast = outcome(layer, x)
    monkeypatch.setattr(attention, "DENSE_ROWS", N)
    found, expected = (
        jax.tree.map(lambda w: w.astype(jnp.float32), o) for o in (fast, outcome(layer, x))
    )
    assert all(leaf.dtype == dtype for leaf in jax.tree.leaves(fast))
    same(found, expected, 1e-5 if dtype == "float32" else 0.05)


def test_huge_and_tiny_logits_stay_finite():
    layer, x = layer_and_stream("log", "softmax-sink")
    layer = eqx.tree_at(lambda a: a.score.w_query, layer, layer.score.w_query * 1e4)
    out, grads = outcome(layer, x)
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in [out, *grads])
