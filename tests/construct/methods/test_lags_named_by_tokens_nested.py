"""Theorem 4.4 and Proposition 4.5: layers, head conditions as checks, the promised error."""

import pytest

from headcount.construct.draft import Unreachable
from headcount.core.claims import Precision
from tests.construct.adaptive_targets import CHAIN, TWO, drafted, refused, worst


@pytest.mark.parametrize("bias", ["lin", "log"])
def test_chain_keeps_the_promise(bias):
    draft = drafted("nested", CHAIN, bias=bias, heads=3 if bias == "lin" else 4)
    assert worst(draft, CHAIN) <= draft.output.at(Precision.FLOAT64)
    assert draft.output.error < 0.1
    assert len(draft.model.layers) == 3
    off = draft.facts["rounding"][1]
    assert 0 < off["off"] < off["allowed"]  # g_2 sees a token that is off, and is mended


def test_head_condition_is_checked_not_assumed():
    """Two lin heads leave lag 2 at error 1 (Theorem A): g_2 would round to anything."""
    with pytest.raises(Unreachable, match="lag function g_2"):
        drafted("nested", CHAIN, bias="lin", heads=2)


def test_tolerance_covers_the_head_conditions():
    """The answer alone would allow an error of 0.9; the second lag does not."""
    draft = drafted("nested", CHAIN, bias="log", tol=1.5)
    rounding = draft.facts["rounding"][1]
    assert rounding["off"] < rounding["allowed"]
    assert draft.facts["kernel_errors"][0] < 0.5
    assert worst(draft, CHAIN) <= draft.output.at(Precision.FLOAT64)


def test_depth_in_place_of_heads():
    wide, deep = (
        drafted(name, TWO, bias="log", heads=n) for name, n in (("adaptive", 8), ("deep", 4))
    )
    assert [len(d.model.layers) for d in (wide, deep)] == [2, 3]
    # the same heads in total (docs/errata.md#e12)
    assert deep.facts["heads_by_memory"] == wide.facts["heads_by_memory"]
    assert deep.output.error == pytest.approx(wide.output.error)
    assert worst(deep, TWO) <= deep.output.at(Precision.FLOAT64)


def test_refusals_point_to_the_cheaper_theorem():
    assert any("Theorem 4.1" in r for r in refused("nested", TWO))
    assert any("use nested" in r for r in refused("deep", CHAIN))
    assert any("use adaptive" in r for r in refused("deep", "prop42"))
    assert any("docs/errata.md#e17" in r for r in refused("nested", CHAIN, normaliser="softmax"))
