import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import WaveletFeatures
from headcount.memory.readouts import Linear


@pytest.mark.parametrize(
    ("wavelet", "psi"),
    [
        ("mexican-hat", lambda u: (1 - u * u) * np.exp(-u * u / 2)),
        ("morlet", lambda u: np.cos(5 * u) * np.exp(-u * u / 2)),
    ],
)
def test_impulses_show_the_wavelet(wavelet, psi):
    length = 40
    impulse = jnp.flip(jnp.eye(length), axis=0)[:, :, None]  # row s has its 1 at lag s
    target = WaveletFeatures(wavelet=wavelet, scales=2, readout=Linear((1.0, 100.0)))
    s = np.arange(length)
    np.testing.assert_allclose(
        np.asarray(target.evaluate(impulse))[:, 0, 0],
        psi(s - 4.0) + 100 * psi((s - 8.0) / 2),
        atol=1e-4,
    )


def test_both_have_twice_the_kernels_and_lag_zero_is_nearly_nothing():
    kernels = WaveletFeatures(wavelet="both", scales=3).memory_profile().kernels
    assert [kernel.kind for kernel in kernels] == ["mexican-hat"] * 3 + ["morlet"] * 3
    at_zero = [abs(kernel.values(1)[0]) for kernel in kernels]
    assert max(at_zero[:3]) < 0.0051
    assert max(at_zero[3:]) < 0.0002


def test_refusals():
    with pytest.raises(InputError, match="scales"):
        WaveletFeatures(scales=0)
