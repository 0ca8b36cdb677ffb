"""The two scores draw the same kernel, with and without a sink; what softmax would do is seen,
and refused.
"""

import dataclasses

import numpy as np
import pytest

from headcount.construct.blocks.moved_heads import CANCELLED, tmx_limits
from headcount.construct.draft import Request
from headcount.core.claims import Precision
from headcount.memory.read import Everywhere
from headcount.model.normalisers import Softmax
from headcount.model.reference import forward
from tests.construct.adaptive_targets import TWO, drafted, refused, windows, worst


@pytest.mark.parametrize("name", ["adaptive", "tmx"])
@pytest.mark.parametrize(
    ("text", "bias", "normaliser"),
    [
        pytest.param("prop42", "lin", "none", marks=pytest.mark.slow),
        ("prop42", "lin", "softmax-sink"),
        (TWO, "log", "none"),
        pytest.param(TWO, "log", "softmax-sink", marks=pytest.mark.slow),
    ],
)
def test_both_scores_and_normalisers_keep_the_promise(name, text, bias, normaliser):
    draft = drafted(name, text, bias=bias, heads=3 if bias == "lin" else 6, normaliser=normaliser)
    assert worst(draft, text) <= draft.output.at(Precision.FLOAT64)
    assert draft.output.error < 0.1


def test_sink_changes_next_to_nothing():
    plain, sink = (
        drafted("adaptive", "prop42", bias="lin", heads=3, normaliser=n)
        for n in ("none", "softmax-sink")
    )
    x = windows("prop42", 5)
    apart = np.abs(
        forward(plain.model, x, Everywhere()) - forward(sink.model, x, Everywhere())
    ).max()
    assert 0 < apart <= sink.output.error - plain.output.error + 1e-9
    logits = sink.model.layers[1].attention.normaliser.logit
    # whole numbers, so that float32 subtracts them exactly
    assert np.array_equal(logits, np.round(logits))
    assert max(sink.facts["sink_logits"]) < 60


def test_plain_softmax_cancels_the_lag():
    """docs/errata.md#e17, seen: with the same heads under softmax, the answer no longer depends on
    what x_t asks for.
    """
    draft = drafted("adaptive", "prop42", bias="lin", heads=3)
    first, last = draft.model.layers
    attention = dataclasses.replace(last.attention, normaliser=Softmax())
    model = dataclasses.replace(
        draft.model, layers=(first, dataclasses.replace(last, attention=attention))
    )
    asks_1, asks_2 = (np.array([[[1.0], [-1.0], [0.0], [0.0], [x]]]) for x in (0.0, 1.0))
    rates = last.attention.bias.rate

    def found(x):  # what the heads gather beyond x_t itself: lag 0 differs between the two inputs
        own = (
            np.array([1 / np.exp(-b * np.arange(5)).sum() for b in rates])
            * last.attention.w_value[:, 0, 0]
        )
        return forward(model, x, Everywhere())[0, -1, 0] - own.sum() * x[0, -1, 0]

    assert found(asks_1) == pytest.approx(found(asks_2), rel=1e-6)
    assert any(CANCELLED in r for r in refused("adaptive", "prop42", normaliser="softmax"))


def test_refusals_and_limits():
    assert refused("adaptive", TWO) == refused("adaptive", TWO, normaliser="softmax-sink") == []
    assert "log1p" in refused("adaptive", TWO, bias="log1p")[0]
    assert "softmax-tail" in refused("adaptive", TWO, normaliser="softmax-tail")[0]
    assert tmx_limits(3, Request("lin", heads=3)).steepest * 3 <= 62
    assert tmx_limits(1, Request("log", heads=3)).steepest > 1e3
