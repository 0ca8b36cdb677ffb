"""What all token targets share: they answer any sequence, mask what has no answer, and repeat
themselves.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import headcount.memory.named  # noqa: F401 — registers the targets
from headcount.core.shapes import PAD_TOKEN
from headcount.memory.named.base import UNDEFINED, latest_equal, pick, without_repeats
from headcount.memory.read import At, Everywhere
from headcount.memory.target import targets

TOKEN_TARGETS = (
    "n-gram:n=2,symbols=3",
    "n-gram:n=1,symbols=2",
    "pointer-chain:hops=2,symbols=3",
    "pointer-chain:hops=1,symbols=2",
    "recall:pairs=2,symbols=3",
    "noisy-recall:pairs=2,symbols=3,noise=2",
    "fuzzy-recall:pairs=2,symbols=2",
    "induction:symbols=3",
    "selective-copy:items=2,symbols=2",
)


@pytest.mark.parametrize("length", [1, 2, 11])
@pytest.mark.parametrize("text", TOKEN_TARGETS)
def test_any_sequence_even_padded_has_the_reference_answer(text, length):
    target = targets.build(text)
    x = np.random.default_rng(0).integers(PAD_TOKEN, target.vocabulary, size=(300, length))
    reads = (Everywhere(), At(length))
    answers = jax.jit(lambda x: [target.evaluate(x, read) for read in reads])(x)
    for read, fast in zip(reads, map(np.asarray, answers), strict=True):
        np.testing.assert_array_equal(fast, target.reference(x, read))
        assert ((fast >= UNDEFINED) & (fast < target.outputs)).all()


@pytest.mark.parametrize("text", TOKEN_TARGETS)
def test_samples_mask_exactly_the_unanswered_reads(text, draw):
    target = targets.build(text)
    batch = draw(target, 5, 14)
    assert batch.x.shape == (5, 14)
    assert batch.x.dtype == batch.y.dtype == jnp.int32
    assert bool(((batch.x >= 0) & (batch.x < target.vocabulary)).all())
    np.testing.assert_array_equal(batch.mask, batch.y != UNDEFINED)
    assert batch.mask.any(axis=1).all()
    again = draw(target, 5, 14)
    np.testing.assert_array_equal(batch.x, again.x)
    assert (draw(target, 5, 14, seed=1).x != batch.x).any()


@pytest.mark.parametrize("text", TOKEN_TARGETS)
def test_the_shortest_length_works_and_one_less_is_refused(text, draw):
    target = targets.build(text)
    assert draw(target, 2, target.shortest).mask.any(axis=1).all()
    with pytest.raises(ValueError, match="at least"):
        draw(target, 2, target.shortest - 1)


def test_pick_and_latest_equal_by_hand():
    x = jnp.array([[5, 6, 5, 5]])
    assert pick(x, jnp.array([[1, -1]])).tolist() == [[6, UNDEFINED]]
    assert latest_equal(x, np.arange(4), jnp.ones((1, 4), bool)).tolist() == [[-1, -1, 0, 2]]
    assert latest_equal(x, np.array([3]), jnp.array([[True, True, False, True]])).tolist() == [[0]]


def test_drawing_without_repeats_repeats_nothing():
    drawn = np.asarray(without_repeats(jax.random.key(0), 50, 4, 5))
    assert all(len(set(row)) == 4 for row in drawn.tolist())
    assert set(drawn.ravel().tolist()) == {0, 1, 2, 3, 4}
