import numpy as np
import pytest

from headcount.construct.methods.pointer_jumps import chain_stages
from tests.construct.tokens import drafted, logits, worst


@pytest.mark.parametrize("hops", [1, 2, 3, 10])
def test_one_jump_per_layer(hops):
    stages = chain_stages(hops)
    assert len(stages) == hops
    assert [max(jumps for *_, jumps in stage.copies()) for stage in stages] == list(
        range(1, hops + 1)
    )


@pytest.mark.parametrize("normaliser", ["softmax", "none"])
def test_it_answers_as_doubling_does(normaliser):
    name = "pointer-chain:hops=4,symbols=3"
    target, chain = drafted("chain", name, "peak", normaliser, 40)
    _, doubling = drafted("doubling", name, "peak", normaliser, 40)
    x = np.random.default_rng(0).integers(3, size=(8, 40))
    assert worst(target, chain, x) == 0.0
    assert len(doubling.model.layers) == 3 < len(chain.model.layers) == 4
    np.testing.assert_array_equal(logits(chain, x), logits(doubling, x))  # lost chains included
