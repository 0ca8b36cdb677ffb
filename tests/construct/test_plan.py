"""Plans are sound: what is recommended can be built to the tolerance, and 'no' comes with a
certificate.
"""

import dataclasses
import functools

import pytest

import headcount as hc
from headcount.construct.plan import accepted, describe
from headcount.theory.bounds import weight_needed
from headcount.theory.heads import family

QUICK = [("fixed:lags=20", 0.05, 32), ("recall:pairs=2,symbols=3", 0.05, 16)]
SLOW = [
    ("fixed:lags=1+2", 0.1, 64),
    ("fixed:lags=3+17,readout=product", 0.1, 64),
    ("fixed:lags=5+9+300+999", 0.02, 1024),
    ("essential:kernel=exp:0.3", 0.05, 128),
    ("essential:kernel=power:1.5", 0.1, 128),
    ("prop42", 0.1, 64),
    ("induction:symbols=4", 0.05, 24),
    ("pointer-chain:hops=3,symbols=3", 0.05, 32),
    ("exp-1b", 0.1, 1000),
]


@functools.cache
def planned(target: str, tol: float, length: int) -> hc.Plan:
    return hc.plan(target, tol, length=length)


def sound(target: str, tol: float, length: int) -> hc.Plan:
    made = planned(target, tol, length)
    for row in made.rows:
        if row.reachable is False:
            assert accepted(row.certificate)
            assert describe(row.certificate)["claim"]
        if row.reachable is True:
            assert row.error <= tol
            assert row.error_float32 <= tol
        assert row.reachable is True or row.reason
    best = made.recommended
    assert best is not None
    assert best.cost == min(row.cost for row in made.rows)
    words = made.command(target).split()
    chosen = {words[i][2:]: words[i + 1] for i in range(len(words)) if words[i].startswith("--")}
    built = hc.construct(
        target,
        bias=chosen["bias"],
        tol=tol,
        normaliser=chosen["normaliser"],
        theorem=chosen["theorem"],
        length=length,
    )
    assert built.float32.sup <= tol
    assert built.parameters == best.parameters
    return made


@pytest.mark.parametrize(("target", "tol", "length"), QUICK)
def test_plans_are_sound(target, tol, length):
    sound(target, tol, length)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "tol", "length"), SLOW)
def test_more_plans_are_sound(target, tol, length):
    sound(target, tol, length)


def test_a_spoilt_certificate_is_not_accepted():
    good = weight_needed(9, family("lin"), 0.1)
    assert accepted(good)
    assert not accepted(dataclasses.replace(good, weight=good.weight * 2))
    assert not accepted(None)
    assert not accepted("trust me")


def test_json_has_the_promised_fields():
    told = planned(*QUICK[0]).to_json("fixed:lags=20")
    names = [
        "bias",
        "attention",
        "normaliser",
        "layers",
        "heads",
        "width",
        "parameters",
        "error",
        "error_float32",
        "reachable",
        "reason",
        "source",
    ]
    assert all(name in row for row in told["rows"] for name in names)
    no = [row for row in told["rows"] if row["reachable"] is False]
    assert no
    assert all("needs sum|a| >= 10^" in row["certificate"]["claim"] for row in no)
    assert told["recommended"]["command"].startswith("headcount build 'fixed:lags=20'")


@pytest.mark.parametrize(
    ("options", "words"), [({"tol": 0.0}, "positive"), ({"dtype": "float8"}, "float8")]
)
def test_bad_requests(options, words):
    with pytest.raises(hc.InputError, match=words):
        hc.plan("fixed:lags=1", **options)


def test_a_target_without_a_construction_is_refused():
    with pytest.raises(hc.InputError, match="no construction serves"):
        hc.plan("stdlib", 0.1, length=32)
