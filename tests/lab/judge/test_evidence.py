"""Findings: what a diverged, missing, unequal or unlearned arm does to one part in one cell."""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.refs import Ref
from headcount.lab.judge.evidence import Finding, arrange, findings
from headcount.lab.judge.hypothesis import (
    AccuracyAtLeast,
    AccuracyBelow,
    ArmResult,
    BelowThreshold,
    Benefit,
    Hypothesis,
    NoBenefit,
    Part,
)
from headcount.lab.judge.statistics import Scale

CELL = "default"


def hypothesis(claim, **changes) -> Hypothesis:
    base = {
        "id": "x",
        "claim": "A claim.",
        "ref": Ref("headcount"),
        "scale": Scale.LOG10_RATIO,
        "trivial": 1.0,
    }
    return Hypothesis(**{**base, "parts": (Part("part", claim),), **changes})


def runs(arm, losses, **fields):
    return [ArmResult(arm, CELL, seed, loss, **fields) for seed, loss in enumerate(losses)]


def spread(centre, seed=0, size=10):
    return centre * 10 ** np.random.default_rng(seed).normal(0, 0.1, size)


def one(claim, results, **changes) -> Finding:
    return findings(hypothesis(claim, **changes), results, resamples=0)[0]


BENEFIT = Benefit("a", "b")


def test_a_clear_benefit():
    found = one(BENEFIT, runs("a", spread(0.5), floor=0.4) + runs("b", spread(0.01, 1)))
    assert found.p < 1e-6 < 0.999 < found.p_refute
    assert found.effect == pytest.approx(np.log10(50), abs=0.1)
    assert found.ci.low < found.effect < found.ci.high
    assert (found.losing, found.floor, found.seeds) == ("a", 0.4, 10)
    assert found.loss == pytest.approx(10 ** np.log10(spread(0.5)).mean())


def test_the_bootstrap_is_reported_on_request():
    results = runs("a", spread(0.5)) + runs("b", spread(0.01, 1))
    found = findings(hypothesis(BENEFIT), results, resamples=999)[0]
    assert found.bca.low == pytest.approx(found.ci.low, abs=0.05)
    assert found.to_json()["bca"] == found.bca.to_json()
    assert one(BENEFIT, results).to_json()["bca"] is None


def test_one_diverged_run_cannot_make_a_verdict():
    """Without the diverged run the arms are equal; counting it as no learning must not turn this
    into a benefit.
    """
    losses = spread(0.01)
    found = one(BENEFIT, runs("a", [math.inf, *losses[1:]]) + runs("b", losses * 1.001))
    assert found.p > 0.9
    assert "1 of 10 runs of a diverged" in found.notes[0]


def test_a_clear_benefit_survives_diverged_runs_of_the_losing_arm():
    found = one(
        BENEFIT, runs("a", [math.inf, math.inf, *spread(0.5)[2:]]) + runs("b", spread(0.01, 1))
    )
    assert found.p < 1e-4


def test_a_diverged_run_of_the_winning_arm_costs():
    good = runs("a", spread(0.3)) + runs("b", spread(0.05, 1))
    bad = runs("a", spread(0.3)) + runs("b", [math.inf] * 3 + list(spread(0.05, 1)[3:]))
    assert one(BENEFIT, good).p < 0.001
    assert one(BENEFIT, bad).p > 0.05


def test_a_diverged_run_counts_no_better_than_the_worst_that_finished():
    """Constant predictor 1, worst finite 5: effects (5/b) for the diverged seed."""
    found = one(
        BENEFIT,
        runs("a", [math.inf, 5.0, 2.0, 2.0, 2.0]) + runs("b", [1.0] * 5),
        seeds=tuple(range(5)),
    )
    assert found.effect == pytest.approx(np.log10([5, 5, 2, 2, 2]).mean())


def test_mostly_diverged_decides_nothing():
    found = one(BENEFIT, runs("a", [math.inf] * 8 + [0.5, 0.5]) + runs("b", spread(0.01)))
    assert found.p == found.p_refute == 1.0
    assert "decides nothing" in found.notes[-1]


def test_missing_runs_block():
    found = one(BENEFIT, runs("a", spread(0.5)[:9]) + runs("b", spread(0.01)))
    assert found.p == found.p_refute == 1.0
    assert found.blocked == "missing: 1 of 10 runs of a"
    assert one(BENEFIT, []).seeds == 0


def test_equality_without_learning_is_no_evidence():
    claim = NoBenefit("a", "b")
    learned = one(claim, runs("a", spread(0.01)) + runs("b", spread(0.01, 1)))
    unlearned = one(claim, runs("a", spread(0.99)) + runs("b", spread(1.0, 1)))
    assert learned.p < 0.01
    assert learned.blocked == ""
    assert unlearned.p == 1.0
    assert "neither arm beats the constant predictor" in unlearned.blocked


@pytest.mark.parametrize("claim", [BENEFIT, NoBenefit("a", "b")])
@pytest.mark.parametrize("plain", [1.0, 5.0])
def test_arms_that_learned_nothing_decide_nothing(claim, plain):
    """Neither where they are equal nor where one is worse than the constant predictor."""
    found = one(claim, runs("a", spread(plain)) + runs("b", spread(0.99, 1)))
    assert found.p == found.p_refute == 1.0
    assert "neither arm beats the constant predictor" in found.blocked
    assert found.effect == pytest.approx(np.log10(plain / 0.99), abs=0.1)


def test_a_benefit_fails_where_one_arm_learned():
    found = one(BENEFIT, runs("a", spread(0.01)) + runs("b", spread(0.99, 1)))
    assert (found.blocked, found.p_refute < 1e-6) == ("", True)


def test_a_part_that_is_held_to_a_threshold_needs_no_learning_to_be_refuted():
    assert one(BelowThreshold(("a",), 0.01), runs("a", spread(1.0))).p_refute < 1e-6


def test_findings_say_what_every_arm_learned_and_in_what_unit_the_effect_is():
    found = one(BENEFIT, runs("a", [0.5] * 9 + [math.inf]) + runs("b", [0.01] * 10))
    assert found.learned == pytest.approx({"a": 0.5, "b": 0.01})
    assert found.to_json()["unit"] == "log10 ratio"
    assert one(BENEFIT, []).to_json()["unit"] == "log10 ratio"
    assert (
        one(BENEFIT, runs("a", [0.5] * 10) + runs("b", [0.01] * 10), scale=Scale.NATS).unit
        == "nats"
    )
    assert (
        one(BelowThreshold(("a",), 0.01), runs("a", spread(1.0))).unit
        == "log10 ratio to the threshold"
    )
    assert (
        one(AccuracyBelow("a", 0.6), runs("a", spread(1.0), accuracy=0.5), scale=Scale.NATS).unit
        == "accuracy"
    )


def test_a_benefit_still_refutes_no_benefit_when_only_one_arm_learned():
    found = one(NoBenefit("a", "b"), runs("a", spread(0.99)) + runs("b", spread(0.01, 1)))
    assert found.p_refute < 1e-6
    assert found.blocked == ""


def test_equal_parameters_must_be_equal():
    claim = dataclasses.replace(BENEFIT, equal_parameters=True)

    def with_counts(a, b):
        return one(
            claim, runs("a", spread(0.5), parameters=a) + runs("b", spread(0.01), parameters=b)
        )

    assert with_counts(1000, 1050).p < 1e-6
    assert with_counts(1000, 1060).p == with_counts(1000, 1060).p_refute == 1.0
    assert "1000 to 1060" in with_counts(1000, 1060).blocked
    assert "do not say" in with_counts(1000, None).blocked


def test_the_best_of_several_pays_for_the_choice():
    alone = one(BelowThreshold(("b",), 0.01), runs("b", spread(0.008)))
    chosen = one(
        BelowThreshold(("a", "b", "c"), 0.01),
        runs("a", spread(1.0)) + runs("b", spread(0.008)) + runs("c", spread(2.0)),
    )
    assert chosen.p == pytest.approx(3 * alone.p)
    assert chosen.effect == alone.effect
    assert chosen.ci.low < alone.ci.low
    missed = one(
        BelowThreshold(("a", "b"), 0.01),
        runs("a", spread(1.0), floor=0.0) + runs("b", spread(0.5), floor=0.1),
    )
    assert missed.p_refute < 1e-6
    assert (missed.losing, missed.floor) == ("b", 0.1)


def test_accuracy_is_read_from_its_own_field():
    perfect = runs("a", [0.1] * 10, accuracy=1.0)
    assert one(AccuracyAtLeast("a", 0.99), perfect).p == 2.0**-10
    assert one(AccuracyBelow("a", 0.6), perfect).p_refute == 2.0**-10
    diverged = [ArmResult("a", CELL, 0, math.inf), *perfect[1:]]
    assert one(AccuracyAtLeast("a", 0.99), diverged).p > 0.05
    with pytest.raises(InputError, match="no accuracy"):
        one(AccuracyAtLeast("a", 0.99), runs("a", [0.1] * 10))


def test_far_above_floor():
    base = Finding("part", CELL, losing="a", lost=True, loss=0.19, floor=0.02)
    assert not base.far_above_floor(1.0)
    assert dataclasses.replace(base, floor=0.018).far_above_floor(1.0)
    assert not dataclasses.replace(base, floor=0.018, lost=False).far_above_floor(1.0)
    assert not dataclasses.replace(base, floor=None).far_above_floor(1.0)
    # a floor of 0 is read as float32 rounding
    assert dataclasses.replace(base, floor=0.0).far_above_floor(1.0)
    assert not dataclasses.replace(base, floor=0.0, loss=3e-14).far_above_floor(1.0)


def test_a_loss_below_its_floor_is_noted():
    found = one(BENEFIT, runs("a", spread(0.5), floor=2.0) + runs("b", spread(0.01)))
    assert "check the floor" in found.notes[0]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (ArmResult("bb", CELL, 0, 1.0), "unknown arm of hypothesis x 'bb' .nearest: 'b'"),
        (ArmResult("a", "elsewhere", 0, 1.0), "unknown cell"),
        (ArmResult("a", CELL, 10, 1.0), "register it before running"),
        (ArmResult("a", CELL, 1, 1.0), "seed 1 twice"),
    ],
)
def test_runs_that_were_not_registered_are_refused(run, message):
    with pytest.raises(InputError, match=message):
        arrange(hypothesis(BENEFIT), [*runs("a", [1.0] * 3), run])
