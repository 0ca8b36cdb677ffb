"""The check refuses what misses its promise, and says where."""

import dataclasses

import equinox as eqx
import numpy as np
import pytest

from headcount.construct import check as checks
from headcount.construct.check import check, probes, sampled
from headcount.construct.draft import Bound, Request
from headcount.construct.methods.sums_of_decays import FixedBySum
from headcount.core.errors import CheckFailed
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Uniform

TARGET = FixedMemory(lags=(1, 2))
REQUEST = Request("log", tol=0.1, length=16)


@pytest.fixture(scope="module")
def draft():
    return FixedBySum().draft(TARGET, REQUEST)


def test_a_sound_draft_passes(draft):
    measured, narrow, budget = check(TARGET, REQUEST, draft)
    assert measured.sup <= draft.output.error + 1e-9
    assert narrow.sup <= 0.1
    assert [line.space for line in budget] == ["memory_1", "memory_2"]


def test_a_spoilt_head_is_found_at_its_layer(draft):
    attention = draft.model.layers[0].attention
    w_value = attention.w_value.copy()
    w_value[-1] *= 1.5
    spoilt = eqx.tree_at(lambda m: m.layers[0].attention.w_value, draft.model, w_value)
    with pytest.raises(
        CheckFailed, match=r"layer 1 \(attention\) writes memory_2.*nothing was written"
    ):
        check(TARGET, REQUEST, dataclasses.replace(draft, model=spoilt))


def test_a_spoilt_readout_is_found_though_every_promise_holds(draft):
    w_out = draft.model.layers[0].ffn.w_out * 1.5
    spoilt = eqx.tree_at(lambda m: m.layers[0].ffn.w_out, draft.model, w_out)
    with pytest.raises(CheckFailed, match="at fault: the readout"):
        check(TARGET, REQUEST, dataclasses.replace(draft, model=spoilt))


def test_a_promise_that_is_too_good_fails(draft):
    with pytest.raises(CheckFailed, match="exceeds the promised"):
        check(TARGET, REQUEST, dataclasses.replace(draft, output=Bound(draft.output.error / 1e6)))


def test_weights_that_are_no_numbers_fail(draft):
    spoilt = eqx.tree_at(
        lambda m: m.layers[0].ffn.w_out, draft.model, draft.model.layers[0].ffn.w_out * np.nan
    )
    with pytest.raises(CheckFailed, match="inf exceeds"):
        check(TARGET, REQUEST, dataclasses.replace(draft, model=spoilt))


def test_adversarial_inputs_find_the_worst_sign_pattern(draft):
    """For a kernel error e(s) the worst sequence of signs costs sum|e|: the promise of memory_2 is
    met exactly, not just respected.
    """
    _, _, budget = check(TARGET, REQUEST, draft)
    assert budget[1].measured == pytest.approx(budget[1].promised, rel=0.02)


def test_the_adversary_finds_the_worst_direction_of_a_ball():
    """Tokens of two coordinates, of which the readout takes the mean: no axis is worst."""
    target = FixedMemory(lags=(2,), inputs=Uniform(d=2))
    made = FixedBySum().draft(target, REQUEST)
    measured, _, budget = check(target, REQUEST, made)
    assert measured.sup == pytest.approx(budget[0].promised, rel=0.02)
    assert measured.sup <= made.output.error + 1e-9


def test_probes_cover_short_long_extreme_and_every_position(draft):
    found = probes(TARGET, sampled(TARGET, REQUEST), draft.model, only_longest=False)
    assert {p.x.shape[1] for p in found} == {3, 16}
    kinds = ", ".join(p.kind for p in found)
    for word in ("random", "shortest", "every position", "extreme", "adversarial"):
        assert word in kinds


def test_a_blink_attacks_from_few_sequences_but_compares_promises_on_all(draft, monkeypatch):
    drawn = sampled(TARGET, REQUEST)
    few = drawn.spread(3)
    assert len(few.x) == 3 < len(drawn.x)
    np.testing.assert_array_equal(few.x[[0, -1]], drawn.x[[0, -1]])  # of every kind
    assert drawn.spread(1000) is drawn
    whole = check(TARGET, REQUEST, draft)[0]
    assert check(TARGET, REQUEST, draft, drawn, blink=True)[0] == whole  # no pairs are compared
    monkeypatch.setattr(checks, "_pairs", lambda model, probe: checks.MANY_PAIRS * len(probe.x))
    brief = check(TARGET, REQUEST, draft, drawn, blink=True)[0]
    assert whole.inputs - brief.inputs == checks.BATCH - 2  # two starts instead of eight
    w_value = draft.model.layers[0].attention.w_value * 1.5
    spoilt = eqx.tree_at(lambda m: m.layers[0].attention.w_value, draft.model, w_value)
    with pytest.raises(CheckFailed, match="layer 1"):
        check(TARGET, REQUEST, dataclasses.replace(draft, model=spoilt), drawn, blink=True)
