import itertools

import jax.numpy as jnp
import numpy as np

from headcount.memory.named import AdaptiveBoolean


def test_all_128_pasts_by_hand():
    pasts = np.array(list(itertools.product((-1.0, 1.0), repeat=7)))
    got = np.asarray(AdaptiveBoolean().evaluate(jnp.asarray(pasts)[:, :, None]))[:, 0, 0]
    for x, y in zip(pasts, got, strict=True):
        first = x[-1 - 2] if x[-1] > 0 else x[-1 - 1]
        second = x[-1 - {(-1, -1): 3, (1, -1): 4, (-1, 1): 5, (1, 1): 6}[int(x[-1]), int(first)]]
        assert y == first * second


def test_profile():
    profile = AdaptiveBoolean().memory_profile()
    # three layers suffice
    assert (profile.nesting, profile.memories, profile.retrievals) == (2, 2, 2)
    assert profile.lags == (1, 2, 3, 4, 5, 6)
    assert AdaptiveBoolean().shortest == 7
