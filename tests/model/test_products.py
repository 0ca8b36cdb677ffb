import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.model import products
from headcount.model.products import linear


@pytest.fixture(autouse=True, params=["few rows", "many rows"])
def both_ways(request, monkeypatch):
    """As it is for small inputs, and with the backward pass of large ones."""
    if request.param == "many rows":
        monkeypatch.setattr(products, "MANY_ROWS", 0)
        monkeypatch.setattr(products, "WIDEST", 2)


def plain(weight, x):
    return jnp.einsum("...i,oi->...o", x, weight)


@pytest.mark.parametrize(("out", "into"), [(3, 7), (7, 3), (5, 5), (1, 4)])
@pytest.mark.parametrize("lead", [(), (6,), (2, 3, 4)])
def test_linear_and_its_gradients_are_the_matrix_product(out, into, lead, x64):
    weight, x = (
        jax.random.normal(jax.random.key(0), (out, into)),
        jax.random.normal(jax.random.key(1), (*lead, into)),
    )

    @jax.jit
    def both(weight, x):
        y, backward = jax.vjp(linear, weight, x)
        expected, plain_backward = jax.vjp(plain, weight, x)
        return (y, *backward(jnp.cos(y))), (expected, *plain_backward(jnp.cos(y)))

    for a, b in zip(*both(weight, x), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_many_models_at_once(x64):
    weight, x = (
        jax.random.normal(jax.random.key(0), (5, 7, 3)),
        jax.random.normal(jax.random.key(1), (5, 4, 3)),
    )

    def grads(product):
        return jax.vmap(jax.grad(lambda w, x: jnp.sum(jnp.sin(product(w, x))), (0, 1)))(weight, x)

    for a, b in zip(grads(linear), grads(plain), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_small_floats_are_summed_in_float32():
    """600 ones added up in bfloat16 would stop at 256."""
    weight, x = jnp.ones((2, 600), jnp.bfloat16), jnp.ones((600, 600), jnp.bfloat16)
    y, backward = jax.vjp(linear, weight, x)
    dw, dx = backward(jnp.ones_like(y))
    assert y.dtype == dw.dtype == dx.dtype == jnp.bfloat16
    assert float(y[0, 0]) == float(dw[0, 0]) == 600
