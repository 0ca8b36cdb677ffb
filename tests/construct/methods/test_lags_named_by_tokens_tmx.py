"""Proposition 4.3: TMX heads, g itself in the stream, nested for free."""

import numpy as np
import pytest

from headcount.core.claims import Precision
from headcount.model.scores import TMX
from tests.construct.adaptive_targets import CHAIN, TWO, drafted, refused, worst


@pytest.mark.parametrize(
    ("text", "bias", "heads"), [("prop42", "lin", 3), (TWO, "log", 8), (CHAIN, "lin", 3)]
)
def test_promise_is_kept(text, bias, heads):
    draft = drafted("tmx", text, bias=bias, heads=heads)
    assert worst(draft, text) <= draft.output.at(Precision.FLOAT64)
    assert draft.output.error < 0.1
    assert isinstance(draft.model.layers[-1].attention.score, TMX)


def test_log_heads_store_the_lag_itself():
    """docs/errata.md#e6: log g in the stream would give -log log g, and nothing at g = 1."""
    draft = drafted("tmx", TWO, bias="log", heads=6)
    assert str(draft.model.layers[0].ffn.rounding) == "lin"
    lag = next(c for c in draft.promises if c.space == "lag_1")
    assert set(lag.exact(np.array([[1.0], [-1.0]])).ravel()) == {1.0, 2.0}


def test_exponentials_stay_in_range():
    draft = drafted("tmx", TWO, bias="lin", heads=6)
    assert draft.model.layers[1].attention.bias.rate.max() * 2 <= 62


def test_refusals():
    assert any("lag 0" in r for r in refused("tmx", "prop42", bias="log"))
    assert any("docs/errata.md#e17" in r for r in refused("tmx", TWO, normaliser="softmax"))
