"""Fixed, adaptive and essential memories: their definitions by hand, their profiles, their
refusals.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.essential import DENSE_SIZE, EssentialMemory, filtered
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Boolean, Gaussian, OneHot, Ternary, Uniform
from headcount.memory.kernels import Exponential, Lag, Power, Window
from headcount.memory.lag_functions import Affine, Bits, CallableLag, Table
from headcount.memory.read import At, Everywhere
from headcount.memory.readouts import CallableReadout, Linear, Product
from headcount.memory.target import Family, targets


def sequence(*values):
    return jnp.array(values, float)[None, :, None]


@pytest.mark.parametrize("nesting", [0, 1, 2, 3])
def test_arguments_follow_equation_8(nesting):
    """Each g sees x_t, x_{t-t1}, … up to min(i-1, K) retrieved tokens; here the lag counts them."""
    seen = CallableLag(lambda tokens: jnp.full(tokens.shape[:-2], tokens.shape[-2]), T=4, slow=len)
    target = AdaptiveMemory(
        (seen, seen, seen), nesting, readout=Linear((1.0, 10.0, 100.0)), inputs=Uniform()
    )
    x = sequence(1, 2, 3, 4, 5, 6)
    lags = [min(i, nesting + 1) for i in (1, 2, 3)]
    wanted = sum(10**i * (6 - lag) for i, lag in enumerate(lags))
    assert target.evaluate(x).item() == wanted == target.reference(np.asarray(x)).item()


def test_nested_lags_count_from_the_read_position():
    # t = 5: x_t = 1 → t_1 = 2 (x_3 = -1); bits (1, 0) → t_2 = 2: not 2 + 2.
    target = AdaptiveMemory((Bits(), Bits()), nesting=1, readout=Linear((1.0, 10.0)))
    x = sequence(1, 1, -1, 1, 1)
    assert target.evaluate(x).item() == -1 - 10


def test_missing_tokens_read_zero_in_later_lag_functions():
    # t = 1: x_{t-2} is missing, so its bit is 0 and t_2 = 1 + 1.
    target = AdaptiveMemory(
        (Bits(), Bits()), nesting=1, readout=CallableReadout(lambda z: z[..., 1:, 0], size=2)
    )
    x = sequence(1, 1, 1, -1)
    np.testing.assert_array_equal(
        target.evaluate(x, Everywhere()), target.reference(np.asarray(x), Everywhere())
    )
    assert target.evaluate(x, At(1)).tolist() == [[[0.0, 0.0]]]


def test_adaptive_profile():
    target = AdaptiveMemory((Table(lags=(2, 7)), Table(lags=(3, 5))), nesting=1, inputs=OneHot(2))
    profile = target.memory_profile()
    assert (profile.family, profile.memories, profile.nesting) == (Family.ADAPTIVE, 2, 1)
    assert profile.lags == (2, 3, 5, 7)
    assert (profile.retrievals, target.shortest) == (2, 8)
    assert AdaptiveMemory(Bits(), nesting=0).memory_profile().retrievals == 1
    assert AdaptiveMemory((Bits(), Bits()), nesting=2).memory_profile().retrievals == 2
    assert profile.note == ""
    assert (
        "no finite separated set" in AdaptiveMemory(Bits(), inputs=Gaussian()).memory_profile().note
    )


def test_lag_bounds():
    (bound,) = AdaptiveMemory(Affine(offset=2, slope=1, T=3), inputs=Ternary()).lag_bounds()
    assert (bound.arguments, bound.largest, bound.separation) == (1, 3, 1.0)
    assert bound.barron >= 3  # |g| <= ||g||_B on [-1, 1]
    assert bound.log_barron >= np.log(3)
    (zero,) = AdaptiveMemory(
        Affine(offset=1, slope=1, T=2, allow_zero=True), inputs=Ternary()
    ).lag_bounds()
    assert zero.log_barron is None
    (open_set,) = AdaptiveMemory(Bits(), inputs=Uniform()).lag_bounds()
    assert (open_set.barron, open_set.separation) == (None, None)


def test_lag_zero_is_the_current_token():
    target = AdaptiveMemory(Affine(offset=1, slope=1, T=2, allow_zero=True), inputs=Ternary())
    assert target.evaluate(sequence(1, 0, 1, -1)).item() == -1
    assert target.memory_profile().lags == (1, 2)


@pytest.mark.parametrize("length", [255, 300, 513])
def test_fft_equals_the_matrix_product(length):
    assert (length * length > DENSE_SIZE) == (length > 256)
    kernels = (Power(1.5), Exponential(0.01), Lag(17))
    with jax.enable_x64(True):
        x = jax.random.normal(jax.random.key(0), (2, length, 2), jnp.float64)
        values = np.stack([kernel.values(length) for kernel in kernels])
        got = filtered(x, values, np.arange(length))
        lag = np.arange(length)[:, None] - np.arange(length)
        dense = np.where(lag >= 0, values[:, np.maximum(lag, 0)], 0)  # [M, N, N]
        np.testing.assert_allclose(got, np.einsum("mts,bsd->btmd", dense, x), rtol=0, atol=1e-12)
        one = filtered(x, values, np.array([length - 1]))
        np.testing.assert_allclose(one, got[:, -1:], rtol=0, atol=1e-12)


def test_fft_in_float32_is_accurate():
    x = jax.random.normal(jax.random.key(1), (2, 2000, 1))
    values = Power(0.5).values(2000)[None]
    got = filtered(x, values, np.arange(2000))[:, :, 0, 0]
    wanted = np.array(
        [np.convolve(values[0], row)[:2000] for row in np.asarray(x, np.float64)[:, :, 0]]
    )
    assert np.abs(got - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_essential_from_text_and_profile():
    target = targets.build("essential:kernel=power:1.5")
    assert target == EssentialMemory(kernel=Power(1.5)) == EssentialMemory(kernel=(Power(1.5),))
    profile = target.memory_profile()
    assert (profile.family, profile.kernels, profile.lags, profile.note) == (
        Family.ESSENTIAL,
        (Power(1.5),),
        None,
        "",
    )
    assert (profile.lipschitz, profile.barron) == (1.0, 2.0)
    assert EssentialMemory((Window(5), Lag(7))).memory_profile().lags == tuple(range(1, 8))


def test_essential_bounds_need_summable_kernels_of_norm_one():
    heavy = EssentialMemory(Power(0.5), readout=Product())
    assert "not summable" in heavy.memory_profile().note
    assert heavy.memory_profile().lipschitz is None
    assert EssentialMemory(
        (Lag(2), Lag(3)), readout=Product()
    ).memory_profile().lipschitz == pytest.approx(np.sqrt(2))
    assert (
        EssentialMemory((Window(2), Lag(3)), readout=Product()).memory_profile().lipschitz is None
    )


def test_a_fixed_memory_is_an_essential_one_and_an_adaptive_one():
    x = jax.random.normal(jax.random.key(0), (2, 20, 1))
    fixed = FixedMemory((2, 5), readout=Product()).evaluate(x, Everywhere())
    essential = EssentialMemory((Lag(2), Lag(5)), readout=Product()).evaluate(x, Everywhere())
    constant = (Affine(offset=2, slope=0, T=2), Affine(offset=5, slope=0, T=5))
    adaptive = AdaptiveMemory(constant, readout=Product()).evaluate(x, Everywhere())
    np.testing.assert_allclose(essential, fixed, atol=1e-6)
    np.testing.assert_array_equal(adaptive, fixed)


def test_fixed_profile():
    profile = FixedMemory((3, 17)).memory_profile()
    assert (
        profile.family,
        profile.memories,
        profile.lags,
        profile.longest_lag,
        profile.retrievals,
    ) == (Family.FIXED, 2, (3, 17), 17, 1)
    assert (
        FixedMemory((3,), readout=Product(), inputs=Gaussian()).memory_profile().lipschitz is None
    )


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: FixedMemory(()), "1 <= T1"),
        (lambda: FixedMemory((0, 3)), "1 <= T1"),
        (lambda: FixedMemory((5, 3)), "sort them"),
        (lambda: FixedMemory((3, 3)), "1 <= T1"),
        (lambda: FixedMemory((1, 2), readout=Linear((1.0,) * 5)), "2 or 3"),
        (lambda: FixedMemory((5,)).sample(jax.random.key(0), 1, 5), "at least 6"),
        (lambda: FixedMemory((5,)).evaluate(jnp.ones((1, 3, 1)), At(4)), "at most 3"),
        (lambda: At(0), "count from 1"),
        (lambda: AdaptiveMemory(()), "at least one"),
        (lambda: AdaptiveMemory((Bits(),), nesting=2), "from 0 to 1"),
        (lambda: AdaptiveMemory((Bits(),), nesting=-1), "from 0 to 1"),
        (lambda: AdaptiveMemory(Table(lags=(1, 2)), inputs=Boolean()), "size 2"),
        (lambda: AdaptiveMemory(Bits(first=9)).sample(jax.random.key(0), 1, 10), "at least 11"),
        (lambda: EssentialMemory(()), "at least one"),
        (lambda: EssentialMemory(Power(1.5), readout=Linear((1.0,) * 4)), "1 or 2"),
        (lambda: targets.build("essential:kernel=powr:1.5"), "nearest: 'power'"),
        (lambda: targets.build("essential:kernels=power:1.5"), "nearest: 'kernel'"),
        (lambda: targets.build("fixed:lags=3+x"), "lags"),
        (lambda: targets.build("adaptive:lag_functions=tabel(lags=1)"), "nearest: 'table'"),
    ],
)
def test_refusals(action, words):
    with pytest.raises(InputError, match=words):
        action()
