"""The first screen: every verdict once, in order, told in words that its numbers bear out."""

import dataclasses
import math

import pytest

from headcount.lab.judge.hypothesis import Kind
from headcount.lab.judge.verdict import Outcome, Verdict
from headcount.report.grid import INSIGHTS, amount, grid, in_order, judges_training, opening
from tests.report import example

CONTRAST = Verdict("4a", Kind.CONTRAST, "c", Outcome.SUPPORTED, "s", effect=2.0)


def test_the_order_is_exists_trained_contrast_of_each_insight_and_further_claims_last():
    found = in_order(example.outcomes()[::-1])
    assert [v.key for v in found] == [
        *("1a-exists", "1a-trained", "1a-contrast"),
        *("1b-exists", "1b-trained", "1b-contrast"),
        *("2a-exists", "2a-trained", "2a-contrast"),
        *("4a-exists", "4a-trained", "4a-contrast"),
        *("4b-trained", "4b-contrast"),
        "4a-contrast-16 heads",
    ]
    assert [v.further for v in found] == [False] * 14 + [True]


def test_a_verdict_of_two_studies_is_shown_once():
    twice = [example.studied("4a", told=example.of("4a"))] * 2
    assert len(in_order(twice)) == 4


def test_the_grid_has_a_row_for_each_insight_and_a_gap_where_there_is_no_claim():
    rows = grid(in_order(example.outcomes()))
    assert [row.insight for row in rows] == ["1a", "1b", "2a", "4a", "4b"]
    assert [[None if c is None else str(c.outcome) for c in row.cells] for row in rows] == [
        ["supported", "supported", "undecided"],
        ["undecided", "supported", "not judged"],
        ["supported", "refuted", "undecided"],
        ["refuted", "supported", "supported"],
        [None, "undecided", "undecided"],
    ]
    assert all(row.claim == INSIGHTS[row.insight] for row in rows)
    other = dataclasses.replace(CONTRAST, insight="5x")
    assert grid([other])[0].claim == "c"


def test_sentences_say_what_the_verdicts_say():
    rows = {row.insight: row.sentence for row in grid(in_order(example.outcomes()))}
    assert rows["4a"] == (
        "What is claimed of weights is false (best weights known: 4e-8); trained models do what is"
        " claimed (threshold passed by a factor of 1.7); the comparison comes out as claimed"
        " (loss smaller by a factor of 31,000)."
    )
    assert rows["1b"].endswith("; the comparison is not judged here.")
    assert "threshold missed by a factor of 6.9" in rows["2a"]
    assert "about 6,500 seeds would decide" in rows["4b"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scale": "log10 ratio", "effect": -0.6}, "loss larger by a factor of 4"),
        ({"scale": "explained variance", "effect": 0.0123}, "1.2% of the variance better"),
        ({"scale": "nats", "effect": -0.08}, "0.08 nats worse"),
        (
            {"scale": "accuracy", "effect": 0.03, "kind": Kind.TRAINED},
            "threshold passed by 3 in 100 answers",
        ),
        ({"scale": "log10 ratio", "effect": math.inf}, ""),
        ({"effect": None}, ""),
    ],
)
def test_effects_in_plain_words(changes, told):
    assert amount(dataclasses.replace(CONTRAST, **changes)) == told


def test_the_opening_counts_what_was_judged():
    found = in_order(example.outcomes())
    assert opening(found, "laptop") == (
        "Of 14 claims of the paper, 13 were judged in profile laptop: 6 supported, 2 refuted and"
        " 5 undecided.",
        "1 is not judged here.",
        "1 further claim, which the paper does not make, is told apart.",
    )
    unjudged = [dataclasses.replace(v, outcome=Outcome.NOT_JUDGED) for v in found if not v.further]
    assert opening(unjudged, "smoke") == (
        "None of the 14 claims of the paper was judged in profile smoke.",
    )


def test_what_exists_is_no_verdict_on_training():
    exists = [v for v in in_order(example.outcomes()) if v.kind is Kind.EXISTS]
    assert not judges_training(exists)
    assert not judges_training([dataclasses.replace(CONTRAST, outcome=Outcome.NOT_JUDGED)])
    assert judges_training([*exists, CONTRAST])
