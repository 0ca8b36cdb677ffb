import numpy as np
import pytest

from headcount.construct import constructions
from headcount.construct.construction import Architecture
from headcount.construct.draft import Request
from headcount.construct.methods.counting import square
from headcount.core.claims import Precision
from headcount.memory.named import targets
from tests.construct.tokens import drafted, every_sequence, worst


@pytest.mark.parametrize("bias", ["lin", "none"])
def test_every_short_sequence_is_answered_exactly_in_float32(bias):
    """Questions before content, more questions than content, padding between."""
    target, draft = drafted("selective-copy", "selective-copy:items=1,symbols=2", bias, "none", 16)
    assert worst(target, draft, every_sequence(4, 5)) < 1e-25


def test_counts_as_high_as_the_sequence_is_long():
    target, draft = drafted(
        "selective-copy", "selective-copy:items=1,symbols=3", "lin", "none", 400
    )
    content = np.random.default_rng(0).integers(3, size=(2, 200))
    x = np.concatenate([content, np.full((2, 200), target.ask)], axis=1)
    assert worst(target, draft, x) <= draft.output.error


def test_squares_are_exact():
    network = square(50)
    assert network.neurons == 50
    assert np.array_equal(network(np.arange(51.0)[:, None]), np.arange(51.0) ** 2)


def test_what_it_takes():
    _, draft = drafted("selective-copy", "selective-copy:items=2,symbols=2", "lin", "none", 16)
    sizes = Architecture.of(draft.model)
    assert (sizes.layers, sizes.heads_per_layer, sizes.width, sizes.stream) == (2, (2, 1), 33, 13)
    assert draft.facts["width"] == 33


def test_refusals():
    part, target = constructions.build("selective-copy"), targets.build("selective-copy")
    assert (
        len(
            part.refusals(
                target, Request("log", heads=1, width=8, normaliser="softmax", length=5000)
            )
        )
        == 5
    )
    assert (
        part.refusals(target, Request("lin", tol=0.1, precision=Precision.FLOAT64, length=5000))
        == []
    )
    told = [str(r) for r in part.refusals(targets.build("recall"), Request(tol=0.1))]
    assert told == ["recall is no selective copy"]
