import mpmath
import numpy as np
import pytest

from headcount.construct.blocks.slots import convolved, kernel_mass, shifted, slot_space, together
from headcount.construct.draft import Bound
from headcount.memory.kernels import Exponential, Power


def test_convolution_is_its_definition_and_keeps_float64():
    x = np.random.default_rng(0).standard_normal((9, 2)).astype(np.float32)
    rho = [0.0, *(float(mpmath.mpf(s) ** -1.5) for s in range(1, 9))]
    wanted = [
        [sum(rho[s] * float(x[t - s, i]) for s in range(t + 1)) for i in range(2)] for t in range(9)
    ]
    assert convolved(x, Power(1.5)) == pytest.approx(np.array(wanted), abs=1e-14)


def test_shift_reads_zero_before_the_first_token():
    x = np.arange(1.0, 5.0)[:, None]
    assert shifted(x, 3)[:, 0].tolist() == [0, 0, 0, 1]
    assert shifted(x, 9)[:, 0].tolist() == [0, 0, 0, 0]


def test_radius_is_the_kernel_mass_over_the_lags_that_exist():
    assert kernel_mass(Exponential(1.0), 3) == pytest.approx(1 + np.exp(-1) + np.exp(-2))


def test_orthogonal_blocks_add_in_squares():
    assert together([Bound(3.0, 0.0), Bound(4.0, 5.0)]) == Bound(5.0, 5.0)


def test_space_has_one_slot_per_memory():
    assert slot_space(2, 3).sizes == {"token": 3, "memory_1": 3, "memory_2": 3}
