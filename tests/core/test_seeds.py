import itertools

import jax
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.seeds import SPLITS, Seeds


def _bits(key):
    return tuple(np.asarray(jax.random.key_data(key)).tolist())


def test_streams_and_splits_differ_and_are_reproducible():
    def keys(root):
        seeds = Seeds(root)
        return [
            _bits(k)
            for k in (
                *(seeds.data(s) for s in SPLITS),
                seeds.init(),
                seeds.shuffle(),
                seeds.stream("data", "train", 1),
            )
        ]

    assert keys(3) == keys(3)
    for a, b in itertools.combinations(keys(3) + keys(4), 2):
        assert a != b


@pytest.mark.parametrize("bad", [-1, 2**32])
def test_impossible_seeds_are_refused(bad):
    with pytest.raises(InputError):
        Seeds(bad)


def test_unknown_splits_are_refused():
    with pytest.raises(InputError, match="train, validation, test"):
        Seeds(0).data("tset")
