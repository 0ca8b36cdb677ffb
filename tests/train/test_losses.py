import jax.numpy as jnp
import numpy as np
import optax
import pytest

from headcount.memory.target import Batch
from headcount.train.losses import mean_loss, measured
from headcount.train.run_spec import Loss

RNG = np.random.default_rng(0)
MASK = jnp.array([[True, False, True], [True, True, False]])
X = jnp.zeros((2, 3, 1))


def test_squared_loss_counts_where_the_mask_is():
    answer, y = (jnp.asarray(RNG.standard_normal((2, 3, 2)), jnp.float32) for _ in range(2))
    sums = measured(Loss.SQUARED, answer, Batch(X, y, MASK))
    each = ((np.asarray(answer) - np.asarray(y)) ** 2).mean(-1)
    assert float(sums.loss) == pytest.approx(each[np.asarray(MASK)].sum(), rel=1e-6)
    assert float(sums.reads) == 4
    assert float(mean_loss(Loss.SQUARED, answer, Batch(X, y, MASK))) == pytest.approx(
        each[np.asarray(MASK)].mean(), rel=1e-6
    )


def test_cross_entropy_and_accuracy():
    answer = jnp.asarray(RNG.standard_normal((2, 3, 5)), jnp.float32)
    y = jnp.array([[0, -1, 4], [2, 1, -1]])
    sums = measured(Loss.CROSS_ENTROPY, answer, Batch(X, y, MASK))
    theirs = optax.softmax_cross_entropy_with_integer_labels(answer, jnp.maximum(y, 0))
    assert float(sums.loss) == pytest.approx(float(jnp.where(MASK, theirs, 0).sum()), rel=1e-6)
    assert float(sums.right) == int(
        ((np.asarray(answer).argmax(-1) == np.asarray(y)) & np.asarray(MASK)).sum()
    )


def test_nothing_to_count_is_no_loss():
    batch = Batch(X, jnp.zeros((2, 3, 1)), jnp.zeros((2, 3), bool))
    assert float(mean_loss(Loss.SQUARED, jnp.ones((2, 3, 1)), batch)) == 0.0
