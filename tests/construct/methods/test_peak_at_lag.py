"""One peak a memory: exact at any lag, before the start, nested, under every normaliser that can
work.
"""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct.construction import in_precision
from headcount.construct.methods.peak_at_lag import PeakRetrieval
from headcount.core.claims import Precision
from headcount.memory.named import targets
from headcount.memory.read import Last
from tests.construct.adaptive_targets import CHAIN, TWO, drafted, refused, worst


@pytest.mark.parametrize("normaliser", ["none", "softmax-sink"])
@pytest.mark.parametrize("text", ["prop42", TWO, CHAIN, "adaptive-boolean"])
def test_every_position_is_exact(text, normaliser):
    draft = drafted("peak-tmx", text, bias="peak", tol=1e-6, normaliser=normaliser)
    assert worst(draft, text) <= draft.output.error + 1e-12
    assert draft.output.error < 1e-40
    assert not draft.only_longest


def test_plain_softmax_is_exact_only_where_the_token_exists():
    draft = drafted("peak-tmx", "prop42", bias="peak", tol=1e-6, normaliser="softmax")
    assert draft.only_longest
    assert worst(draft, "prop42", 4, Last()) <= 1e-12
    # the first positions look at the first token instead of at nothing
    assert worst(draft, "prop42", 4) >= 0.5


def test_long_lags_in_float32():
    far = "adaptive:lag_functions=table(lags=700+31+5),inputs=onehot:3,readout=lookup(current=true)"
    draft = drafted("peak-tmx", far, bias="peak", tol=1e-5, length=720)
    x = np.eye(3, dtype=np.float32)[np.random.default_rng(0).integers(3, size=(16, 720))]
    answers = in_precision(draft.model, Precision.FLOAT32)(jnp.asarray(x), Last())
    assert answers.dtype == jnp.float32
    assert np.abs(np.asarray(answers) - targets.build(far).reference(x, Last())).max() <= 1e-6


@pytest.mark.parametrize("rate", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("normaliser", ["none", "softmax", "softmax-sink"])
def test_bounds_hold_where_they_are_not_tiny(rate, normaliser):
    """The docstring's bounds at small p, where they can be seen to hold and (within a factor of
    4) to be needed.
    """
    bound, found = PeakRetrieval(rate, normaliser, 1.0).kernel_error, 0.0
    for t in range(12):
        for g in range(12):
            if normaliser == "softmax" and g > t:
                continue
            s = np.arange(t + 1)
            weights = np.exp(-rate * (s - g) ** 2.0)
            sink = math.exp(-rate / 2) if normaliser == "softmax-sink" else 0.0
            if normaliser != "none":
                weights = weights / (weights.sum() + sink)
            found = max(found, float(np.abs(weights - (s == g)).sum()))
    assert found <= bound <= 4 * found


def test_refusals_name_the_reason():
    assert any(
        "must look somewhere" in r
        for r in refused("peak-tmx", "prop42:read=all", bias="peak", normaliser="softmax")
    )
    assert any(
        "docs/errata.md#e8" in r
        for r in refused(
            "peak-tmx",
            "adaptive:lag_functions=affine(offset=3,slope=2,T=5),inputs=uniform",
            bias="peak",
        )
    )
    assert any("each needs its own" in r for r in refused("peak-tmx", TWO, bias="peak", heads=1))
    assert any("is no adaptive" in r for r in refused("peak-tmx", "fixed:lags=3", bias="peak"))
    assert any(
        "softmax-bos" in r
        for r in refused("peak-tmx", "prop42", bias="peak", normaliser="softmax-bos")
    )
