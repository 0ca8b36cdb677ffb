"""Plans are sound: what is recommended can be built to the tolerance, and verdicts come from
claims that cover the row's own question.
"""

import dataclasses
import functools
import math

import pytest

import headcount as hc
from headcount.construct import method as method_module
from headcount.construct.impossible import accepted
from headcount.core.claims import Readout, Sense, Status
from headcount.memory.kernels import Lag
from headcount.theory.bounds import lower_bound
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

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
        assert row.reachable is not False  # nothing is proved for every readout yet
        assert all(accepted(claim) for claim in row.impossibilities)
        if row.impossibilities:
            assert "readout" in row.missing
            assert "a linear readout" in row.reason
        if row.reachable is True:
            assert [claim.sense for claim in row.claims] == [Sense.AT_MOST] * 2
            assert max(claim.value for claim in row.claims) <= tol
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


def test_a_spoilt_claim_is_not_accepted():
    problem = Problem(Lag(9), family("lin"), Norm.L1, None, 1e4, residual=True)
    good = lower_bound(problem)
    assert accepted(good)
    wider = dataclasses.replace(good.scope, readout=Readout.ANY)
    for spoilt in (
        dataclasses.replace(good, value=good.value + 0.1),
        dataclasses.replace(good, scope=wider),
        dataclasses.replace(good, scope=dataclasses.replace(good.scope, weight=math.inf)),
        dataclasses.replace(good, evidence={}),
        dataclasses.replace(good, evidence={"bound": "trust me"}),
    ):
        assert not accepted(spoilt)


@functools.cache
def drafts_of(target: str, tol: float, length: int) -> list[str]:
    """Which methods were drafted while planning, with their biases."""
    seen = []
    original = method_module.AbstractMethod.draft

    def watched(self, target, request):
        seen.append(f"{self.kind} {request.bias}")
        return original(self, target, request)

    method_module.AbstractMethod.draft = watched
    try:
        hc.plan(target, tol, length=length)
    finally:
        method_module.AbstractMethod.draft = original
    return seen


def test_nothing_is_drafted_twice():
    seen = drafts_of("fixed:lags=1", 0.1, 16)
    assert seen
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    "question", [QUICK[0], pytest.param(("fixed:lags=3", 0.1, 64), marks=pytest.mark.slow)], ids=str
)
def test_what_is_proved_of_a_linear_sum_does_not_decide_a_target(question):
    """Tokens are +-1: for lag 3 one log1p head as a code and a few neurons reach 6e-6, so that a
    bound on linear sums of weights up to tol/(4u) must not say "unreachable".
    """
    made = planned(*question)
    assert all(row.reachable is not False for row in made.rows)
    undecided = [row for row in made.rows if row.reachable is None and row.claims]
    assert undecided
    for row in undecided:
        assert {"readout", "precision", "weight"} <= set(row.missing)
        assert row.reason.startswith("undecided: no construction found here")


def test_the_length_is_honoured():
    """Lag 6 in 7 tokens: one lin layer, where all lags would take six."""
    made = hc.construct("fixed:lags=6", bias="lin", tol=0.1, length=7)
    assert made.architecture.layers == 1
    assert made.architecture.heads <= 7
    assert made.float32.sup < 1e-3


def test_what_is_only_measured_says_so():
    """A teacher behind a network that was drawn from it: no proof for these very weights."""
    text = "fixed:lags=1+2,readout=teacher(neurons=64),inputs=uniform:2"
    built = hc.construct(text, bias="peak", tol=40.0, width=16, length=8)
    assert built.status is Status.MEASURED
    assert built.to_json(text)["status"] == "measured"
    assert sum("not certified" in note for note in built.notes) == 1
    exact = hc.construct("fixed:lags=1", bias="peak", tol=0.1, length=8)
    assert exact.to_json("fixed:lags=1")["status"] == "proved and checked"


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
        "claims",
        "missing",
        "status",
    ]
    assert all(name in row for row in told["rows"] for name in names)
    for row in told["rows"]:
        assert row["claims"] or row["reason"]
        assert row["status"] in ("proved and checked", "measured", None)
    undecided = [row for row in told["rows"] if row["certificate"] is not None]
    assert undecided
    for row in undecided:
        assert (row["reachable"], row["claims"][0]["sense"]) == (None, "at least")
        assert "readout" in row["missing"]
        assert "sum|a| <=" in row["certificate"]["claim"]
    assert told["recommended"]["command"].startswith("headcount build 'fixed:lags=20'")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 0.0}, "positive"),
        ({"dtype": "float8"}, "float8"),
        ({"dtype": "bfloat16"}, "bfloat16"),
    ],
)
def test_bad_requests(options, words):
    with pytest.raises(hc.InputError, match=words):
        hc.plan("fixed:lags=1", **options)


def test_a_target_without_a_construction_is_refused():
    with pytest.raises(hc.InputError, match="no construction serves"):
        hc.plan("stdlib", 0.1, length=32)
