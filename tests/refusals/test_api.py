"""Bad input from Python: an `InputError` that says what was got, before any work."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import headcount as hc


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hc.fit_kernel(np.ones((2, 2)), heads=1), "valid number"),
        (lambda: hc.fit_kernel(["a"], heads=1), "valid number"),
        (lambda: hc.fit_kernel([1.0, np.nan], heads=1), "a finite number"),
        (lambda: hc.fit_kernel([1e308, 1e308], heads=1), "rescale"),
        (lambda: hc.fit_kernel([1e-300, 0], heads=1), "1e-100 or more; rescale"),
        (lambda: hc.fit_kernel("lag:99999999999999", heads=2), "at most 1048576"),
        (lambda: hc.fit_kernel("lag:3", heads=1.5), "whole number"),
        (lambda: hc.fit_kernel("lag:3", heads=True), "whole number"),
        (
            lambda: hc.fit_kernel("exp:0.1", bias="peak", heads=2, budget=1.0),
            "at most the budget 1",
        ),
        (lambda: hc.ModelSpec(bais="lin"), "unknown key 'bais' \\(nearest: 'bias'\\)"),
        (lambda: hc.Seeds("a"), "root is 'a'"),
        (lambda: hc.targets.build("fixed:lags=3").evaluate([[1.0]]), "make it an array"),
        (lambda: hc.targets.build("fixed:lags=3").evaluate(jnp.ones((2, 9))), "reshape"),
        (lambda: hc.targets.build("fixed:lags=3").evaluate(jnp.ones((2, 9, 3))), "reshape"),
        (
            lambda: hc.targets.build("recall:pairs=2").evaluate(jnp.ones((2, 8))),
            "integers of shape",
        ),
        (lambda: hc.targets.build("fixed:lags=30").sample(jax.random.key(0), 1, 10), "at least 31"),
        (
            lambda: hc.cost(hc.ModelSpec(width=4).build(jax.random.key(0), dim=1), 0, hc.Last()),
            "at least 1",
        ),
        (lambda: hc.targets.build("fixed:lags=3").sample("key", 8, 16), "a JAX key"),
        (lambda: hc.targets.build("fixed:lags=3").sample(jax.random.key(0), 0, 16), "batch 0"),
        (
            lambda: hc.targets.build("fixed:lags=3").sample(jax.random.key(0), 10**9, 10**7),
            "at least 4e\\+07 GB",
        ),
        (lambda: hc.ModelSpec().build("key", dim=1), "key is 'key'; expected an array"),
        (lambda: hc.ModelSpec().build(jax.random.key(0), dim="1"), "dim is '1'"),
        (lambda: hc.ModelSpec().build(jax.random.key(0), vocabulary=0), "at least 1"),
        (lambda: hc.Attention(1, 2, 3, 4, 5), "Attention: score is 1"),
        (lambda: hc.SweepPlan.read(3), "path is 3"),
        (lambda: hc.LocalEngine(10**9), "from 1 to 1024"),
        (lambda: hc.Store("a" * 300), "File name too long"),
        (lambda: hc.status("a\0b"), "null byte"),
        (lambda: hc.Ref(3), "unknown paper 3"),
        (lambda: hc.construct("fixed:lags=1", heads=1), "so few heads"),
        (lambda: hc.diagnose(np.ones(100) * 1j), "something else than real numbers"),
    ],
)
def test_refused(call, words):
    with pytest.raises(hc.InputError, match=words):
        call()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3,1\n1,2\n", "shape"),
        ("", "empty"),
        ("1\nnan\n", "not finite"),
        ("1\nlag\n", "could not convert"),
        ("1\n2,3\n", "cannot read"),
        ("a,b\n1,2,3\n", "3 values under the header a, b"),
    ],
)
def test_kernel_files_that_are_not_one_column_are_refused(tmp_path, text, words):
    path = tmp_path / "k.csv"
    path.write_text(text)
    with pytest.raises(hc.InputError, match=words):
        hc.kernels.build(str(path))


@pytest.mark.parametrize("text", ["1\n0.5\n", "1,0.5\n", "1,0.5,\n", "\ufeff1\r\n0.5\r\n"])
def test_a_row_or_a_column_is_a_kernel(tmp_path, text):
    path = tmp_path / "k.csv"
    path.write_text(text, newline="")
    assert hc.kernels.build(str(path)).values(2).tolist() == [1.0, 0.5]
