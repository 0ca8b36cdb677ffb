import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.seeds import Seeds
from headcount.memory.read import Everywhere, Last
from headcount.train.data import Arrays, Sampler, source_of
from headcount.train.run_plan import plan_of
from headcount.train.run_spec import TrainSpec
from headcount.train.splits import in_batches, splits_of


def rows_of(batch):
    """The sequences that count, by their first token."""
    x, mask = np.asarray(batch.x), np.asarray(batch.mask)
    return x.reshape(-1, *x.shape[-2:])[mask.reshape(-1, mask.shape[-1])[:, 0]][:, 0, 0].tolist()


def arrays(n=23, length=5):
    x = np.arange(n, dtype=float)[:, None, None] + np.zeros((n, length, 1))
    return x, x[:, 0, 0]


def test_arrays_are_split_without_overlap_or_loss():
    source = source_of(arrays(), 0, "float32")
    plan = plan_of(source, TrainSpec(batch=4, data={"validation": 0.3, "test": 0.2}))
    splits = splits_of(plan, Seeds(0))
    parts = [
        np.asarray(splits.train.x)[:, 0, 0].tolist(),
        rows_of(splits.validation),
        rows_of(splits.test),
    ]
    assert [len(part) for part in parts] == [11, 7, 5]
    assert sorted(itertools.chain(*parts)) == list(range(23))
    other = splits_of(plan, Seeds(1))
    assert sorted(rows_of(other.test)) != sorted(rows_of(splits.test))


def test_train_validation_and_test_of_a_target_never_meet():
    source = source_of("fixed:lags=1,inputs=gaussian", 0, "float32")
    plan = plan_of(
        source,
        TrainSpec(
            batch=4, length=6, data={"samples": 20, "validation": 0.25}, evaluation={"batches": 3}
        ),
    )
    splits = splits_of(plan, Seeds(0))
    every = [
        np.asarray(splits.train.x)[:, 0, 0].tolist(),
        rows_of(splits.validation),
        rows_of(splits.test),
    ]
    assert [len(part) for part in every] == [15, 5, 12]
    assert len(set(itertools.chain(*every))) == 32


def test_the_test_split_of_a_corpus_is_its_own():
    source = source_of("stdlib:megabytes=0.2", 0, "float32")
    plan = plan_of(source, TrainSpec(batch=4, length=32, evaluation={"batches": 2}))
    windows = np.asarray(splits_of(plan, Seeds(0)).test.x).reshape(-1, 32)
    held = source.held_out().data.tobytes()
    assert all(bytes(window.astype(np.uint8)) in held for window in windows)


def test_batches_are_filled_up_with_rows_that_do_not_count():
    source = Arrays.of(arrays(10), "float32")
    made = in_batches(source.batch, 4)
    assert made.x.shape == (3, 4, 5, 1)
    assert rows_of(made) == list(range(10))


def test_shapes_that_arrays_may_have():
    real = Arrays.of((np.zeros((6, 5)), np.zeros(6)), "float32")
    assert (real.dim, real.vocabulary, real.outputs, real.labels, real.read) == (
        1,
        None,
        1,
        False,
        Last(),
    )
    labelled = Arrays.of((np.arange(30).reshape(6, 5), np.arange(30).reshape(6, 5) % 4), "float32")
    assert (
        labelled.dim,
        labelled.vocabulary,
        labelled.outputs,
        labelled.labels,
        labelled.read,
    ) == (0, 30, 4, True, Everywhere())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((np.zeros((3, 4, 1)),), "\\(x, y\\)"),
        ((np.zeros(4), np.zeros(4)), "shape \\(4,\\)"),
        ((np.zeros((3, 4, 1)), np.zeros(4)), "as many rows"),
        ((np.zeros((3, 4, 1)), np.zeros((3, 2, 1))), "2 answers for 4 tokens"),
        ((np.full((3, 4, 1), np.nan), np.zeros(3)), "NaN"),
        ((np.zeros((3, 4, 1)), np.zeros((3, 1, 1)), np.ones((3, 2))), "mask"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(data, words):
    with pytest.raises(InputError, match=words):
        Arrays.of(data, "float32")


def test_a_sampler_tells_its_sizes():
    def sample(key, batch, length):
        x = jax.random.normal(key, (batch, length, 3))
        return x, jnp.cumsum(x, axis=1)

    source = Sampler.of(sample, 9)
    assert (source.dim, source.outputs, source.read) == (3, 3, Everywhere())
    assert source.sample(jax.random.key(0), 2, 9).mask.shape == (2, 9)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda key, batch: None, "the sampler fails"),
        (lambda key, batch, length: 3, "\\(x, y\\)"),
        (
            lambda key, batch, length: (jnp.zeros((batch, length), int), jnp.zeros((batch, 1, 1))),
            "integers",
        ),
    ],
)
def test_samplers_that_do_not_fit_are_refused(function, words):
    with pytest.raises(InputError, match=words):
        Sampler.of(function, 8)
