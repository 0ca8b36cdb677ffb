"""Theorem 4.1: two layers, exact lags, the promised error, and refusals that say what to use
instead.
"""

import numpy as np
import pytest

from headcount.construct.draft import Unreachable
from headcount.core.claims import Precision
from headcount.model.ffn import Precision as PrecisionFFN
from tests.construct.adaptive_targets import CHAIN, TWO, drafted, refused, worst


@pytest.mark.parametrize(
    ("text", "bias", "heads"), [("prop42", "lin", 3), (TWO, "lin", 6), (TWO, "log", 8)]
)
def test_two_layers_keep_the_promise(text, bias, heads):
    draft = drafted("adaptive", text, bias=bias, heads=heads)
    assert worst(draft, text) <= draft.output.at(Precision.FLOAT64)
    assert draft.output.error < 0.1
    assert len(draft.model.layers) == 2
    assert sum(draft.facts["heads_by_memory"]) <= heads


def test_first_layer_is_idle_and_rounds():
    first = drafted("adaptive", TWO, bias="log", heads=6).model.layers[0]
    assert not np.any(first.attention.w_out)
    assert isinstance(first.ffn, PrecisionFFN)
    assert str(first.ffn.rounding) == "log"


def test_promised_error_is_the_root_of_squares():
    draft = drafted("adaptive", TWO, bias="log", heads=6)
    # Lip of x_1 + x_2 is sqrt 2
    assert draft.output.error == pytest.approx(np.sqrt(2) * np.hypot(*draft.facts["kernel_errors"]))


def test_lag_zero_is_for_lin_heads_alone():
    assert refused("adaptive", "prop42", bias="lin") == []
    assert any("lag 0" in r for r in refused("adaptive", "prop42", bias="log"))


def test_refusals():
    assert any("nested" in r for r in refused("adaptive", CHAIN))
    assert any("docs/errata.md#e17" in r for r in refused("adaptive", TWO, normaliser="softmax"))
    assert any("is no adaptive" in r for r in refused("adaptive", "fixed:lags=2"))
    assert any("log1p" in r for r in refused("adaptive", TWO, bias="log1p"))


def test_weights_that_float32_cannot_add_are_refused():
    with pytest.raises(Unreachable, match="lag 12"):
        drafted("adaptive", "adaptive:lag_functions=bits(first=11)", bias="lin", tol=0.05)
