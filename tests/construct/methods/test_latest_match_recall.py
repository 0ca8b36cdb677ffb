import numpy as np
import pytest

import headcount as hc
from headcount.construct.construction import Architecture
from headcount.construct.methods.latest_match import BIASES, stored_values
from headcount.core.errors import InputError
from tests.construct.tokens import drafted, every_sequence, worst


@pytest.mark.parametrize("bias", BIASES)
def test_every_short_sequence_is_answered_exactly_in_float32(bias):
    """Keys after keys, values after values, keys stored twice, padding: whatever four tokens can
    do in five places.
    """
    target, draft = drafted("recall", "recall:pairs=1,symbols=2", bias, "softmax", 64)
    assert worst(target, draft, every_sequence(4, 5)) < 1e-20


def test_last_storage_wins():
    target, draft = drafted("recall", "recall:pairs=1,symbols=3", "lin", "softmax", 64)
    x = np.array([[0, 3] * 20 + [0, 4] + [1, 3, 0, 1, 5, 0]])
    assert stored_values(x[0], 3)[-1] == 4
    assert worst(target, draft, x) < 1e-20


def test_what_it_takes():
    _, draft = drafted("recall", "recall:pairs=2,symbols=3", "lin", "softmax", 24)
    sizes = Architecture.of(draft.model)
    assert (sizes.layers, sizes.heads_per_layer, sizes.width, sizes.stream) == (2, (1, 1), 0, 18)
    assert draft.facts["stream"] == 18
    assert draft.facts["float32_exact"]
    assert draft.output.error < 1e-27


def test_what_it_cannot_do_is_said():
    with pytest.raises(InputError, match="depends on its lag"):
        hc.construct("recall", normaliser="none", theorem="recall")
    with pytest.raises(InputError, match="induction is no key-value recall"):
        hc.construct("induction", normaliser="softmax", theorem="recall")
