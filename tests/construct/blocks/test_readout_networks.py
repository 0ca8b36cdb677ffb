import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct.blocks.readout_networks import (
    domain_of,
    lag_network,
    readout_for,
    readout_refusals,
)
from headcount.construct.draft import Request
from headcount.core.claims import Status
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Boolean, Gaussian, OneHot, Ternary, Uniform
from headcount.memory.lag_functions import Bits, Table, combinations
from headcount.memory.readouts import (
    CallableReadout,
    Linear,
    Lookup,
    Parity,
    Product,
    Teacher,
    Triangle,
)
from tests.construct.drafted import drafted, largest_error, promised, signs


def exactly(fit, readout, points, d):
    wanted = np.array([readout.reference(z.reshape(-1, d)) for z in points])  # [N, o]
    return np.abs(np.stack([net(points) for net in fit.networks], 1) - wanted).max()


def wild(z):
    """A function nobody knows a network for."""
    return jnp.stack([jnp.sin(5 * z.sum((-1, -2))), z[..., 1, 0] * z[..., 0, 0]], -1)


ANY = CallableReadout(wild, size=2)


@pytest.mark.parametrize(
    "readout",
    [Linear(), Parity(), Teacher(16), Product(), Lookup(((-1.0,), (1.0,))), ANY],
    ids=lambda r: r.kind,
)
def test_exact_on_letters_and_missing_tokens(readout):
    fit = readout_for(readout, 3, Boolean(), Request(tol=0.1))
    points = domain_of(3, Boolean(), None).points
    assert len(points) == 27
    assert fit.error == 0
    assert fit.status is Status.PROVED
    assert exactly(fit, readout, points, 1) <= 1e-9


def test_one_hot_tokens():
    readout = CallableReadout(
        lambda z: jnp.cos((z * jnp.arange(1.0, 4.0)).sum((-1, -2)))[..., None]
    )
    fit = readout_for(readout, 2, OneHot(3), Request(tol=0.1))
    assert fit.error == 0
    assert exactly(fit, readout, domain_of(2, OneHot(3), None).points, 3) <= 1e-9


def test_width_decides():
    """The teacher's 64 neurons; a table of 9 points needs fewer; less than that is approximate,
    with its error.
    """
    exact = readout_for(Teacher(64), 2, Boolean(), Request(tol=0.1))
    table = readout_for(Teacher(64), 2, Boolean(), Request(tol=0.1, width=20))
    rough = readout_for(Teacher(64), 2, Boolean(), Request(tol=0.1, width=2))
    assert (exact.error, table.error) == (0, 0)
    assert table.neurons <= 20
    assert rough.error > 0.01
    assert rough.neurons <= 2
    points = domain_of(2, Boolean(), None).points
    assert exactly(rough, Teacher(64), points, 1) == pytest.approx(rough.error)


def test_filtered_slots_have_no_letters():
    assert domain_of(2, Boolean(), 3.0).points is None
    assert domain_of(2, Boolean(), 3.0).radius == 3.0
    assert readout_for(Linear(), 2, Boolean(), Request(tol=0.1), 3.0).error == 0
    assert "not letters" in str(readout_refusals(Lookup(((-1.0,), (1.0,))), 2, Boolean(), 3.0)[0])


@pytest.mark.parametrize(("slots", "d", "radius"), [(3, 1, 1.0), (4, 2, 1.0), (3, 1, 2.0)])
def test_products_of_reals_by_polarisation(slots, d, radius):
    fit = readout_for(Product(), slots, Uniform(d), Request(tol=0.2), radius)
    z = np.random.default_rng(0).standard_normal((3000, slots, d))
    z *= (
        radius
        / np.linalg.norm(z, axis=2, keepdims=True)
        * np.random.default_rng(1).uniform(0, 1, (3000, slots, 1))
    )
    off = exactly(fit, Product(), z.reshape(3000, -1), d)
    assert off <= fit.error <= 0.1
    assert fit.status is Status.PROVED
    assert fit.error < 60 * off  # the bound is not idle


def test_one_factor_is_linear():
    assert readout_for(Product(), 2, Uniform(), Request(tol=0.1)).error == 0


def test_functions_of_reals_are_fitted_until_half_the_tolerance():
    readout = CallableReadout(lambda z: jnp.sin(2 * z[..., 1, 0])[..., None], lipschitz_bound=2.0)
    fit = readout_for(readout, 2, Uniform(), Request(tol=0.3))
    assert fit.status is Status.PROVED
    assert fit.error <= 0.15
    x = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    assert exactly(fit, readout, x, 1) <= fit.error


def test_refusals():
    assert "unbounded" in str(readout_refusals(Product(), 3, Gaussian())[0])
    assert readout_refusals(Linear(), 3, Gaussian()) == []
    assert "2^7" in str(readout_refusals(Product(), 9, Uniform())[0])
    assert readout_refusals(Triangle(), 2, Uniform()) == []


def test_a_narrow_readout_in_a_model():
    """E_FFN is in the promise: width 4 where the teacher has 16 neurons."""
    target, draft = drafted(
        "shaped", FixedMemory((1, 2), Teacher(16)), bias="peak", heads=2, width=4, length=8
    )
    error = largest_error(target, draft, signs(4, 8))
    assert 0 < error <= promised(draft)
    assert draft.model.layers[0].ffn.w_in.shape[0] <= 4


@pytest.mark.parametrize("log", [False, True])
def test_lag_functions_as_neurons(log):
    alphabet = ((-1.0,), (0.0,), (1.0,))
    g = Table((3, 1, 7), alphabet)
    fit = lag_network(g, 1, alphabet, log=log)
    points = combinations(alphabet, 1).reshape(-1, 1)
    wanted = np.array([3.0, 1.0, 7.0])
    assert fit.error == 0
    assert fit.networks[0](points) == pytest.approx(np.log(wanted) if log else wanted)
    narrow = lag_network(Bits(), 3, ((-1.0,), (1.0,)), width=2, log=log)
    assert narrow.neurons <= 2
    assert narrow.error > 0


def test_lag_functions_without_a_network():
    alphabet = Ternary().alphabet
    assert lag_network(Table((0, 1, 2), alphabet, allow_zero=True), 1, alphabet, log=True) is None
    assert lag_network(Bits(), 20, ((-1.0,), (1.0,))) is None
