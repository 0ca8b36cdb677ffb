"""The model of a head sum has that kernel: its impulse response is the sum of curves, at every position."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct.one_layer import one_layer
from headcount.core.errors import InputError
from headcount.memory.read import Everywhere, Last
from headcount.model.save import load, save
from headcount.theory.families import FAMILIES, Lin
from headcount.theory.problem import HeadSum

RATES, COEFFICIENTS = np.array([1.2, 3.0, np.inf]), np.array([2.0, -1.5, 0.25])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_impulse_response_is_the_sum_of_curves(name, x64):
    family = FAMILIES[name]
    model = one_layer(HeadSum.of(family, RATES, COEFFICIENTS))
    impulse = jnp.zeros((1, 20, 1)).at[0, 0, 0].set(1.0)
    response = model(impulse, Everywhere())[0, :, 0]
    np.testing.assert_allclose(response, family.columns(RATES, np.arange(20.0)) @ COEFFICIENTS, atol=1e-14)


def test_the_residual_takes_care_of_lag_zero(x64):
    model = one_layer(HeadSum.of(Lin(), RATES, COEFFICIENTS), lag_zero=0.7)
    assert float(model(jnp.ones((1, 1, 1)), Last()).item()) == pytest.approx(0.7, abs=1e-15)


def test_it_is_saved_like_any_other_model(tmp_path):
    model = one_layer(HeadSum.of(Lin(), RATES, COEFFICIENTS))
    x = jax.random.normal(jax.random.key(0), (2, 9, 1))
    np.testing.assert_array_equal(load(save(model, tmp_path / "m"))(x, Last()), model(x, Last()))


def test_other_curves_are_refused():
    class Other(Lin):
        name = "other"

    with pytest.raises(InputError, match="a sum of other heads"):
        one_layer(HeadSum.of(Other(), RATES, COEFFICIENTS))
