import numpy as np
import pytest

from headcount.construct.methods.latest_match import BIASES, followers
from tests.construct.tokens import drafted, every_sequence, worst


@pytest.mark.parametrize("bias", BIASES)
def test_every_short_sequence_is_answered_exactly_in_float32(bias):
    target, draft = drafted("induction", "induction:symbols=3", bias, "softmax", 64)
    assert worst(target, draft, every_sequence(3, 5)) < 1e-20


def test_runs_of_one_token_follow_themselves():
    target, draft = drafted("induction", "induction:symbols=2", "lin", "softmax", 64)
    assert worst(target, draft, np.zeros((1, 64), np.int32)) < 1e-20


def test_longest_sequences():
    target, draft = drafted("induction", "induction:symbols=8,read=all", "lin", "softmax", 512)
    x = np.random.default_rng(0).integers(8, size=(2, 512))
    assert worst(target, draft, x) < 1e-20


def test_followers():
    assert followers(np.array([7, 4, 9, 7, 7])).tolist() == [-1, -1, -1, 4, 7]
