import jax
import jax.numpy as jnp
import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json, content_hash
from headcount.memory.read import At, Last
from headcount.model.spec import ModelSpec


def test_a_spec_reads_text_and_round_trips_through_json():
    import json

    spec = ModelSpec.from_values({"bias": "lin:high=2,spacing=log,low=0.1", "heads": 4})
    again = ModelSpec.from_values(json.loads(canonical_json(spec)))
    assert again == spec
    assert content_hash(again) == content_hash(spec)
    assert content_hash(spec) != content_hash(ModelSpec(heads=4))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"head": 2}, "unknown key 'head' \\(nearest: 'heads'\\)"),
        ({"bias": "lon"}, "unknown bias 'lon'"),
        ({"bias": "lin:hgh=2"}, "nearest: 'high'"),
        ({"heads": 3, "width": 64}, "multiple of the heads"),
        ({"heads": 0}, "heads is 0"),
        ({"readout": "mean"}, "readout"),
        ({"norm": "no-residual", "ffn": "none", "readout": "linear"}, "the answer would be 0"),
        ({"layers": 1.5, "width": "wide"}, "layers is 1.5.*width is 'wide'"),
    ],
)
def test_faults_are_named_all_at_once(values, message):
    with pytest.raises(InputError, match=message):
        ModelSpec.from_values(values)


def test_the_same_key_gives_the_same_weights():
    a, b, c = (ModelSpec(width=4).build(jax.random.key(k), dim=1) for k in (0, 0, 1))
    assert all(
        bool((x == y).all()) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )
    assert not bool((a.embedding.weight == c.embedding.weight).all())


@pytest.mark.parametrize(
    "x",
    [
        jnp.ones((2, 5)),
        jnp.ones((2, 5, 3)),
        jnp.ones((2, 5, 1), jnp.int32),
        jnp.ones((2, 0, 1)),
        jnp.ones((5, 1)),
    ],
    ids=lambda x: f"{x.shape}-{x.dtype}",
)
def test_wrong_tokens_are_refused(x):
    model = ModelSpec(width=4).build(jax.random.key(0), dim=1)
    with pytest.raises(InputError, match="real numbers of shape"):
        model(x, Last())


def test_a_read_beyond_the_end_and_positions_beyond_the_table_are_refused():
    with pytest.raises(InputError, match="read position 9"):
        ModelSpec(width=4).build(jax.random.key(0), dim=1)(jnp.ones((1, 5, 1)), At(9))
    with pytest.raises(InputError, match="learned positions up to 4"):
        ModelSpec(width=4, position="learned:longest=4").build(jax.random.key(0), dim=1)(
            jnp.ones((1, 5, 1)), Last()
        )


def test_one_of_dim_and_vocabulary():
    for wrong in ({}, {"dim": 1, "vocabulary": 3}):
        with pytest.raises(InputError, match="one of the two"):
            ModelSpec().build(jax.random.key(0), **wrong)


def test_a_linear_readout_of_a_stream_as_wide_as_the_answer_still_reads_out():
    model = ModelSpec(heads=1, width=1, attention="dp-free", ffn="none").build(
        jax.random.key(0), dim=1
    )
    assert model.layers[-1].ffn.w_out.shape == (1, 1)
