import itertools

import jax.numpy as jnp
import numpy as np

from headcount.memory.named import Prop42

PASTS = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))  # x_{t-2}, x_{t-1}, x_t


def answers():
    return np.asarray(Prop42().evaluate(jnp.asarray(PASTS)[:, :, None]))[:, 0, 0]


def test_all_27_pasts_by_hand():
    for (old, previous, now), y in zip(PASTS, answers(), strict=True):
        assert y == {-1.0: now, 0.0: previous, 1.0: old}[now]


def test_no_linear_map_beats_zero():
    """docs/errata.md#e16: without dot product and FFN the error is at least 1, and answering 0
    attains it.
    """
    y = answers()
    assert np.abs(y).max() == 1
    for a in np.random.default_rng(0).normal(size=(200, 3)):
        assert np.abs(PASTS @ a - y).max() >= 1


def test_a_fixed_memory_of_two_lags_is_enough():
    y = answers()
    table = {tuple(past): label for past, label in zip(PASTS.tolist(), y.tolist(), strict=True)}
    x = np.concatenate(
        [np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(27, 4)), PASTS], axis=1
    )
    got = np.asarray(Prop42().evaluate(jnp.asarray(x)[:, :, None]))[:, 0, 0]
    assert got.tolist() == [table[tuple(past)] for past in PASTS.tolist()]


def test_profile_says_that_lag_zero_is_outside_the_class():
    profile = Prop42().memory_profile()
    assert (profile.nesting, profile.memories, profile.lags) == (0, 1, (1, 2))
    assert "outside" in profile.note
