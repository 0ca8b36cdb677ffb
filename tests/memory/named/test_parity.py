import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import SparseParity
from headcount.memory.target import targets


def test_product_of_signs_by_hand():
    x = np.array(list(itertools.product((-1.0, 1.0), repeat=5)))
    y = np.asarray(targets.build("parity:lags=1+2+4").evaluate(jnp.asarray(x)[:, :, None]))[:, 0, 0]
    np.testing.assert_allclose(y, x[:, 3] * x[:, 2] * x[:, 0], atol=1e-6)
    # no proper subset correlates with it
    for few in ((0,), (2,), (3,), (0, 2), (0, 3), (2, 3), (1, 4)):
        assert abs(float(y @ x[:, few].prod(axis=1))) < 1e-4


def test_lags_are_checked():
    with pytest.raises(InputError, match="T1 < T2"):
        SparseParity(lags=(3, 3))
    assert SparseParity().shortest == 13
