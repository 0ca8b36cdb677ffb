import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import Algebraic
from headcount.memory.readouts import Linear


def test_impulses_show_the_kernels():
    impulse = jnp.flip(jnp.eye(6), axis=0)[:, :, None]  # row s has its 1 at lag s
    got = np.asarray(
        Algebraic(beta=2, memories=3, readout=Linear((1.0, 10.0, 100.0))).evaluate(impulse)
    )[:, 0, 0]
    by_hand = [0.0] + [s**-2 + 10 * s**-3 + 100 * s**-4 for s in range(1, 6)]
    np.testing.assert_allclose(got, by_hand, rtol=1e-6)


def test_profile_holds_summable_kernels():
    profile = Algebraic().memory_profile()
    assert [kernel.exponent for kernel in profile.kernels] == [3.0, 4.0]
    assert all(kernel.summable for kernel in profile.kernels)
    assert profile.note == ""


def test_refusals():
    with pytest.raises(InputError, match="not summable"):
        Algebraic(beta=1)
    with pytest.raises(InputError, match="at least 1"):
        Algebraic(memories=0)
