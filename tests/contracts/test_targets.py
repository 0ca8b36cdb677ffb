"""What every target promises, run over every entry of the registry. A new target needs one line
in EXAMPLES here or in `memory.named`.
"""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json, content_hash, plain
from headcount.memory import adaptive, essential, fixed  # noqa: F401 — they register the families
from headcount.memory.named import EXAMPLES as NAMED
from headcount.memory.read import At, Everywhere, Last
from headcount.memory.target import Batch, Family, targets

EXAMPLES = {
    "fixed": [
        "fixed:lags=1+3",
        "fixed:lags=3+7+8,readout=teacher(neurons=64,seed=1)",
        "fixed:lags=2+5,readout=parity(current=true),inputs=boolean:3,read=all",
        "fixed:lags=1+4,readout=product,inputs=uniform:2",
        "fixed:lags=2,readout=triangle:4,inputs=uniform,read=at:5",
        "fixed:lags=1+2,readout=lookup,inputs=onehot:3,read=all",
        "fixed:lags=2,readout=lookup(alphabet=-1+0+1),inputs=ternary",
        "fixed:lags=2,inputs=gaussian:2",
        "fixed:lags=3,inputs=ar1(phi=0.9)",
        "fixed:lags=1+3,inputs=markov(symbols=3),readout=lookup",
        "fixed:lags=2,inputs=embedded(symbols=5,d=3),readout=teacher",
    ],
    "adaptive": [
        "adaptive:lag_functions=affine(offset=1,slope=1,T=2,allow_zero=true),inputs=ternary,read=all",
        "adaptive:lag_functions=table(lags=2+5+3),inputs=onehot:3,readout=lookup(current=true)",
        "adaptive:lag_functions=bits(first=1)+bits(first=2)+bits(stride=2),nesting=2,readout=teacher",
        "adaptive:lag_functions=bits+bits+bits,nesting=1,readout=parity,inputs=boolean:2",
        "adaptive:lag_functions=bits+bits(first=3),nesting=0,read=all",
        "adaptive:lag_functions=affine(offset=3,slope=2.5,T=5)+affine(offset=2,slope=-1,T=3),nesting=2,inputs=uniform",
    ],
    "essential": [
        "essential:kernel=power:1.5",
        "essential:kernel=osc:0.05,0.3,read=all",
        "essential:kernel=exp:0.3+lag:4+power:0.5,readout=teacher,inputs=uniform:2,read=all",
        "essential:kernel=mexican-hat(centre=4,scale=2)+morlet(centre=5,scale=2),readout=product,inputs=gaussian",
        "essential:kernel=window(length=5),readout=linear(weights=2+1)",
    ],
    **{name: [text] for name, (text, _) in NAMED.items()},
}
TEXTS = [text for texts in EXAMPLES.values() for text in texts]
FIRST = [EXAMPLES[kind][0] for kind in ("fixed", "adaptive", "essential")]
BATCH = 3
SHORT = (1, 2, 5)


@pytest.fixture(params=TEXTS)
def target(request):
    return targets.build(request.param)


def needed(target) -> int:
    """The shortest length at which the target can be sampled and read."""
    return max(target.shortest, target.read.position if isinstance(target.read, At) else 1)


def comfortable(target) -> int:
    """A few tokens more, so that something follows the read position."""
    return max(needed(target) + 3, 16)


def reads(length):
    return [Last(), At(1), At(length - 2), Everywhere()]


@functools.lru_cache(maxsize=512)
def compiled_sample(target):
    return jax.jit(lambda key: target.sample(key, BATCH, comfortable(target)))


@functools.lru_cache(maxsize=512)
def drawn(target, seed=0) -> Batch:
    return compiled_sample(target)(jax.random.key(seed))


@functools.lru_cache(maxsize=512)
def compiled_answers(target):
    """Every way to read, in one compiled function."""
    return jax.jit(lambda x: [target.evaluate(x, read) for read in reads(x.shape[1])])


def in_float64(target, x):
    """All of them in float64, as the comparison with the reference has compiled them."""
    with jax.enable_x64(True):
        return compiled_answers(target)(np.asarray(x, np.float64) if target.dim else x)


def agree(got, wanted, tolerance):
    scale = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(wanted, np.float64), rtol=0, atol=tolerance * scale
    )


def test_every_entry_has_an_example():
    assert sorted(EXAMPLES) == targets.names()


EAGER = ("fixed", "adaptive", "essential", "recall", "series")  # op by op: slow to compile


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(texts[0], marks=() if kind in EAGER else pytest.mark.slow)
        for kind, texts in EXAMPLES.items()
    ],
)
def test_sample_under_jit_equals_eager(text):
    target = targets.build(text)
    eager = target.sample(jax.random.key(0), BATCH, comfortable(target))
    for a, b in zip(eager, drawn(target), strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        agree(a, b, 1e-6)


def test_sample_has_the_stated_shapes(target):
    batch, length = drawn(target), comfortable(target)
    rows = len(target.read.rows(length))
    assert batch.mask.shape == (BATCH, rows)
    assert batch.mask.dtype == bool
    assert batch.mask.any()
    if target.dim:
        assert batch.x.shape == (BATCH, length, target.dim)
        assert batch.x.dtype == jnp.result_type(float)
    else:
        assert batch.x.shape == (BATCH, length)
        assert np.isin(batch.x, np.arange(target.vocabulary)).all()
    if target.labels:
        assert batch.y.shape == (BATCH, rows)
        assert np.isin(np.asarray(batch.y)[np.asarray(batch.mask)], np.arange(target.outputs)).all()
    else:
        assert batch.y.shape == (BATCH, rows, target.outputs)
        assert batch.y.dtype == jnp.result_type(float)


def test_sample_answers_its_own_sequences(target):
    batch = drawn(target)
    wanted, mask = target.reference(np.asarray(batch.x)), np.asarray(batch.mask)
    agree(np.asarray(batch.y)[mask], wanted[mask], 1e-5)


def test_keys_differ(target):
    assert not np.array_equal(drawn(target, 0).x, drawn(target, 1).x)


@pytest.mark.parametrize(
    ("text", "x64", "tolerance"),
    [
        *((text, True, 1e-12) for text in TEXTS),
        # float32 is also read by the tests below
        *(
            pytest.param(text, False, 1e-5, marks=() if text in FIRST else pytest.mark.slow)
            for text in TEXTS
        ),
    ],
)
def test_evaluate_equals_reference(text, x64, tolerance):
    target = targets.build(text)
    x = drawn(target).x
    with jax.enable_x64(x64):
        x = jnp.asarray(x, jnp.result_type(float)) if target.dim else x
        for read, got in zip(reads(x.shape[1]), compiled_answers(target)(x), strict=True):
            assert target.labels or got.dtype == jnp.result_type(float)
            agree(got, target.reference(np.asarray(x), read), tolerance)


def test_every_length_from_one(target):
    """Lags that do not fit read zeros: no length is an error, and none gives NaN."""
    x = drawn(target).x
    answers = jax.jit(lambda x: [target.evaluate(x[:, :length], Everywhere()) for length in SHORT])(
        x
    )
    for length, got in zip(SHORT, answers, strict=True):
        assert np.isfinite(got).all()
        agree(got, target.reference(np.asarray(x)[:, :length], Everywhere()), 1e-5)


def test_too_short_is_refused(target):
    if target.shortest > 1:
        with pytest.raises(InputError, match=f"at least {target.shortest}"):
            target.sample(jax.random.key(0), BATCH, target.shortest - 1)
    made = jax.eval_shape(lambda: target.sample(jax.random.key(0), BATCH, needed(target)))
    assert made.x.shape[:2] == (BATCH, needed(target))


def test_the_future_changes_nothing(target):
    x = np.asarray(drawn(target).x)
    row = x.shape[1] - 3
    # the label of a corpus is the next token, and nothing beyond it
    later = row + 1 if target.causal else row + 2
    changed = x.copy()
    changed[:, later:] = (
        0.5 - x[:, later:] if target.dim else (x[:, later:] + 1) % target.vocabulary
    )
    assert not np.array_equal(x, changed)
    _, first, middle, everywhere = in_float64(target, x)
    _, first_after, middle_after, everywhere_after = in_float64(target, changed)
    np.testing.assert_array_equal(first_after, first)
    np.testing.assert_array_equal(middle_after, middle)  # the read at `row`
    agree(everywhere_after[:, : row + 1], everywhere[:, : row + 1], 1e-6)


def test_only_lags_of_the_profile_matter(target):
    profile = target.memory_profile()
    assert isinstance(profile.family, Family)
    assert 0 <= profile.nesting <= profile.memories
    if profile.lags is None:
        return
    assert profile.lags == tuple(sorted(set(profile.lags)))
    assert profile.longest_lag < target.shortest or profile.family is Family.ESSENTIAL
    x, other = np.asarray(drawn(target, 0).x), np.asarray(drawn(target, 1).x)
    row = x.shape[1] - 3
    kept = np.isin(row - np.arange(x.shape[1]), (0, *profile.lags))
    changed = np.where(kept[None, :, None] if x.ndim == 3 else kept[None, :], x, other)
    agree(in_float64(target, changed)[2], in_float64(target, x)[2], 1e-6)


def test_spec_round_trip(target):
    again = targets.build(json.loads(canonical_json(target)))
    assert again == target
    assert hash(again) == hash(target)
    assert content_hash(again) == content_hash(target)
    assert plain(target)["kind"] == target.kind


def test_held_out_is_a_target_of_the_same_kind(target):
    other = target.held_out()
    # noise and overlap are for training: testing is clean
    observed = target.of if target.kind in ("noisy", "series") else target
    assert (other.kind, other.dim, other.outputs) == (observed.kind, target.dim, target.outputs)
