import jax.numpy as jnp
import numpy as np
import pytest

from headcount.memory.named import Exp4a


def test_lags_one_to_999_and_no_other():
    # lags 0, 1 and 999
    impulse = jnp.zeros((3, 1100, 1)).at[np.arange(3), [1099, 1098, 100], 0].set(1.0)
    assert Exp4a().evaluate(impulse)[:, 0, 0].tolist() == pytest.approx([0.0, 1.0, 999**-0.5])
    assert Exp4a().evaluate(jnp.zeros((1, 1100, 1)).at[0, 99, 0].set(1.0)).item() == 0.0  # lag 1000


def test_the_paper_s_length_by_hand(draw):
    batch = draw(Exp4a(), 3, 1000)
    x = np.asarray(batch.x, np.float64)[:, :, 0]
    by_hand = [sum(s**-0.5 * row[1000 - s - 1] for s in range(1, 1000)) for row in x]
    np.testing.assert_allclose(batch.y[:, 0, 0], by_hand, rtol=1e-4, atol=1e-4)


def test_it_says_that_no_theorem_applies():
    assert "outside the assumptions" in Exp4a().memory_profile().note
    assert Exp4a(exponent=2.0).memory_profile().note == ""
    assert Exp4a().memory_profile().longest_lag == 999
