"""Verdicts: synthetic results that must give each outcome, and what is told beside it."""

import dataclasses
import json

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.evidence import Blocked
from headcount.lab.judge.hypothesis import (
    ArmResult,
    BelowThreshold,
    Benefit,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
    Reported,
)
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Outcome, judge
from tests.lab.verdict_keys import VERDICT_KEYS

HYPOTHESIS = Hypothesis(
    insight="4a",
    kind=Kind.CONTRAST,
    claim="On a heavy tail log heads learn better than lin heads.",
    parts=(Part("16 heads", Benefit("lin", "log", Scale.LOG10_RATIO)),),
    reported=(Reported("lin, 64 heads: MSE", 0.19),),
    trivial=7.48,
    notes=("finite window",),
)
COMPOUND = dataclasses.replace(
    HYPOTHESIS,
    parts=(*HYPOTHESIS.parts, Part("neurons", NoBenefit("log", "log-wide", Scale.EXPLAINED))),
)


def results(losses, seeds=10, sd=0.1, floors=None):
    """Log-normal runs by arm."""
    rng = np.random.default_rng(0)
    return [
        ArmResult(arm, seed, loss * 10 ** rng.normal(0, sd), (floors or {}).get(arm))
        for arm, loss in losses.items()
        for seed in range(seeds)
    ]


def verdict(losses, hypothesis=HYPOTHESIS, family_size=16, **how):
    found = {hypothesis.key: results(losses, **how)}
    return judge([hypothesis], found, {hypothesis.key: range(40)}, family_size)[0]


def test_supported():
    found = verdict({"lin": 0.2, "log": 0.01})
    assert found.outcome is Outcome.SUPPORTED
    assert found.effect == pytest.approx(np.log10(20), abs=0.2)
    assert found.interval.low > 0.3
    assert found.p <= 0.05 < found.p_refute
    assert (found.seeds, found.notes, found.seeds_needed) == (10, ("finite window",), None)
    assert found.power > 0.95
    assert "log beats lin by more than 0.3" in found.sentence


def test_refuted():
    found = verdict({"lin": 0.01, "log": 0.01}, sd=0.02)
    assert found.outcome is Outcome.REFUTED
    assert found.p_refute <= 0.05 < found.p


def test_undecided_says_what_it_would_take():
    found = verdict({"lin": 0.0225, "log": 0.01}, sd=0.15, seeds=40)
    assert found.outcome is Outcome.UNDECIDED
    assert 40 < found.seeds_needed < 10_000
    assert "seeds would decide" in found.sentence
    on_the_margin = verdict({"lin": 0.01995, "log": 0.01}, sd=0.3, seeds=40)
    assert on_the_margin.outcome is Outcome.UNDECIDED


def test_not_judged_before_the_first_look():
    found = verdict({"lin": 0.2, "log": 0.01}, seeds=9)
    assert (found.outcome, found.power, found.p) == (Outcome.NOT_JUDGED, None, None)
    assert not found.outcome.decided
    nothing = judge([HYPOTHESIS], {}, {})[0]
    assert nothing.outcome is Outcome.NOT_JUDGED


def test_holm_is_over_the_registered_family_both_ways():
    clear = verdict({"lin": 0.2, "log": 0.01}, family_size=16)
    many = verdict({"lin": 0.2, "log": 0.01}, family_size=40)
    assert (clear.outcome, many.outcome) == (Outcome.SUPPORTED, Outcome.UNDECIDED)
    assert verdict({"lin": 1, "log": 1}, family_size=40, sd=0.01).outcome is Outcome.UNDECIDED
    others = [dataclasses.replace(HYPOTHESIS, insight=f"x{i}") for i in range(3)]
    found = {h.key: results({"lin": 0.2, "log": 0.01}) for h in others}
    said = judge(others, found, {h.key: range(40) for h in others}, 16)
    assert [v.outcome for v in said] == [Outcome.SUPPORTED] * 3


def test_compound_claims_need_every_part():
    good = {"lin": 0.2, "log": 0.01}
    assert verdict({**good, "log-wide": 0.01}, COMPOUND).outcome is Outcome.SUPPORTED
    refuted = verdict({"lin": 2.0, "log": 0.3, "log-wide": 0.01}, COMPOUND, seeds=20)
    assert refuted.outcome is Outcome.REFUTED
    assert refuted.scale == "explained variance"
    assert len(refuted.criteria) == 2


def test_a_blocked_part_is_told():
    found = verdict({"lin": 7.4, "log": 7.4}, sd=0.001)
    assert found.outcome is Outcome.UNDECIDED
    assert found.findings[0].blocked is Blocked.UNLEARNED
    assert "constant answer" in found.sentence


def test_shortfalls_tell_training_from_architecture():
    found = verdict({"lin": 0.2, "log": 0.01}, floors={"lin": 4e-8})
    assert found.shortfalls[0].arm == "lin"
    assert "training, not the architecture" in found.sentence
    assert not verdict({"lin": 0.2, "log": 0.01}, floors={"lin": 0.1}).shortfalls


def test_power_tells_a_weak_design():
    strong = verdict({"lin": 0.2, "log": 0.01}, sd=0.05)
    weak = verdict({"lin": 0.2, "log": 0.01}, sd=1.0)
    assert strong.power > 0.99
    assert weak.power < 0.5


def test_json_begins_with_what_scripts_read():
    row = verdict({"lin": 0.2, "log": 0.01}).to_json()
    assert list(row)[: len(VERDICT_KEYS)] == VERDICT_KEYS
    assert row["paper"] == ["lin, 64 heads: MSE = 0.19"]
    json.dumps(row, allow_nan=False)


def test_thresholds():
    trained = Hypothesis(
        "4a", Kind.TRAINED, "Log.", (Part("one head", BelowThreshold("log", 1e-5)),), trivial=7.48
    )
    assert verdict({"log": 1e-6}, trained).outcome is Outcome.SUPPORTED
    assert verdict({"log": 1e-4}, trained).outcome is Outcome.REFUTED


def test_refusals():
    with pytest.raises(InputError, match="each key once"):
        judge([HYPOTHESIS, HYPOTHESIS], {}, {})
    with pytest.raises(InputError, match="different alpha"):
        judge([HYPOTHESIS, dataclasses.replace(HYPOTHESIS, insight="x", alpha=0.1)], {}, {})
    with pytest.raises(InputError, match="unknown hypothesis"):
        judge([HYPOTHESIS], {"4b": []}, {})
