import math

import numpy as np
import pytest

from headcount.construct import construct
from headcount.construct.methods.lags_by_depth import moves_of
from headcount.core.claims import Precision
from tests.construct.drafted import drafted, largest_error, promised, refused, signs


@pytest.mark.parametrize(
    ("lags", "step", "moves"),
    [((7,), 1, [1] * 7), ((7,), 2, [2, 2, 2, 1]), ((3, 4), 2, [2, 1, 1]), ((2, 6), 2, [2, 2, 2])],
)
def test_moves_reach_every_lag(lags, step, moves):
    assert moves_of(lags, step) == moves
    assert set(lags) <= set(np.cumsum(moves))


@pytest.mark.parametrize(
    ("bias", "normaliser"),
    [("lin", "none"), ("lin", "softmax-bos"), ("log", "none"), ("log", "softmax-tail")],
)
def test_memories_share_one_chain(bias, normaliser):
    target, draft = drafted(
        "composed",
        "fixed:lags=2+5,readout=parity",
        bias=bias,
        normaliser=normaliser,
        tol=0.05,
        length=9,
    )
    assert len(draft.model.layers) == 5
    assert largest_error(target, draft, signs(2, 9)) <= promised(draft) <= 0.05


def test_errors_compose_as_proved():
    """The composed kernel from the weights written: its l1 error is at most (1+e)^l - 1, and not
    far below.
    """
    _, draft = drafted("composed", "fixed:lags=6", bias="lin", heads=2, length=32)
    e = draft.facts["kernel_errors"][0]
    assert draft.facts["composed_errors"][0] == pytest.approx((1 + e) ** 6 - 1)
    attention = draft.model.layers[0].attention
    gains = [float(attention.w_value[h, 0] @ np.eye(3)[1]) for h in range(attention.heads)]
    one = sum(
        g * np.exp(-float(b) * np.arange(200))
        for g, b in zip(gains, attention.bias.rate, strict=True)
    )
    whole = np.array([1.0])
    for _ in range(6):
        whole = np.convolve(whole, one)
    off = np.abs(whole - (np.arange(len(whole)) == 6)).sum()
    assert (
        0.3 * draft.facts["composed_errors"][0]
        < off
        <= draft.facts["composed_errors"][0] * (1 + 1e-9)
    )


def test_log_steps_are_exact():
    target, draft = drafted("composed", "fixed:lags=30", bias="log", tol=1e-3, length=34)
    assert len(draft.model.layers) == 30
    x = np.random.default_rng(0).uniform(-1, 1, (1, 34, 1))
    assert largest_error(target, draft, x) == 0


def test_two_lags_a_layer_halve_the_depth():
    target, draft = drafted("composed:step=2", "fixed:lags=7", bias="log", heads=2, length=10)
    assert len(draft.model.layers) == math.ceil(7 / 2)
    assert largest_error(target, draft, signs(3, 10)) <= promised(draft) <= 0.5


def test_promises_name_carrier_and_taps():
    _, draft = drafted("composed", "fixed:lags=1+3", bias="log", tol=0.1)
    assert [(c.layer, c.part, c.space) for c in draft.promises] == [
        (1, "attention", "arrived"),
        (1, "ffn", "carrier"),
        (1, "ffn", "memory_1"),
        (2, "attention", "arrived"),
        (2, "ffn", "carrier"),
        (3, "attention", "arrived"),
    ]


def test_refusals():
    told = refused("composed", "fixed:lags=3", bias="peak", normaliser="softmax", tol=0.1)
    assert "any lag in one layer" in told
    assert "passes through many" in told
    assert "is no fixed memory" in refused("composed", "essential:kernel=exp:1", tol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("lag", "tol"), [(30, 0.05), (99, 0.05)])
def test_depth_carries_lin_heads_to_long_lags_in_float32(lag, tol):
    made = construct(f"fixed:lags={lag}", bias="lin", tol=tol, length=lag + 8, theorem="composed")
    assert made.architecture.layers == lag
    assert made.float32.sup <= tol
    assert made.measured.sup <= made.promised.at(Precision.FLOAT64)
