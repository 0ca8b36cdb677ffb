"""Hypotheses are data: the eight insights of the paper can be written down, and bad ones are
refused.
"""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.refs import Ref
from headcount.lab.judge.hypothesis import (
    AccuracyAtLeast,
    AccuracyBelow,
    ArmResult,
    BelowThreshold,
    Benefit,
    Hypothesis,
    NoBenefit,
    Part,
    Reported,
    cross,
)
from headcount.lab.judge.statistics import Region, Scale

CELLS = cross(lr=["1e-3", "3e-3"], p=["uniform", "log-spaced"])
TOY = {"scale": Scale.LOG10_RATIO, "trivial": 1.0, "cells": CELLS}
LM = {"scale": Scale.NATS, "trivial": math.log(128), "seeds": tuple(range(5))}


def paper(experiment: str) -> Ref:
    return Ref("wang-e-2024", f"Section 6, experiment {experiment}")


# A draft, with the criteria of each experiment, which shows that the records can say all of them.
EIGHT = (
    Hypothesis(
        id="1a",
        claim="For a language model depth gains more than heads do.",
        ref=paper("1a"),
        reported=(Reported("gain of layers, nats", 0.802), Reported("gain of heads, nats", 0.136)),
        # gain_L - gain_H = (base - deep) - (base - wide) = wide - deep: the common base cancels.
        parts=(
            Part(
                "layers against heads", Benefit(worse="wide", better="deep", equal_parameters=True)
            ),
        ),
        deviations=(
            "bytes of the standard library instead of OpenWebText",
            "equal tokens, 500 steps instead of 10,000",
        ),
        **LM,
    ),
    Hypothesis(
        id="1b",
        claim="For a fixed sparse memory one layer is enough.",
        ref=paper("1b"),
        parts=(
            Part(
                "one layer learns it",
                BelowThreshold(("lin-1-layer", "log-1-layer", "table-1-layer"), 0.01),
            ),
            Part(
                "more layers add nothing",
                NoBenefit("table-1-layer", "table-3-layers", equal_parameters=True),
            ),
        ),
        deviations=("lags 1, 2 for lin and log heads; lags 48, 56, 99 for a table",),
        **TOY,
    ),
    Hypothesis(
        id="2a",
        claim="A complex readout needs neurons, not heads.",
        ref=paper("2a"),
        reported=(Reported("MSE at small m", 0.49), Reported("MSE at large m", 0.002)),
        parts=(
            Part("neurons", Benefit("m-16", "m-256")),
            Part("heads", NoBenefit("m-256", "m-256-heads-8")),
        ),
        deviations=("triangle wave of 32 teeth at lag 1 instead of one bit",),
        **TOY,
    ),
    Hypothesis(
        id="2b",
        claim="A complex memory needs heads, not neurons.",
        ref=paper("2b"),
        reported=(Reported("MSE at H = 1", 1.16), Reported("MSE at large H", 1e-6)),
        parts=(
            Part("heads", Benefit("heads-1", "heads-4")),
            Part("neurons", NoBenefit("heads-4", "heads-4-m-256")),
        ),
        deviations=("kernel s^-1/2 with a linear readout instead of far lags",),
        **{**TOY, "trivial": 7.48},
    ),
    Hypothesis(
        id="3a",
        claim="For a fixed memory the dot product adds nothing.",
        ref=paper("3a"),
        parts=(
            Part("equal parameters", NoBenefit("dp-free-wide", "dp", equal_parameters=True)),
            Part("equal width", NoBenefit("dp-free", "dp")),
        ),
        **TOY,
    ),
    Hypothesis(
        id="3b",
        claim="For an adaptive memory the dot product is needed.",
        ref=paper("3b"),
        reported=tuple(
            Reported(f"loss {arm}", value) for arm, value in (("DP-free", 5.274), ("DP", 4.994))
        ),
        parts=(
            Part("equal parameters", Benefit("dp-free", "dp", equal_parameters=True)),
            Part("three times heads and width", Benefit("dp-free-3x", "dp")),
            Part("recall with", AccuracyAtLeast("recall-dp", 0.99)),
            Part("recall without", AccuracyBelow("recall-dp-free", 0.6)),
        ),
        **LM,
    ),
    Hypothesis(
        id="4a",
        claim="For a heavy tail log heads are better than lin heads.",
        ref=paper("4a"),
        reported=(Reported("log, 1 head: MSE", 1e-5, "<"), Reported("lin, 64 heads: MSE", 0.19)),
        parts=tuple(Part(f"{h} heads", Benefit(f"lin-{h}", f"log-{h}")) for h in (1, 4, 16)),
        expected="supported for trainability only",
        deviations=("s^-1/2 is not summable: a finite window, lags 1..999",),
        **{**TOY, "trivial": 7.48},
    ),
    Hypothesis(
        id="4b",
        claim="For a light tail lin heads are better than log heads.",
        ref=paper("4b"),
        reported=(Reported("lin, 1 head: MSE", 1e-7, "<"), Reported("log, 64 heads: MSE", 5.3e-4)),
        parts=tuple(Part(f"{h} heads", Benefit(f"log1p-{h}", f"lin-{h}")) for h in (1, 4, 16)),
        expected="depends on init",
        deviations=("log(1+s), since log heads cannot see lag 0",),
        **TOY,
    ),
)


def test_the_eight_insights_are_data():
    assert [h.id for h in EIGHT] == ["1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b"]
    assert {h.margin for h in EIGHT if h.scale is Scale.NATS} == {0.02}
    assert {h.margin for h in EIGHT if h.scale is Scale.LOG10_RATIO} == {0.30}
    assert all(h.confidence == pytest.approx(0.90) for h in EIGHT)
    assert len(CELLS) == 4
    assert EIGHT[6].arms == ("lin-1", "log-1", "lin-4", "log-4", "lin-16", "log-16")
    for h in EIGHT:
        assert all(part.claim.sentence(h.scale, h.margin) for part in h.parts)
        assert dataclasses.replace(h) == h


VALUES = {"a": np.array([0.1, 0.2, 0.4]), "b": np.array([0.01, 0.2, 0.04])}


@pytest.mark.parametrize(
    ("claim", "effects", "support", "refute"),
    [
        (Benefit("a", "b"), [[1, 0, 1]], Region(low=0.3), Region(high=0.3)),
        (NoBenefit("a", "b"), [[1, 0, 1]], Region(-0.3, 0.3), Region(low=0.3)),
        (
            BelowThreshold(("a", "b"), 0.1),
            [[0, -np.log10(2), -np.log10(4)], [1, -np.log10(2), np.log10(2.5)]],
            Region(low=0.0),
            Region(high=0.0),
        ),
        (AccuracyAtLeast("a", 0.2), [[-0.1, 0, 0.2]], Region(low=0.0), Region(high=0.0)),
        (AccuracyBelow("a", 0.2), [[0.1, 0, -0.2]], Region(low=0.0), Region(high=0.0)),
    ],
)
def test_effects_and_regions_of_each_claim(claim, effects, support, refute):
    assert claim.effects(VALUES, Scale.LOG10_RATIO) == pytest.approx(np.array(effects))
    assert claim.regions(0.3) == (support, refute)


def test_every_claim_has_a_unit():
    units = {type(part.claim).__name__: part.claim.unit(h.scale) for h in EIGHT for part in h.parts}
    assert units["BelowThreshold"] == "log10 ratio to the threshold"
    assert units["AccuracyAtLeast"] == units["AccuracyBelow"] == "accuracy"
    assert Benefit("a", "b").unit(Scale.NATS) == NoBenefit("a", "b").unit(Scale.NATS) == "nats"


def test_sentences_name_the_arms_and_the_margin():
    assert Benefit("a", "b").sentence(Scale.NATS, 0.02) == "b beats a by more than 0.02 (nats)"
    assert NoBenefit("a", "b").sentence(Scale.NATS, 0.02) == "b is within 0.02 (nats) of a"
    assert (
        BelowThreshold(("a", "b"), 0.01).sentence(Scale.NATS, 0.02)
        == "the best of a, b has a loss below 0.01"
    )
    assert str(Reported("MSE", 1e-5, "<")) == "MSE < 1e-05"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": ()}, "no parts"),
        ({"parts": EIGHT[0].parts * 2}, "given twice"),
        ({"cells": ()}, "no cells"),
        ({"cells": ("x", "x")}, "x given twice"),
        ({"seeds": (0, 1)}, "2 seeds; expected at least 3"),
        ({"seeds": (0, 1, 1)}, "1 given twice"),
        ({"margin": 0.0}, "margin 0"),
        ({"margin": math.inf}, "margin inf"),
        ({"alpha": 0.5}, "alpha 0.5"),
        ({"trivial": 0.0}, "trivial loss 0"),
    ],
)
def test_bad_hypotheses_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(EIGHT[0], **change)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"loss": math.nan}, "enter divergence as inf"),
        ({"loss": 0.0}, "loss 0"),
        ({"loss": -1.0}, "loss -1"),
        ({"floor": -1.0}, "floor -1"),
        ({"floor": math.nan}, "floor nan"),
        ({"floor": math.inf}, "floor inf"),
        ({"accuracy": 99.0}, "fraction, not percent"),
        ({"parameters": 0}, "0 parameters"),
    ],
)
def test_bad_results_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        ArmResult(**{"arm": "a", "cell": "c", "seed": 0, "loss": 1.0, **values})


def test_bad_claims_are_refused():
    with pytest.raises(InputError, match="no candidate"):
        BelowThreshold((), 0.1)
    with pytest.raises(InputError, match="threshold 0"):
        BelowThreshold(("a",), 0.0)
    with pytest.raises(InputError, match="not percent"):
        AccuracyAtLeast("a", 99)
    with pytest.raises(InputError, match="accuracy 0"):
        AccuracyBelow("a", 0.0)


def test_divergence_is_a_result():
    assert ArmResult("a", "c", 0, math.inf).diverged
    assert not ArmResult("a", "c", 0, 1.0).diverged
