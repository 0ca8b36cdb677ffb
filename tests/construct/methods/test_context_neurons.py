import numpy as np
import pytest

from headcount.construct import constructions
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Request
from headcount.construct.methods.context_neurons import ContextNeurons, table_ffn
from headcount.memory.named import targets
from headcount.memory.named.n_gram import NGram, ngram_table
from tests.construct.tokens import drafted, every_sequence, worst


@pytest.mark.parametrize("bias", ContextNeurons.biases)
@pytest.mark.parametrize("normaliser", ContextNeurons.normalisers)
def test_every_short_sequence_is_answered_exactly_in_float32(bias, normaliser):
    target, draft = drafted("n-gram", "n-gram:n=3,symbols=2,seed=3", bias, normaliser, 16)
    assert draft.facts["float32_exact"]
    assert worst(target, draft, every_sequence(2, 5)) < 1e-26


@pytest.mark.parametrize("bias", ContextNeurons.biases)
def test_long_sequences_pay_for_the_transform(bias):
    target, draft = drafted("n-gram", "n-gram:n=2,symbols=3", bias, "none", 128)
    x = np.random.default_rng(0).integers(3, size=(2, 128))
    assert not draft.facts["float32_exact"]
    assert worst(target, draft, x) <= 2.0**-24 * draft.output.amplification


def test_one_neuron_a_context():
    target = NGram(n=2, symbols=3, seed=5)
    ffn = table_ffn(Space(token=3, lag_1=3), target)
    assert ffn.w_in.shape == (9, 6)
    eye, labels = np.eye(3), ngram_table(2, 3, 5)
    for old in range(3):
        for new in range(3):
            found = ffn.w_out @ np.maximum(
                ffn.w_in @ np.concatenate([eye[new], eye[old]]) + ffn.offset, 0
            )
            assert found.tolist() == eye[labels[3 * old + new]].tolist()


def test_no_context_but_the_token():
    target, draft = drafted("n-gram", "n-gram:n=1,symbols=3", "peak", "softmax", 8)
    assert worst(target, draft, every_sequence(3, 3)) == 0.0


def test_refusals():
    part = constructions.build("n-gram")
    assert (
        len(
            part.refusals(
                NGram(n=3, symbols=4), Request("lin", heads=1, width=63, normaliser="softmax-bos")
            )
        )
        == 4
    )
    assert "is no n-gram" in str(part.refusals(targets.build("recall"), Request(tol=0.1))[0])
