"""The small constructions: sizes as told, every promise kept on every sequence that is short."""

import itertools

import numpy as np
import pytest

from headcount.construct.blocks.shared_rates import node_rates, shared_heads
from headcount.construct.construction import Architecture, in_precision
from headcount.construct.draft import Unreachable
from headcount.construct.forward import answers
from headcount.construct.methods.pointer_leaps import leaps_of
from headcount.core.claims import Precision
from headcount.memory.kernels import ArrayKernel, Lag
from headcount.memory.read import Everywhere, Last
from headcount.model.cost import count_parameters
from tests.construct.drafted import drafted, promised, refused


def sizes(draft) -> tuple[int, int, int, int]:
    a = Architecture.of(draft.model)
    count = count_parameters(in_precision(draft.model, Precision.FLOAT32))
    return a.layers, a.heads, a.width, count


def every_sign(length: int) -> np.ndarray:
    """[2^N, N, 1]"""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=length)))[..., None]


def worst(target, draft, x, read) -> float:
    found = answers(draft.model, x, read, np.float64)
    return float(np.abs(found - target.reference(x, read)).max())


TWO_KERNELS = "essential:kernel=exp:0.5+power:2,readout=linear(weights=1+2)"


@pytest.mark.parametrize("normaliser", ["none", "softmax-tail"])
@pytest.mark.parametrize(
    ("target", "bias"),
    [
        ("fixed:lags=1+2+3", "lin"),
        ("fixed:lags=2,readout=linear(weights=-2)", "log"),
        ("fixed:lags=2+5,readout=linear(weights=1+-3)", "table"),
        ("fixed:lags=2+5", "peak"),
        ("essential:kernel=exp:0.5,readout=linear(weights=2)", "lin"),
        pytest.param(TWO_KERNELS, "lin", marks=pytest.mark.slow),
    ],
)
def test_a_linear_answer_takes_two_numbers_and_no_neurons(target, bias, normaliser):
    built, draft = drafted("folded", target, bias=bias, tol=0.2, normaliser=normaliser, length=10)
    assert draft.model.layers[0].attention.w_value.shape[2] == 2
    assert sizes(draft)[2] == 0
    assert worst(built, draft, every_sign(10), Everywhere()) <= promised(draft) <= 0.2


def test_the_sizes_that_are_told():
    assert sizes(drafted("folded", "fixed:lags=1+2+3", bias="lin", tol=0.1, length=64)[1]) == (
        1, 4, 0, 26,
    )  # fmt: skip
    assert sizes(drafted("named-lag", "prop42", bias="peak", tol=0.01)[1]) == (1, 1, 0, 19)
    three = drafted("leaps", "pointer-chain:hops=3", bias="none", tol=0.01, normaliser="softmax")
    assert sizes(three[1]) == (2, 1, 0, 686)
    seven = drafted("leaps", "pointer-chain:hops=7", bias="none", tol=0.01, normaliser="softmax")
    assert sizes(seven[1]) == (3, 1, 0, 1328)


def test_heads_are_shared_between_slots():
    target = "fixed:lags=1+2+3,readout=parity"
    built, draft = drafted("shared", target, bias="lin", tol=0.3, length=10)
    assert sizes(draft)[1] <= 5
    assert worst(built, draft, every_sign(10), Everywhere()) <= promised(draft) <= 0.3
    made = shared_heads((Lag(1), Lag(3)), "lin", 0.15, Precision.FLOAT32, 32)
    assert made[0].curves == made[1].curves
    assert len(made[0].curves) == 3  # T heads for lag T, beside x_t


def test_long_lags_are_refused():
    with pytest.raises(Unreachable, match="begins at"):
        shared_heads((ArrayKernel((0.0,) * 40 + (1.0,)),), "lin", 0.1, Precision.FLOAT32, 64)
    assert np.all(np.diff(node_rates(4, -1.0)) > 0)


@pytest.mark.parametrize("hops", range(1, 9))
@pytest.mark.parametrize("normaliser", ["softmax", "none"])
def test_leaps_follow_every_chain(hops, normaliser):
    target = f"pointer-chain:hops={hops},symbols=2"
    built, draft = drafted("leaps", target, bias="none", tol=0.01, normaliser=normaliser, length=24)
    assert len(draft.model.layers) == len(leaps_of(hops)) == hops.bit_length()
    x = np.random.default_rng(hops).integers(-1, 2, (24, 24))
    wanted = built.reference(x, Everywhere())  # labels, -1 where there is none
    found = answers(draft.model, x, Everywhere(), np.float32)
    known = wanted >= 0
    assert known.any()
    assert np.abs(found - np.eye(2)[np.maximum(wanted, 0)])[known].max() == 0.0


@pytest.mark.parametrize("normaliser", ["none", "softmax-sink"])
def test_a_lag_that_the_token_names_in_one_layer(normaliser):
    built, draft = drafted(
        "named-lag", "prop42:read=all", bias="peak", tol=0.01, normaliser=normaliser, length=8
    )
    assert worst(built, draft, every_sign(8), Everywhere()) <= promised(draft)
    assert "read=last" in refused(
        "named-lag", "prop42:read=all", bias="peak", tol=0.01, normaliser="softmax"
    )


@pytest.mark.parametrize(
    ("target", "bias", "neurons"),
    [
        ("fixed:lags=3", "log1p", 15),
        ("fixed:lags=6", "lin", 127),
        ("adaptive-boolean", "lin", 109),
        ("fixed:lags=3+9,readout=parity", "table", 5),
        ("fixed:lags=2,readout=linear(weights=1+2)", "lin", 15),
    ],
)
@pytest.mark.parametrize("normaliser", ["softmax", "none"])
def test_one_head_as_a_code(target, bias, neurons, normaliser):
    built, draft = drafted("coded", target, bias=bias, tol=0.01, normaliser=normaliser, length=10)
    assert sizes(draft)[:3] == (1, 1, neurons)
    assert worst(built, draft, every_sign(10), Last()) <= promised(draft) < 1e-9
    narrow = answers(draft.model, every_sign(10), Last(), np.float32)
    assert np.abs(narrow - built.reference(every_sign(10), Last())).max() <= 0.01


def test_codes_refuse_what_has_no_digits():
    assert "finite alphabet" in refused("coded", "fixed:lags=2,inputs=uniform", bias="lin", tol=0.1)
    assert "windows" in refused("coded", "fixed:lags=20", bias="lin", tol=0.1)
    assert "do not see x_t" in refused("coded", "prop42", bias="log", tol=0.1)
