import jax.numpy as jnp
import numpy as np

from headcount.memory.named import Exp2a, Exp2aRepaired


def test_two_neurons_are_exact_on_one_sign(draw):
    target = Exp2a(position=100)
    batch = draw(target, 64, 100)
    sign, y = np.asarray(batch.x)[:, 98, 0], np.asarray(batch.y)[:, 0, 0]
    up, down = y[sign > 0][0], y[sign < 0][0]
    assert up != down
    np.testing.assert_allclose(up * np.maximum(sign, 0) + down * np.maximum(-sign, 0), y, rtol=1e-6)


def test_the_repaired_wave_has_63_breakpoints():
    u = np.linspace(-1, 1, 32 * 16 + 1)
    x = np.stack([u, 0 * u], axis=1)[:, :, None]
    y = np.asarray(Exp2aRepaired().evaluate(jnp.asarray(x)))[:, 0, 0]
    slopes = np.sign(np.diff(y))
    assert (slopes != 0).all()
    assert (np.diff(slopes) != 0).sum() == 63
    assert (y.min(), y.max()) == (-1.0, 1.0)
    assert Exp2aRepaired().memory_profile().lags == (1,)
