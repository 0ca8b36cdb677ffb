"""Records refuse what cannot be, and pass through JSON unchanged."""

import dataclasses
import json
import math

import pytest

from headcount.core.errors import InputError
from headcount.report.arms import ACCURACY, Arm, Learned, Metric, Possible, Representable
from headcount.report.records import (
    OUTCOMES,
    Erratum,
    Experiment,
    FindingRow,
    Report,
    SpecFile,
    Table,
    VerdictRow,
)
from tests.report import example


def test_a_lower_bound_above_the_possible_value_is_refused():
    with pytest.raises(InputError, match="lower bound 2 above the possible value 1"):
        Arm("4a", "lin", possible=Possible(1.0, 2.0))
    # where larger is better there is no such order
    Arm("4a", "lin", metric=ACCURACY, possible=Possible(1.0, 2.0))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mean": 1.0, "seeds": 3, "diverged": 4}, "no more than all"),
        ({"mean": 1.0, "seeds": 3, "diverged": 3}, "if and only if"),
        ({"seeds": 3}, "if and only if"),
        ({"mean": 1.0, "low": 1.5, "high": 2.0, "seeds": 3}, "low <= mean <= high"),
    ],
)
def test_learned_numbers_that_cannot_be_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Learned(**values)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_inf_and_nan_are_refused(value):
    with pytest.raises(InputError, match="finite number, or None"):
        Arm("4a", "lin", representable=Representable(float32=value))
    with pytest.raises(InputError, match="finite number, or None"):
        VerdictRow("4a", "claim", "supported", measured=value)
    with pytest.raises(InputError, match="finite number, or None"):
        FindingRow("part", "cell", bca=(value, 1.0))


def test_a_measurement_below_the_certificate_is_a_doubt():
    arm = Arm(
        "4a",
        "lin",
        possible=Possible(0.3, 0.2),
        representable=Representable(0.3, 0.1),
        learned=Learned(0.15, 0.1, 0.19, 10),
    )
    assert [doubt.split()[1] for doubt in arm.doubts()] == ["learned", "bfloat16"]
    fair = dataclasses.replace(
        arm, learned=Learned(0.15, 0.1, 0.21, 10), representable=Representable(0.3, 0.4)
    )
    assert fair.doubts() == ()  # the interval still reaches the bound


EXACT = Metric("population MSE")


def test_one_exact_seed_below_the_certificate_is_a_doubt():
    arm = Arm(
        "2b",
        "lin",
        EXACT,
        possible=Possible(0.3, 0.2),
        learned=Learned(0.21, 0.19, 0.23, 10, best=0.19),
    )
    assert ["learned 0.19" in doubt for doubt in arm.doubts()] == [True]
    assert dataclasses.replace(arm, metric=Metric("MSE")).doubts() == ()  # a sampled loss has noise
    # the end of an interval is no seed
    assert dataclasses.replace(arm, learned=Learned(0.21, 0.19, 0.23, 3, best=0.2)).doubts() == ()
    assert len(dataclasses.replace(arm, learned=Learned(0.19, 0.17, 0.21, 3)).doubts()) == 1


def test_an_exact_loss_far_below_the_best_known_weights_is_a_doubt():
    arm = Arm(
        "depth",
        "lag-8",
        EXACT,
        possible=Possible(0.1),
        representable=Representable(0.9),
        learned=Learned(0.4, 0.4, 0.4, 3),
    )
    assert ["half of the best that was known, 0.9" in doubt for doubt in arm.doubts()] == [True]
    assert dataclasses.replace(arm, learned=Learned(0.5, 0.4, 0.6, 3)).doubts() == ()
    assert dataclasses.replace(arm, metric=Metric("MSE")).doubts() == ()
    assert dataclasses.replace(arm, possible=Possible(0.9, constant=True)).doubts() == ()


def test_rounded_curves_may_lie_a_rounding_below_the_certificate():
    arm = Arm(
        "bias",
        "alibi",
        EXACT,
        possible=Possible(0.2, 0.2),
        representable=Representable(0.2 * (1 - 1e-8), 0.199),
    )
    assert arm.doubts() == ()
    assert len(dataclasses.replace(arm, representable=Representable(0.199, 0.19)).doubts()) == 2


def test_verdicts_of_the_lab_pass_through_unchanged():
    rows = example.verdicts()
    assert {row.verdict for row in rows} == set(OUTCOMES)
    for row in rows:
        plain = json.loads(json.dumps(row.to_json(), allow_nan=False))
        assert VerdictRow.from_json(plain) == row
        asked = [
            "id",
            "claim",
            "verdict",
            "qualifier",
            "paper",
            "measured",
            "ci",
            "floor",
            "seeds",
            "p_adjusted",
            "deviations",
        ]
        assert list(plain)[: len(asked)] == asked


def test_a_verdict_that_is_not_known_is_refused():
    with pytest.raises(InputError, match=r"unknown verdict 'suported'.*nearest: 'supported'"):
        VerdictRow("4a", "claim", "suported")
    with pytest.raises(InputError, match="VerdictRow with colour"):
        VerdictRow.from_json({"id": "4a", "claim": "c", "verdict": "supported", "colour": "red"})


def test_an_erratum_needs_evidence():
    with pytest.raises(InputError, match="evidence is empty"):
        Erratum("18", "Section 6", "printed", "found", " ", "software")


@pytest.mark.parametrize("name", ["../x.json", "a/b.json", "", ".hidden"])
def test_a_spec_file_is_a_plain_name(name):
    with pytest.raises(InputError, match="plain file name"):
        SpecFile(name, "{}")


def test_a_row_of_another_length_is_refused():
    with pytest.raises(InputError, match="a row of 1; expected 2 cells"):
        Table("rates", "slopes", ("a", "b"), ((1.0,),))


def test_a_report_knows_its_sections():
    base = Report("title", "smoke", 1.0, "headcount reproduce", (Experiment("4a", "tails"),))
    with pytest.raises(InputError, match="unknown experiment '4b'"):
        dataclasses.replace(base, verdicts=(VerdictRow("4b", "claim", "supported"),))
    twice = (VerdictRow("x", "claim", "supported", experiment="4a"),) * 2
    with pytest.raises(InputError, match="verdict x given twice"):
        dataclasses.replace(base, verdicts=twice)
    with pytest.raises(InputError, match="seconds"):
        dataclasses.replace(base, seconds=math.nan)
