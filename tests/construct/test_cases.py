"""Every case of the table through every stage: reference, float64 model, float32 model, saved
and loaded.
"""

import functools
import runpy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import headcount as hc
from headcount.construct.check import reference
from headcount.construct.construction import in_precision
from headcount.core.claims import Precision
from headcount.memory.read import Everywhere
from headcount.model.reference import forward
from tests.construct.cases import CASES

LENGTH = 24


@functools.cache
def made(index: int) -> hc.Construction:
    target, options = CASES[index]
    return hc.construct(
        target, **{name: value for name, value in options.items() if name != "slow"}
    )


def sequences(construction: hc.Construction) -> np.ndarray:
    """A few sequences that the construction serves."""
    length = (
        construction.request.length
        if construction.draft.only_longest
        else max(LENGTH, construction.target.shortest)
    )
    return np.asarray(construction.target.sample(jax.random.key(7), 3, length).x)


everything = pytest.mark.parametrize(
    "index",
    [
        pytest.param(
            i,
            id=f"{target}-{options['bias']}-{options.get('theorem', '')}-{i}",
            marks=pytest.mark.slow if "slow" in options else (),
        )
        for i, (target, options) in enumerate(CASES)
    ],
)


@everything
def test_promises_are_kept_and_the_budget_names_every_claim(index):
    found = made(index)
    assert found.measured.sup <= found.promised.at(Precision.FLOAT64) + 1e-12
    assert len(found.budget) == len(found.draft.promises) >= 1
    for line in found.budget:
        assert line.measured <= line.promised + 1e-12
    if found.request.tol is not None:
        assert found.float32.sup <= found.request.tol
        assert found.promised.error <= found.request.tol


@everything
def test_independent_forward_pass_agrees_with_the_target(index):
    """The NumPy reference of the model against the NumPy reference of the target: no jax
    anywhere.
    """
    found = made(index)
    x = sequences(found)
    wanted, counted = reference(found.target, x, found.target.read)
    answers = forward(found.draft.model, x, found.target.read)
    assert np.abs(answers - wanted)[counted].max() <= found.promised.at(Precision.FLOAT64) + 1e-12


@everything
def test_float32_model_is_as_good_as_told(index):
    found = made(index)
    x = sequences(found)
    narrow = in_precision(found.draft.model, Precision.FLOAT32)
    fed = jnp.asarray(x, jnp.float32) if found.target.vocabulary is None else jnp.asarray(x)
    answers = np.asarray(jax.jit(lambda z: narrow(z, found.target.read))(fed), np.float64)
    wanted, counted = reference(found.target, x, found.target.read)
    assert (
        np.abs(answers - wanted)[counted].max()
        <= 2 * found.float32.sup + 1e-6 + found.promised.error
    )


SAVED = ("recall", "prop42:read=all", "fixed:lags=1+3", "fixed:lags=4")


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(
            i,
            id=f"{target}-{i}",
            # the parts of models are saved and loaded one by one in tests/contracts/test_models.py
            marks=() if target.startswith(SAVED) and "slow" not in options else pytest.mark.slow,
        )
        for i, (target, options) in enumerate(CASES)
    ],
)
def test_saved_and_loaded_model_gives_the_same_bits(index, tmp_path):
    found = made(index)
    found.save(tmp_path / "model", CASES[index][0])
    wide = found.request.precision is Precision.FLOAT64
    with jax.enable_x64(wide):
        again = hc.load(tmp_path / "model")
        leaves, others = jax.tree.leaves(found.model), jax.tree.leaves(again)
        assert all(
            np.array_equal(np.asarray(a), np.asarray(b))
            for a, b in zip(leaves, others, strict=True)
        )
        assert jax.tree.structure(found.model) == jax.tree.structure(again)
    x = sequences(found)
    plain = runpy.run_path(str(tmp_path / "model" / "run.py"))["answers"](x)
    exact = forward(found.model, x, Everywhere())
    np.testing.assert_allclose(plain, exact, atol=1e-9 * max(1.0, np.abs(exact).max()))
