"""Stages and layers as Theorem 4.4 counts them, and the definition's own walk."""

import numpy as np
import pytest

from headcount.construct.blocks.retrieval import by_definition, one_by_one, stages
from headcount.memory.named import targets, unnamed
from headcount.memory.read import Everywhere
from tests.construct.adaptive_targets import CHAIN, drafted, refused, windows


@pytest.mark.parametrize(
    ("K", "M", "expected"),
    [
        (0, 1, ((1,),)),
        (0, 3, ((1, 2, 3),)),
        (1, 3, ((1,), (2, 3))),
        (2, 3, ((1,), (2,), (3,))),
        (3, 3, ((1,), (2,), (3,))),
    ],
)
def test_stages(K, M, expected):
    target = targets.build(f"adaptive:lag_functions={'+'.join(['bits'] * M)},nesting={K}")
    assert stages(target) == expected
    assert len(stages(target)) == target.memory_profile().retrievals
    assert one_by_one(target) == tuple((i,) for i in range(1, M + 1))


@pytest.mark.parametrize("name", ["adaptive", "nested", "deep", "prop42"])
def test_another_memory_is_refused_by_its_name(name):
    assert refused(name, "exp-1b") == ["exp-1b is no adaptive memory"]


@pytest.mark.parametrize("text", ["prop42", "adaptive-boolean", CHAIN])
def test_walk_agrees_with_the_target(text):
    target = unnamed(targets.build(text))
    found = by_definition(target)
    for x in windows(text, 6)[:20]:
        lags, slots = found(x)
        answers = np.array([target.readout.reference(row) for row in slots])
        assert np.array_equal(answers, target.reference(x[None], Everywhere())[0])
        assert lags.min() >= 0


def test_every_subspace_written_is_claimed():
    draft = drafted("peak-tmx", "adaptive-boolean", bias="peak", tol=1e-3)
    assert {(c.layer, c.part, c.space) for c in draft.promises} == {
        (1, "ffn", "lag_1"),
        (2, "ffn", "lag_2"),
        (2, "attention", "memory_1"),
        (3, "attention", "memory_2"),
    }
    assert len(draft.model.layers) == 3
    assert [r["lag_function"] for r in draft.facts["rounding"]] == [1, 2]
    assert all(r["off"] < r["allowed"] for r in draft.facts["rounding"])


def test_notes_of_the_readout_come_once():
    """A readout narrower than its exact network says so, also behind retrieved memories."""
    text = "adaptive:lag_functions=bits+bits,readout=teacher(neurons=64)"
    draft = drafted("peak-tmx", text, bias="peak", tol=5.0, width=9)
    assert sum("sampling promises" in note for note in draft.notes) == 1
