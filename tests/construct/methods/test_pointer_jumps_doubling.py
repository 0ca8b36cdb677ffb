import math

import numpy as np
import pytest

import headcount as hc
from headcount.construct.construction import Architecture
from headcount.construct.methods.pointer_jumps import doubling_stages
from headcount.core.errors import InputError
from headcount.memory.read import Last
from tests.construct.tokens import drafted, every_sequence, worst


@pytest.mark.parametrize("hops", [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 100, 1000])
def test_the_schedule_takes_log_layers_and_reads_only_what_was_written(hops):
    stages = doubling_stages(hops)
    assert len(stages) == math.ceil(math.log2(hops)) + 1
    known = {"token": 0, "place": 0}
    for stage in stages:
        assert stage.ask == 0 or f"place_{stage.ask}" in known
        assert stage.copies()
        written = {writes: known[reads] + stage.jumps for _, reads, writes, _ in stage.copies()}
        known |= written
    assert known[f"found_{hops}"] == hops


@pytest.mark.parametrize("normaliser", ["softmax", "none"])
@pytest.mark.parametrize("hops", [1, 2, 3, 5])
def test_every_short_sequence_is_answered_exactly_in_float32(hops, normaliser):
    """Padding and chains that leave the sequence included; `worst` sees that nothing overflows
    there.
    """
    target, draft = drafted(
        "doubling", f"pointer-chain:hops={hops},symbols=2", "lin", normaliser, 16
    )
    assert worst(target, draft, every_sequence(2, 7)) == 0.0


def test_long_chains():
    target, draft = drafted("doubling", "pointer-chain:hops=37,symbols=6", "none", "none", 256)
    x = np.random.default_rng(0).integers(6, size=(4, 256))
    assert len(draft.model.layers) == 7
    assert worst(target, draft, x, Last()) == 0.0
    assert draft.output.error < 1e-30


def test_what_it_takes():
    _, draft = drafted("doubling", "pointer-chain:hops=3,symbols=3", "lin", "softmax", 24)
    sizes = Architecture.of(draft.model)
    # token and two finds of 3, place and two pointers of log2 24 < 5 signs, and a constant
    assert (sizes.layers, sizes.heads_per_layer, sizes.width, sizes.stream) == (
        3,
        (1, 1, 1),
        0,
        3 * 3 + 3 * 5 + 1,
    )
    assert draft.facts["stream"] == sizes.stream
    assert draft.facts["jumps_after_layer"] == [1, 2, 3]


def test_what_it_cannot_do_is_said():
    with pytest.raises(InputError, match="recall is no pointer chain"):
        hc.construct("recall", theorem="doubling")
