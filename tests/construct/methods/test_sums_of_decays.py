import numpy as np
import pytest

from headcount.construct.blocks.decaying_heads import heads_for_count
from headcount.construct.draft import Unreachable
from headcount.construct.impossible import accepted
from headcount.core.claims import Precision
from headcount.memory.essential import EssentialMemory
from headcount.memory.inputs import Gaussian, Uniform
from headcount.memory.kernels import Exponential, Lag, Power
from headcount.memory.read import Everywhere, Last
from headcount.memory.readouts import Linear, Parity, Teacher
from headcount.model.reference import forward
from tests.construct.drafted import drafted, largest_error, promised, refused, signs

SERVED = [
    (Exponential(0.5), "lin", "softmax-bos"),
    (Exponential(2.0), "log", "none"),
    (Exponential(2.0), "log1p", "softmax-tail"),
    pytest.param(Power(1.5), "lin", "none", marks=pytest.mark.slow),
    (Power(1.5), "log", "softmax-tail"),
    (Power(0.5), "lin", "softmax-tail"),
    pytest.param(Power(0.5), "log1p", "none", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(
    ("kernel", "bias", "normaliser"), SERVED, ids=lambda v: getattr(v, "kind", v)
)
def test_every_bias_serves_every_kernel_at_every_position(kernel, bias, normaliser):
    target, draft = drafted(
        "essential",
        EssentialMemory((kernel,)),
        bias=bias,
        normaliser=normaliser,
        tol=0.1,
        length=14,
    )
    assert largest_error(target, draft, signs(2, 14)) <= promised(draft) <= 0.1


def test_plain_softmax_at_the_longest_length():
    target, draft = drafted(
        "essential",
        EssentialMemory((Exponential(0.5),)),
        bias="lin",
        normaliser="softmax",
        tol=0.01,
        length=10,
    )
    x = signs(2, 10)
    assert draft.only_longest
    assert largest_error(target, draft, x, Last()) <= promised(draft) < 1e-12
    # a shorter sequence is divided by less
    assert largest_error(target, draft, x[:, :4], Last()) > 0.01


@pytest.mark.parametrize("bias", ["lin", "log", "log1p"])
def test_lag_zero_is_exact_with_every_bias(bias):
    """One token alone: x_1 rho(0), whatever the heads leave there."""
    target, draft = drafted(
        "essential", EssentialMemory((Exponential(2.0),)), bias=bias, tol=0.3, length=8
    )
    x = np.array([[[0.7]]])
    assert largest_error(target, draft, x) <= 1e-14
    assert draft.facts["lag_zero"][0] == pytest.approx(
        1.0 if bias == "log" else lag_zero_of(draft), abs=1e-15
    )


def lag_zero_of(draft) -> float:
    """rho(0) minus the heads' sum at lag 0, from the weights written."""
    attention = draft.model.layers[0].attention
    return 1.0 - float(
        sum(attention.w_value[h, 0, 0] * attention.w_out[h, 1, 0] for h in range(attention.heads))
    )


def test_lag_zero_of_a_singular_kernel():
    heads = heads_for_count(Power(1.5), "lin", 3, Precision.FLOAT32, 32)
    assert heads.missing_at_zero() == pytest.approx(-heads.coefficients.sum(), rel=1e-12)


def test_radius_and_lipschitz_of_filtered_slots():
    """Slots are as large as ||rho||_1 (docs/errata.md#e14): parity's network ends at 1, so it is
    not offered there.
    """
    _target, draft = drafted(
        "essential", EssentialMemory((Exponential(0.1),)), bias="lin", tol=0.01, length=20
    )
    assert draft.facts["radius"] == pytest.approx(np.exp(-0.1 * np.arange(20)).sum())
    _, fitted = drafted(
        "essential", EssentialMemory((Exponential(0.1),), Parity()), bias="lin", heads=1, length=8
    )
    assert "exact" not in fitted.facts["readout"]


def test_several_kernels_and_vector_tokens():
    memory = EssentialMemory((Exponential(0.5), Power(2.0)), Teacher(8), Uniform(2))
    target, draft = drafted("essential", memory, bias="lin", tol=0.1, length=12)
    x = np.random.default_rng(0).uniform(-1, 1, (2, 12, 2)) / np.sqrt(2)
    assert largest_error(target, draft, x) <= promised(draft) <= 0.1
    assert len(draft.promises) == 2


def test_heads_are_shared_where_they_help():
    _, draft = drafted(
        "essential", EssentialMemory((Exponential(0.5), Power(0.5))), bias="lin", heads=4, length=24
    )
    assert draft.facts["heads_by_memory"] == [1, 3]  # one head is exact for the first


def test_worst_signs_come_close_to_the_promise():
    """For one kernel and a linear readout the l1 error is attained by the signs of the kernel's
    error.
    """
    target, draft = drafted(
        "essential", EssentialMemory((Power(1.5),)), bias="lin", heads=2, length=64
    )
    impulse = np.eye(64)[0][None, :, None]
    # [lag]
    off = (forward(draft.model, impulse, Everywhere()) - target.reference(impulse, Everywhere()))[
        0, :, 0
    ]
    worst = np.sign(off)[::-1][None, :, None]
    assert largest_error(target, draft, worst, Last()) == pytest.approx(
        draft.output.error, rel=1e-6
    )


def test_notes_say_what_is_outside_the_theorem():
    _, draft = drafted("essential", EssentialMemory((Power(0.5),)), bias="log", tol=0.1, length=16)
    assert any("not summable" in note for note in draft.notes)
    _, exact = drafted(
        "essential", EssentialMemory((Exponential(0.5),)), bias="lin", tol=0.1, length=16
    )
    assert exact.notes == ()  # one head, every length


def test_only_lag_zero_left():
    target, draft = drafted(
        "essential", EssentialMemory((Lag(0),), Linear((1.0,))), bias="log", tol=0.1, length=6
    )
    assert largest_error(target, draft, signs(2, 6)) == 0


def test_refusals():
    told = refused(
        "essential",
        EssentialMemory((Power(2.0), Power(3.0)), inputs=Gaussian()),
        bias="peak",
        heads=1,
        normaliser="softmax-sink",
    )
    assert all(
        word in told
        for word in (
            "peak is not one of",
            "every kernel has heads of its own",
            "unbounded",
            "softmax-sink is not one of",
        )
    )
    assert "is no essential memory" in refused("essential", "fixed:lags=1", tol=0.1)


def test_an_impossible_kernel_is_refused_with_a_certificate():
    with pytest.raises(Unreachable, match="however many") as caught:
        drafted("essential", EssentialMemory((Lag(40),)), bias="lin", tol=0.1, length=48)
    assert accepted(caught.value.claims[0])
