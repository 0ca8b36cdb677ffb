"""The separation that the latest match rests on: what is promised is what a worst sequence
takes, and no less logit would do.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from headcount.construct import constructions
from headcount.construct.draft import RefusalKind, Request
from headcount.construct.methods.latest_match import (
    BIASES,
    length_reasons,
    match_error,
    match_logit,
    previous_leak,
    previous_rows,
    tie,
)
from headcount.core.errors import InputError
from headcount.memory.named import targets
from headcount.memory.read import Last
from tests.construct.tokens import drafted, worst

LENGTH = 32


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("rate", [1, 8, 64])
def test_the_match_logit_outweighs_the_whole_length(bias, rate):
    logit = match_logit(bias, rate, LENGTH)
    assert logit >= tie(bias, rate, LENGTH - 1) + 2 * rate
    assert logit % rate == 0
    assert all(tie(bias, rate, s + 1) - tie(bias, rate, s) >= rate for s in range(LENGTH))


def test_leaks_are_those_of_the_bias():
    assert previous_leak("table", 1.0) == 0.0
    lags = np.arange(200)
    weights = np.exp(-0.7 * (lags - 1.0) ** 2)
    assert 1 - weights[1] / weights.sum() <= previous_leak("peak", 0.7)


@pytest.mark.parametrize("bias", BIASES)
def test_a_blunt_circuit_keeps_its_promise_and_comes_near_it(bias):
    target, draft = drafted("induction:rate=8", "induction:symbols=4", bias, "softmax", LENGTH)
    followed = np.array([[1, 0] * 14 + [1, 2, 1, 3, 1]])  # 3 came last, 2 before it, 0 often
    error = worst(target, draft, followed[:, -LENGTH:], Last())
    assert error <= draft.output.error + 1e-5
    if bias != "peak":  # whose ties widen with the lag
        assert error >= 0.5 * np.exp(-16.0)


@pytest.mark.parametrize("bias", BIASES)
def test_a_match_at_the_far_end_beats_every_near_row(bias):
    target, draft = drafted("induction", "induction:symbols=4", bias, "softmax", LENGTH)
    far = np.array([[0, 3] + [1, 2] * (LENGTH // 2 - 2) + [1, 0]])
    assert worst(target, draft, far, Last()) < 1e-27
    layers = draft.model.layers
    head = layers[1].attention
    weak = dataclasses.replace(
        head.score,
        w_key=head.score.w_key * (tie(bias, 1.0, LENGTH - 4) / match_logit(bias, 1, LENGTH)),
    )
    second = dataclasses.replace(layers[1], attention=dataclasses.replace(head, score=weak))
    broken = dataclasses.replace(
        draft, model=dataclasses.replace(draft.model, layers=(layers[0], second))
    )
    assert worst(target, broken, far, Last()) == 1.0


def test_promises_fall_with_the_rate():
    errors = [match_error("lin", rate, LENGTH) for rate in (8, 16, 32, 64)]
    assert all(b <= a**1.9 for a, b in itertools.pairwise(errors))


def test_the_first_row_is_its_own_or_none():
    x = np.array([2, 0, -1])
    assert previous_rows(x, 3, "table").tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert previous_rows(x, 3, "peak")[0].tolist() == [0, 0, 1]


def test_refusals():
    method, target = constructions.build("induction"), targets.build("induction")
    both = method.refusals(target, Request("log", tol=0.1))
    assert [reason.kind for reason in both] == [RefusalKind.BIAS, RefusalKind.NORMALISER]
    long = {"tol": 0.1, "normaliser": "softmax", "length": 5000}
    assert "not exact in float32" in str(length_reasons(Request("peak", **long), 64)[0])
    assert length_reasons(Request("lin", **long), 64) == []
    with pytest.raises(InputError, match="power of two"):
        drafted("induction:rate=48", "induction", "lin", "softmax", LENGTH)
