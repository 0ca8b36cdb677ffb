import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.recall import Recall
from headcount.memory.target import targets


def test_the_latest_value_of_a_key_wins():
    # keys {0,1,2}, values {3,4,5}: 0 -> 3, later 0 -> 5; the lone key 1 stores nothing
    x = jnp.array([[0, 3, 0, 5, 0, 1, 1]])
    assert Recall(pairs=2, symbols=3).evaluate(x).tolist() == [[-1, -1, 3, -1, 5, -1, -1]]


@pytest.mark.parametrize("length", [13, 24, 31, 60])
def test_every_answer_is_the_stored_value(length, draw):
    target = targets.build("recall:pairs=6")
    batch = draw(target, 20, length)
    x, y, mask = (np.asarray(a) for a in batch)
    stored = [dict(zip(row[:12:2], row[1:12:2], strict=True)) for row in x]
    assert all(len(pairs) == 6 for pairs in stored)
    asked = np.zeros(length, bool)
    asked[12::2] = True
    np.testing.assert_array_equal(mask, np.broadcast_to(asked, mask.shape))
    for pairs, keys, values in zip(stored, x[:, asked], y[:, asked], strict=True):
        assert [pairs[key] for key in keys] == values.tolist()
    if length == 24:
        assert (np.sort(x[:, 12::2]) == np.sort(x[:, :12:2])).all()  # every pair is asked once


def test_keys_and_values_are_different_tokens(draw):
    target = Recall(pairs=3, symbols=4)
    x = np.asarray(draw(target, 50, 12).x)
    assert (x[:, ::2] < 4).all()
    assert (x[:, 1::2] >= 4).all()
    assert target.vocabulary == x.max() + 1 == 8


def test_more_pairs_than_keys_are_refused():
    with pytest.raises(InputError, match="pairs <= symbols"):
        Recall(pairs=5, symbols=4)
