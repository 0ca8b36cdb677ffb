"""Findings: what a diverged, missing, unequal or unlearned arm does to one part."""

import dataclasses
import json
import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.evidence import Blocked, Finding, findings
from headcount.lab.judge.hypothesis import (
    AbstractComparison,
    AccuracyAtLeast,
    ArmResult,
    BelowThreshold,
    Benefit,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
)
from headcount.lab.judge.statistics import Looks, Scale

BENEFIT = Benefit("a", "b", Scale.LOG10_RATIO)


def hypothesis(claim: AbstractComparison, **changes) -> Hypothesis:
    parts = (Part("part", claim),)
    return dataclasses.replace(
        Hypothesis("x", Kind.CONTRAST, "A claim.", parts, trivial=1.0), **changes
    )


def runs(arm, losses, **fields):
    return [ArmResult(arm, seed, float(loss), **fields) for seed, loss in enumerate(losses)]


def spread(centre, seed=0, size=10):
    return centre * 10 ** np.random.default_rng(seed).normal(0, 0.1, size)


def one(claim, results, seeds=range(40), **changes) -> Finding:
    return findings(hypothesis(claim, **changes), results, list(seeds))[0]


def test_a_clear_benefit():
    found = one(BENEFIT, runs("a", spread(0.5), floor=0.4) + runs("b", spread(0.01, 1)))
    assert found.p == pytest.approx(Looks().factor * 2**-10)
    assert found.p_refute == 1
    assert found.effect == pytest.approx(np.median(np.log10(spread(0.5) / spread(0.01, 1))))
    assert found.interval.low < found.effect < found.interval.high
    assert found.t.low < found.mean < found.t.high
    assert (found.losing, found.floor, found.seeds) == ("a", 0.4, 10)
    assert found.learned["a"] == pytest.approx(np.median(spread(0.5)))
    assert found.beside["explained variance"] == pytest.approx(0.5, abs=0.1)


def test_only_whole_looks_count():
    losses = runs("a", spread(0.5, size=19)) + runs("b", spread(0.01, 1, size=25))
    assert one(BENEFIT, losses).seeds == 10
    early = one(BENEFIT, runs("a", spread(0.5, size=9)) + runs("b", spread(0.01, size=20)))
    assert (early.seeds, early.p, early.p_refute, early.effect) == (0, 1.0, 1.0, None)


def test_a_gap_in_the_seeds_ends_what_counts():
    """Seed 5 of b failed: what comes after it is not judged as if it had been the next one."""
    some = [run for run in runs("b", spread(0.01, 1, size=20)) if run.seed != 5]
    assert one(BENEFIT, runs("a", spread(0.5, size=20)) + some).seeds == 0


def test_seeds_count_in_the_order_registered():
    seeds = list(range(39, -1, -1))
    results = [ArmResult(arm, s, 0.5 if arm == "a" else 0.01) for arm in "ab" for s in seeds[:10]]
    assert one(BENEFIT, results, seeds).seeds == 10


def test_unregistered_runs_are_refused():
    with pytest.raises(InputError, match="registered seed"):
        one(BENEFIT, runs("a", spread(0.5)), seeds=range(5))
    with pytest.raises(InputError, match="twice"):
        one(BENEFIT, runs("a", spread(0.5)) + runs("a", spread(0.5)))
    with pytest.raises(InputError, match="unknown arm"):
        one(BENEFIT, runs("c", spread(0.5)))


def test_one_diverged_run_cannot_make_a_verdict():
    losses = spread(0.01)
    found = one(BENEFIT, runs("a", [math.inf, *losses[1:]]) + runs("b", losses * 1.001))
    assert found.p == 1
    assert found.diverged == {"a": 1}
    assert found.effect == pytest.approx(0, abs=0.01)


def test_a_clear_benefit_survives_diverged_runs_of_the_losing_arm():
    found = one(BENEFIT, runs("a", [math.inf] * 3 + [0.5] * 7) + runs("b", spread(0.01)))
    assert found.p == pytest.approx(Looks().factor * 2**-10)
    json.dumps(found.to_json(), allow_nan=False)


def test_pairs_that_both_diverged_count_for_nobody():
    a, b = [math.inf] * 10, [math.inf] * 9 + [0.1]
    found = one(BENEFIT, runs("a", a) + runs("b", b))
    assert found.p > 0.9
    assert found.p_refute > 0.9
    json.dumps(found.to_json(), allow_nan=False)


def test_no_benefit_is_one_sided():
    """Worse by more than the margin is no benefit either."""
    claim = NoBenefit("a", "b", Scale.EXPLAINED)
    worse = one(claim, runs("a", spread(0.01)) + runs("b", spread(0.3)))
    assert worse.p < 0.01
    better = one(claim, runs("a", spread(0.3)) + runs("b", spread(0.01)))
    assert better.p_refute < 0.01


def test_arms_that_learned_nothing_decide_nothing():
    claim = NoBenefit("a", "b", Scale.EXPLAINED)
    found = one(claim, runs("a", [0.999] * 10) + runs("b", [1.0] * 10))
    assert (found.blocked, found.p, found.p_refute) == (Blocked.UNLEARNED, 1.0, 1.0)
    assert one(claim, runs("a", [0.5] * 10) + runs("b", [0.5] * 10)).blocked is None


def test_equal_parameters_are_checked():
    claim = dataclasses.replace(BENEFIT, equal_parameters=True)

    def of(a, b):
        return one(
            claim, runs("a", [0.5] * 10, parameters=a) + runs("b", [0.01] * 10, parameters=b)
        )

    assert of(100, 104).blocked is None
    assert of(100, 106).blocked is Blocked.UNEQUAL
    assert of(100, None).blocked is Blocked.UNEQUAL


def test_thresholds_and_accuracies():
    claim = BelowThreshold("a", 0.01)
    assert one(claim, runs("a", [0.005] * 10)).p < 0.01
    over = one(claim, runs("a", [0.02] * 10, floor=1e-6))
    assert over.p_refute < 0.01
    assert over.losing == "a"
    assert over.far_above_floor(1.0)
    right = AccuracyAtLeast("a", 0.99)
    assert one(right, runs("a", [0.1] * 10, accuracy=1.0)).p < 0.01
    assert one(right, runs("a", [math.inf] * 10)).p_refute < 0.01


def test_near_its_floor_an_arm_is_limited_by_its_architecture():
    found = one(BENEFIT, runs("a", spread(0.5), floor=0.4) + runs("b", spread(0.01)))
    assert not found.far_above_floor(1.0)
    far = one(BENEFIT, runs("a", spread(0.5), floor=0.0) + runs("b", spread(0.01)))
    assert far.far_above_floor(1.0)
