import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.n_gram import NGram, ngram_table
from headcount.memory.target import Family


def test_trigram_by_hand():
    table = ngram_table(3, 2, 5)
    x = jnp.array([[1, 0, 1, 1]])
    assert NGram(n=3, symbols=2, seed=5).evaluate(x).tolist() == [
        [-1, -1, table[0b101], table[0b011]]
    ]


def test_the_seed_chooses_the_table():
    assert (ngram_table(3, 4, 0) != ngram_table(3, 4, 1)).any()
    assert set(np.unique(ngram_table(3, 4, 0))) <= set(range(4))


def test_profile_counts_the_past_tokens_only():
    profile = NGram(n=3).memory_profile()
    assert (profile.family, profile.memories, profile.lags) == (Family.FIXED, 2, (1, 2))


def test_a_table_too_large_is_refused():
    with pytest.raises(InputError, match=r"8\^9 entries"):
        NGram(n=9, symbols=8)
