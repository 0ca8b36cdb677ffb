import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.model import reference
from headcount.model.biases import (
    T5,
    Alibi,
    KerplePower,
    Lin,
    Log,
    Log1p,
    Peak,
    Rope,
    Spacing,
    Table,
    biases,
)
from headcount.model.biases.decaying import TINY, Positive
from headcount.model.shape import LayerShape

SHAPE = LayerShape(width=8, heads=4, value_dim=2, query_dim=4, hidden=4, outputs=8)


def logits(bias, lag, position=9):
    lag = jnp.asarray(lag)
    return np.asarray(bias.logits(lag, jnp.full_like(lag, position)))


def test_values_by_hand():
    one = jnp.array([2.0])
    np.testing.assert_allclose(logits(Lin(one), [0, 3]), [[0, -6]])
    np.testing.assert_allclose(
        logits(Log(one), [0, 1, 3]), [[-np.inf, 0, -2 * np.log(3)]], rtol=1e-6
    )
    np.testing.assert_allclose(
        logits(Peak(one, jnp.array([2.5])), [0, 2, 3]), [[-12.5, -0.5, -0.5]]
    )
    np.testing.assert_allclose(
        logits(KerplePower(one, jnp.array([0.5])), [0, 4]), [[0, -4]], rtol=1e-6
    )
    np.testing.assert_allclose(logits(Table(jnp.array([[1.0, 2.0]])), [0, 1, 2]), [[1, 2, -np.inf]])


def test_alibi_slopes_of_eight_heads():
    shape = LayerShape(width=8, heads=8, value_dim=1, query_dim=1, hidden=1, outputs=8)
    np.testing.assert_allclose(
        Alibi.init(shape, jax.random.key(0)).slopes, [2.0**-k for k in range(1, 9)]
    )


def test_a_table_starts_near_a_power_of_the_lag():
    shape = LayerShape(width=8, heads=3, value_dim=1, query_dim=1, hidden=1, outputs=8)
    flat, decaying = (
        Table.init(shape, jax.random.key(0), window=50, scale=0.1, decay=decay).table
        for decay in (0.0, 1.5)
    )
    np.testing.assert_allclose(
        jnp.exp(decaying - flat), np.tile(np.arange(1.0, 51) ** -1.5, (3, 1)), rtol=1e-5
    )
    assert 0.05 < float(flat.std()) < 0.2


def test_t5_buckets_are_exact_then_logarithmic():
    bias = T5(jnp.zeros((1, 8)), farthest=64)
    assert [int(bias.bucket(jnp.asarray(s))) for s in (0, 1, 3, 4, 7, 8, 16, 32, 63, 64, 1000)] == [
        0,
        1,
        2 + 1,
        4,
        4,
        5,
        6,
        7,
        7,
        7,
        7,
    ]


def test_rope_is_a_sum_of_cosines_and_a_turn_of_vectors():
    bias = Rope.init(SHAPE, jax.random.key(0))
    zeros = jnp.zeros((1, 6, 4, 4))
    queries, keys = bias.turn(zeros, zeros, jnp.arange(6))
    products = jnp.einsum("brhq,bnhq->hrn", queries, keys)  # q0 and k0 alone, at every pair of rows
    lags = jnp.arange(6)[:, None] - jnp.arange(6)[None, :]
    np.testing.assert_allclose(
        logits(bias, jnp.maximum(lags, 0))[:, 5, :], products[:, 5, :], rtol=1e-4, atol=1e-5
    )


def test_spacing_is_a_ladder_or_a_draw():
    ladder = Lin.init(SHAPE, jax.random.key(0), low=1e-3, high=10.0, spacing=Spacing.LOG).rate
    np.testing.assert_allclose(ladder, np.geomspace(1e-3, 10, 4), rtol=1e-5)
    draw = Lin.init(SHAPE, jax.random.key(0), high=0.5).rate
    assert bool(((draw >= 0) & (draw <= 0.5)).all())
    assert len(set(np.asarray(draw).tolist())) == 4


@pytest.mark.parametrize(
    "text",
    [
        "lin:low=-1",
        "lin:low=2,high=1",
        "lin:spacing=log",
        "peak:rate=-1",
        "table:window=0",
        "t5:buckets=1",
        "fire:stretch=0",
        "lin:positive=square",
    ],
)
def test_impossible_options_are_refused(text):
    with pytest.raises(InputError):
        biases.build(text, SHAPE, jax.random.key(0))


@pytest.mark.parametrize("make", [Lin, Log, lambda r: Peak(r, r), lambda r: KerplePower(r, r)])
@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_negative_or_infinite_rates_are_refused(make, bad):
    with pytest.raises(InputError, match="at least 0"):
        make(jnp.array([0.5, bad]))


@pytest.mark.parametrize("positive", Positive)
def test_a_stored_number_gives_its_rate_back(positive):
    rates = jnp.array([TINY, 1e-4, 0.03, 1.0, 7.5, 60.0])
    np.testing.assert_allclose(positive.rate(positive.stored(rates)), rates, rtol=1e-5)


def test_through_softplus_a_rate_of_0_starts_at_the_smallest():
    rates = jnp.zeros(2)
    assert Positive.ABS.rate(Positive.ABS.stored(rates)).tolist() == [0, 0]
    stored = Positive.SOFTPLUS.stored(rates)
    np.testing.assert_allclose(Positive.SOFTPLUS.rate(stored), TINY, rtol=1e-5)
    gradient = jax.grad(lambda r: Positive.SOFTPLUS.rate(r).sum())(stored)
    # a step changes a small rate in proportion to it
    np.testing.assert_allclose(gradient, TINY, rtol=1e-5)
    bias = Lin.init(SHAPE, jax.random.key(0), low=0.0, high=0.0, positive=Positive.SOFTPLUS)
    assert np.isfinite(bias.rate).all()
    assert np.isfinite(logits(bias, [0, 1000])).all()


@pytest.mark.parametrize("make", [Lin, Log, Log1p])
def test_negative_stored_numbers_are_for_softplus(make):
    below = jnp.array([0.5, -3.0])
    bias = make(below, Positive.SOFTPLUS)
    np.testing.assert_allclose(
        logits(bias, [4]) / logits(make(jnp.ones(2)), [4]),
        np.log1p(np.exp(below))[:, None],
        rtol=1e-6,
    )
    with pytest.raises(InputError, match="at least 0"):
        make(below, Positive.ABS)


@pytest.mark.parametrize("make", [Lin, Log, Log1p])
@pytest.mark.parametrize("positive", Positive)
def test_both_ways_follow_the_reference(make, positive, x64):
    bias = make(
        jnp.array([0.0, 0.7, 40.0] if positive is Positive.ABS else [-9.0, 0.7, 40.0]), positive
    )
    slow = [[reference.lag_logit(bias, h, s, 9) for s in range(8)] for h in range(3)]
    np.testing.assert_allclose(logits(bias, range(8)), slow, rtol=1e-12)


def test_an_odd_query_size_cannot_be_turned():
    with pytest.raises(InputError, match="even"):
        Rope.init(
            LayerShape(width=9, heads=3, value_dim=3, query_dim=3, hidden=1, outputs=9),
            jax.random.key(0),
        )


@pytest.mark.parametrize("name", biases.names())
def test_declared_shapes_are_true(name):
    """`decreasing`, `toeplitz` and `first_lag` drive the choice of path, so they must hold."""
    bias = biases.build(name, SHAPE, jax.random.key(3))
    lag = jnp.arange(40)
    early, late = (np.asarray(bias.logits(lag, jnp.full_like(lag, t))) for t in (40, 4000))
    assert early.shape == (4, 40)
    assert bias.heads == 4
    assert np.isfinite(early[:, bias.first_lag]).all()
    assert np.all(early[:, : bias.first_lag] == -np.inf)
    assert (np.array_equal(early, late)) == bias.toeplitz
    if bias.decreasing:
        assert np.all(np.diff(early[:, bias.first_lag :], axis=1) <= 0)
    decay = bias.decay()
    if decay is not None:
        np.testing.assert_allclose(early, -np.asarray(decay)[:, None] * np.arange(40), rtol=1e-5)
