"""Claims as data: effects, regions, words, and what is refused."""

import dataclasses

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.hypothesis import (
    AccuracyAtLeast,
    AccuracyBelow,
    ArmResult,
    BelowThreshold,
    Benefit,
    Equivalent,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
    Reported,
)
from headcount.lab.judge.statistics import Region, Scale

RATIO = Scale.LOG10_RATIO
LEVELS = {"a": np.array([-1.0, -2.0]), "b": np.array([-3.0, -1.0])}
EVERY = {
    "benefit": (Benefit("a", "b", RATIO), [2, -1], Region(low=0.3), (Region(high=0.3),), 0.6),
    "no benefit": (NoBenefit("a", "b", RATIO), [2, -1], Region(high=0.3), (Region(low=0.3),), 0.0),
    "equivalent": (
        Equivalent("a", "b", Scale.EXPLAINED),
        [2, -1],
        Region(-0.01, 0.01),
        (Region(low=0.01), Region(high=-0.01)),
        0.0,
    ),
    "threshold": (BelowThreshold("a", 0.01), [-1, 0], Region(low=0.0), (Region(high=0.0),), 0.3),
    "accuracy": (
        AccuracyAtLeast("a", 0.9),
        [-1.9, -2.9],
        Region(low=0.0),
        (Region(high=0.0),),
        0.05,
    ),
    "below": (AccuracyBelow("a", 0.6), [1.6, 2.6], Region(low=0.0), (Region(high=0.0),), 0.15),
}


@pytest.mark.parametrize("name", EVERY)
def test_effects_and_regions(name):
    claim, effects, support, refute, registered = EVERY[name]
    assert claim.effects(LEVELS, 1.0) == pytest.approx(effects)
    assert (claim.support, claim.refute) == (support, refute)
    assert claim.registered == pytest.approx(registered)
    # the registered effect lies where the claim is supported: the design can come out its way
    assert claim.support.low < claim.registered < claim.support.high


def test_support_and_refutation_do_not_overlap():
    for claim, *_ in EVERY.values():
        for region in claim.refute:
            assert region.low >= claim.support.high or region.high <= claim.support.low


def test_words():
    told = [claim.sentence() for claim, *_ in EVERY.values()]
    assert told == [
        "b beats a by more than 0.3 (log10 ratio)",
        "b gains at most 0.3 (log10 ratio) on a",
        "b is within 0.01 (explained variance) of a",
        "a has a loss below 0.01",
        "a has an accuracy of at least 0.9",
        "a has an accuracy below 0.6",
    ]
    assert str(Reported("lin", 1e-5, "<")) == "lin < 1e-05"


def test_two_diverged_runs_are_no_effect():
    both = {"a": np.array([np.inf, np.inf]), "b": np.array([np.inf, 1.0])}
    effects = Benefit("a", "b", RATIO).effects(both, 1.0)
    assert np.isnan(effects[0])
    assert effects[1] == np.inf


HYPOTHESIS = Hypothesis("4a", Kind.CONTRAST, "A claim.", (Part("p", EVERY["benefit"][0]),), 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": Kind.EXISTS}, "of kind exists"),
        ({"parts": ()}, "has no parts"),
        ({"parts": HYPOTHESIS.parts * 2}, "given twice"),
        ({"alpha": 0.5}, "alpha 0.5"),
        ({"trivial": 0.0}, "trivial loss 0"),
        ({"name": "more"}, "one claim of a kind"),
    ],
)
def test_hypotheses_refuse(changes, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(HYPOTHESIS, **changes)


def test_keys():
    further = dataclasses.replace(HYPOTHESIS, further=True, name="16 heads")
    assert (HYPOTHESIS.key, further.key) == ("4a-contrast", "4a-contrast-16 heads")
    assert HYPOTHESIS.arms == ("a", "b")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BelowThreshold("a", 0.0), "threshold 0"),
        (lambda: AccuracyAtLeast("a", 99.0), "accuracy 99"),
        (lambda: AccuracyBelow("a", 0.0), "accuracy 0"),
        (lambda: Benefit("a", "b", RATIO, margin=-1.0), "margin -1"),
        (lambda: ArmResult("a", 0, float("nan")), "NaN"),
        (lambda: ArmResult("a", 0, 0.0), "loss 0"),
        (lambda: ArmResult("a", 0, 1.0, floor=-1.0), "floor -1"),
        (lambda: ArmResult("a", 0, 1.0, accuracy=2.0), "accuracy 2"),
        (lambda: ArmResult("a", 0, 1.0, parameters=0), "0 parameters"),
        (lambda: ArmResult("a", 0, 1.0).value(Scale.ACCURACY), "no accuracy"),
    ],
)
def test_values_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()
