import numpy as np
import pytest

from headcount.construct import constructions
from headcount.construct.draft import RefusalKind, Request
from headcount.construct.methods.pointer_jumps import (
    WANTED,
    Stage,
    chain_stages,
    code_bits,
    entry_errors,
    landing,
    logit_gap,
    sign_codes,
    stage_error,
)
from headcount.memory.named import targets


@pytest.mark.parametrize("length", [1, 2, 5, 64, 100])
def test_codes_of_different_places_differ_in_a_sign(length):
    bits = code_bits(length)
    codes = sign_codes(length, bits)
    products = codes @ codes.T
    assert (np.diag(products) == bits).all()
    assert (products - 2 * bits * np.eye(length)).max() <= max(bits - 2, -bits)
    assert bits >= 2
    assert 2**bits >= length


def test_a_stage_composes():
    assert Stage(0, 0, 0).copies() == [
        ("place", "place", "place_1", 1),
        ("found", "token", "found_1", 1),
    ]
    assert Stage(4, 4, 2).copies() == [
        ("place", "place_4", "place_8", 8),
        ("found", "found_2", "found_6", 6),
    ]
    assert Stage(4, None, 1).copies() == [("found", "found_1", "found_5", 5)]


def test_landing_beyond_the_first_row():
    x = np.array([0, 1, 0, 2, -1])
    assert landing(x, 1, clamp=True).tolist() == [0, 0, 1, 0, 4]
    assert landing(x, 1, clamp=False).tolist() == [-1, -1, 1, 0, 4]
    assert landing(x, 2, clamp=False).tolist() == [-1, -1, -1, -1, 4]


def test_errors_grow_by_a_stage_and_faster_without_normaliser():
    soft, bare = (Request("none", tol=0.1, normaliser=n, length=64) for n in ("softmax", "none"))
    assert (
        0 < stage_error(0.0, 0.0, 6, soft, 128.0) == stage_error(0.0, 0.0, 6, bare, 128.0) < 1e-50
    )
    assert stage_error(1e-9, 1e-9, 6, soft, 128.0) == pytest.approx(1e-9)
    assert stage_error(1e-9, 1e-9, 6, bare, 128.0) == pytest.approx(1e-9 + 64 * 6e-9, rel=1e-6)
    assert stage_error(0.0, 1.0, 6, bare, 128.0) > 1  # an error as large as a code loses the place


def test_the_gap_grows_with_the_layers_where_errors_multiply():
    soft, bare = (Request("none", tol=0.1, normaliser=n, length=1024) for n in ("softmax", "none"))
    short, long = chain_stages(3), chain_stages(60)
    assert logit_gap(long, 10, soft) == logit_gap(short, 10, bare) == 128.0
    gap = logit_gap(long, 10, bare)
    assert gap > 128.0
    assert (
        max(entry_errors(long, 10, bare, gap).values())
        <= WANTED
        < max(entry_errors(long, 10, bare, gap / 2).values())
    )


def test_refusals():
    method, target = constructions.build("doubling"), targets.build("pointer-chain")
    reasons = method.refusals(target, Request("log", tol=0.1, normaliser="softmax-tail"))
    assert [reason.kind for reason in reasons] == [RefusalKind.BIAS, RefusalKind.NORMALISER]
    assert method.refusals(target, Request("lin", tol=0.1)) == []
