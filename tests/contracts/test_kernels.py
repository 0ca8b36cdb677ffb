"""What every kernel promises, over the whole registry: float64 values near the exact ones, tails
that bound the rest.
"""

import json

import mpmath
import numpy as np
import pytest

from headcount.core.spec import canonical_json, content_hash
from headcount.memory.kernels import kernels

EXAMPLES = [
    "lag:0",
    "lag:7",
    "exp:0.1",
    "exp:5",
    "power:1.5",
    "power:2.03",
    "power:0.5",
    "osc:0.05,0.3",
    "mexican-hat:centre=20,scale=4",
    "mexican-hat:-3,2.5",
    "morlet:centre=15,scale=6",
    "morlet:10,3,2",
    "window:8",
    "window:length=12,kernel=power:1.5",
    "window:length=5,kernel=exp(0.3)",
    "array:1+-0.5+0.25",
]
LENGTH = 60


@pytest.fixture(scope="module")
def file_kernel(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernel") / "rho.npy"
    np.save(path, np.array([0.5, -0.25, 0.125]))
    return kernels.build(str(path))


@pytest.fixture(params=[*EXAMPLES, "from a file"])
def kernel(request, file_kernel):
    return file_kernel if request.param == "from a file" else kernels.build(request.param)


def exact(kernel, lags):
    with mpmath.workdps(40):
        return [kernel.at(s, mpmath.mp) for s in lags]


def test_every_entry_has_an_example(file_kernel):
    assert {kernels.build(text).kind for text in EXAMPLES} | {file_kernel.kind} == set(
        kernels.names()
    )


def test_values_agree_with_forty_digits(kernel):
    values = kernel.values(LENGTH)
    assert values.shape == (LENGTH,)
    assert values.dtype == np.float64
    wanted = np.array([float(v) for v in exact(kernel, range(LENGTH))])
    np.testing.assert_allclose(values, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("start", [0, 1, 5, 30])
def test_tail_bounds_the_rest(kernel, start):
    rest = float(mpmath.fsum(abs(v) for v in exact(kernel, range(start, start + 400))))
    assert rest <= kernel.tail(start) * (1 + 1e-13)
    assert kernel.tail(start + 1) <= kernel.tail(start)


def test_tail_is_not_absurd(kernel):
    if kernel.summable:
        rest = float(np.abs(kernel.values(20000)).sum())
        assert kernel.tail(0) <= 5 * rest + 1


def test_support_and_zero(kernel):
    if kernel.support is not None:
        assert not kernel.values(kernel.support + 10)[kernel.support :].any()
        assert kernel.tail(kernel.support) == 0
    if kernel.singular_at_zero:
        assert kernel.values(1)[0] == 0 == kernel.at(0, mpmath.mp)


def test_a_longer_window_only_adds(kernel):
    np.testing.assert_array_equal(kernel.values(LENGTH)[:10], kernel.values(10))


def test_spec_round_trip(kernel):
    again = kernels.build(json.loads(canonical_json(kernel)))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert content_hash(again) == content_hash(kernel)
