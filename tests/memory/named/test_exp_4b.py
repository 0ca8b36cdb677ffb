import jax.numpy as jnp
import numpy as np
import pytest

from headcount.memory.named import Exp4b


def test_lag_zero_is_included():
    x = jnp.array([[[0.0], [0.0], [1.0]], [[0.0], [1.0], [0.0]], [[1.0], [0.0], [0.0]]])
    assert Exp4b().evaluate(x)[:, 0, 0].tolist() == pytest.approx(
        [1.0, np.exp(-5), np.exp(-10)], rel=1e-5
    )


def test_answering_the_current_token_leaves_what_the_docstring_says(draw):
    batch = draw(Exp4b(), 4000, 12)
    left = np.mean((np.asarray(batch.y, np.float64)[:, 0, 0] - np.asarray(batch.x)[:, -1, 0]) ** 2)
    assert left == pytest.approx(4.5e-5, rel=0.02)
