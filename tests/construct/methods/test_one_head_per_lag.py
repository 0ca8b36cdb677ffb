import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct.blocks.drawn_heads import sink_logit
from headcount.construct.blocks.peak_table_rope import kernel_heads, lag_error, lag_head
from headcount.construct.blocks.slots import shifted
from headcount.construct.construction import in_precision
from headcount.construct.draft import Request, Unreachable
from headcount.construct.methods.one_head_per_lag import normaliser_reasons
from headcount.core.claims import Precision
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Exponential, MexicanHat, Oscillating, Power
from headcount.memory.read import At, Everywhere, Last
from tests.construct.drafted import drafted, largest_error, promised, refused, signs

EVERYWHERE = ("none", "softmax-tail", "softmax-sink", "softmax-bos")
PAIRS = [
    (bias, n)
    for bias in ("peak", "table", "rope")
    for n in EVERYWHERE
    if (bias, n) != ("rope", "softmax-bos")
] + [("table", "softmax")]


@pytest.mark.parametrize(("bias", "normaliser"), PAIRS)
def test_every_position_is_right_also_before_the_lag_exists(bias, normaliser):
    target, draft = drafted(
        "shaped", "fixed:lags=2+9", bias=bias, normaliser=normaliser, tol=0.01, length=16
    )
    error = largest_error(target, draft, signs(2, 16))
    assert error <= promised(draft) <= 1e-5
    assert not draft.only_longest
    assert sum(draft.facts["heads_by_memory"]) == 2


@pytest.mark.parametrize("bias", ["peak", "rope"])
def test_plain_softmax_is_right_once_the_lag_exists_and_wrong_before(bias):
    target, draft = drafted(
        "shaped", "fixed:lags=5", bias=bias, normaliser="softmax", tol=0.01, length=12
    )
    x = signs(2, 12)
    assert draft.only_longest
    assert "from position 6 on" in draft.notes[0]
    assert max(largest_error(target, draft, x, At(t)) for t in range(6, 13)) <= promised(draft)
    # the nearest token, where zero was right
    assert min(largest_error(target, draft, x[:1], At(t)) for t in range(1, 6)) > 0.9
    assert "does not exist yet" in refused(
        "shaped", "fixed:lags=5,read=all", bias=bias, normaliser="softmax", tol=0.01
    )
    assert "does not exist yet" in refused(
        "shaped", FixedMemory((5,), read=At(5)), bias=bias, normaliser="softmax", tol=0.01
    )
    assert not normaliser_reasons(
        FixedMemory((5,), read=At(6)), Request(bias, tol=0.01, normaliser="softmax")
    )


@pytest.mark.parametrize("bias", ["peak", "table", "rope"])
@pytest.mark.parametrize("lag", [1, 952])
def test_one_head_reaches_any_lag_in_float32(bias, lag):
    """The model itself, in float32, at the last position: error of at most 2 in the last place
    (rope: its leak).
    """
    _target, draft = drafted(
        "shaped", f"fixed:lags={lag}", bias=bias, normaliser="softmax-tail", tol=0.01, length=1000
    )
    x = np.random.default_rng(1).uniform(-1, 1, (2, 1000, 1)).astype(np.float32)
    assert not jax.config.jax_enable_x64
    narrow = in_precision(draft.model, Precision.FLOAT32)
    y = np.asarray(jax.jit(lambda z: narrow(z, Last()))(jnp.asarray(x)))
    assert np.abs(y[:, 0, 0] - x[:, 999 - lag, 0]).max() <= (1e-6 if bias == "rope" else 2**-23)


def test_leak_of_a_peak_is_bounded_as_proved():
    made = lag_head(7, Request("peak", tol=0.1))
    softer = dataclasses.replace(made.curves[0], sharpness=2.0)
    leak = softer.values(200).sum() - 1
    assert leak <= 2 * math.exp(-2) / -math.expm1(-6)
    assert leak > 2 * math.exp(-2) * 0.99


@pytest.mark.parametrize("leak", [1e-3, 1e-8, 0.0])
def test_sink_sits_between_the_lag_and_the_leak(leak):
    """The promiseed error under a sink against the exact weights: lag present, lag absent."""
    eps = math.exp(sink_logit(leak))
    present = abs(1 / (1 + leak + eps) - 1) + leak / (1 + leak + eps)
    absent = leak / (leak + eps)
    assert (
        max(present, absent)
        <= lag_error(leak, "softmax-sink")
        <= 1.1 * math.sqrt(leak) + 1e-12 + 3 * leak
    )


def test_rope_is_certified_on_the_window_and_needs_a_denominator_for_large_logits():
    made = lag_head(20, Request("rope", tol=0.01, normaliser="softmax-sink", length=64))
    curve = made.curves[0].values(64)
    assert abs(curve[20] - 1) + np.delete(curve, 20).sum() <= made.error * (1 + 1e-9) + 1e-13
    assert made.error <= 1.01e-12
    assert "no float32 exponential" in refused(
        "shaped", "fixed:lags=500", bias="rope", tol=1e-6, length=1000
    )


@pytest.mark.parametrize(
    "kernel",
    [Oscillating(0.3, 1.0), Power(1.5), Exponential(0.2), MexicanHat(4, 2)],
    ids=lambda k: k.kind,
)
def test_tables_draw_every_kernel_exactly(kernel):
    target, draft = drafted("shaped", EssentialMemory((kernel,)), bias="table", tol=1e-9, length=12)
    assert largest_error(target, draft, signs(2, 12)) <= promised(draft) <= 1e-12
    values = kernel.values(12)
    assert draft.facts["heads_by_memory"] == [int((values > 0).any()) + int((values < 0).any())]


def test_kernels_by_peaks_keep_their_certified_error():
    target, draft = drafted(
        "shaped",
        EssentialMemory((MexicanHat(5, 2),)),
        bias="peak",
        heads=3,
        length=12,
        normaliser="softmax-tail",
    )
    assert largest_error(target, draft, signs(3, 12)) <= promised(draft)


def test_kernels_need_a_normaliser_that_keeps_their_sum():
    assert "not a kernel" in refused(
        "shaped", EssentialMemory((Power(1.5),)), bias="table", tol=0.1, normaliser="softmax-sink"
    )
    assert "read=last" in refused(
        "shaped",
        EssentialMemory((Power(1.5),), read=Everywhere()),
        bias="table",
        tol=0.1,
        normaliser="softmax",
    )


def test_unreachable_tolerance_names_the_table():
    with pytest.raises(Unreachable, match="table"):
        kernel_heads(
            Power(0.5), Request("rope", tol=1e-6, normaliser="softmax-tail", length=70), 1e-6, None
        )


def test_refusals_name_all_reasons():
    told = refused("shaped", "fixed:lags=1+2", bias="rope", heads=1, normaliser="softmax-bos")
    assert "rotary" in told
    assert "every memory has a head of its own" in told
    assert "is no fixed or essential memory" in refused("shaped", "recall", bias="peak", tol=0.1)
    assert "not one of peak" in refused("shaped", "fixed:lags=1", bias="lin", tol=0.1)


def test_promises_are_the_shifts():
    _target, draft = drafted("shaped", "fixed:lags=2+9", bias="peak", tol=0.01)
    x = signs(1, 12)[0]
    assert [
        np.array_equal(promise.exact(x), shifted(x, T))
        for promise, T in zip(draft.promises, (2, 9), strict=True)
    ] == [True, True]
