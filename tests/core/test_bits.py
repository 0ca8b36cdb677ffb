"""Threefry written out is JAX's own, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

from headcount.core.bits import fold, threefry, words

KEY = jax.random.key(17)


def test_blocks_are_those_of_jax():
    first = jnp.arange(100, dtype=jnp.uint32) * jnp.uint32(2654435761)
    second = first[::-1]
    ours = jnp.concatenate(threefry(jax.random.key_data(KEY), first, second))
    theirs = threefry_2x32(jax.random.key_data(KEY), jnp.concatenate([first, second]))
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("number", [0, 1, 12345, 2**31 - 1])
def test_fold_is_fold_in(number):
    ours, theirs = (jax.random.key_data(f(KEY, number)) for f in (fold, jax.random.fold_in))
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("count", [1, 2, 1001])
def test_words_are_bits(count):
    assert np.array_equal(words(KEY, count), jax.random.bits(KEY, (count,), jnp.uint32))
