"""The map of variants: cells that can be trained, outcomes with a controlled rate of errors."""

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.verdict import Outcome
from headcount.lab.study import Profile
from headcount.studies.probes import BASE, PROBES, VARIANTS
from headcount.studies.robustness import (
    EFFORTS,
    Cell,
    Robustness,
    asked,
    combinations,
    joined,
    judged,
)

PROBE = {probe.insight: probe for probe in PROBES}


def cell(insight, effects, variants=(BASE,)):
    return Cell(PROBE[insight], variants, np.asarray(effects, float))


def test_every_insight_has_a_probe_and_most_variants_apply():
    assert list(PROBE) == ["1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b"]
    for probe in PROBES:
        used = [v for v in VARIANTS if v.applies(probe)]
        assert len(used) >= 10
        assert not any(v.factor in probe.compares for v in used)


def test_clear_cells_are_decided_and_unclear_ones_are_not():
    yes, no = np.full(8, 1.0), np.full(8, -1.0)
    mixed = np.array([1.0, -1.0] * 4)
    found = judged([cell("4a", yes), cell("4a", no), cell("4a", mixed)])
    assert [c.outcome for c in found] == [Outcome.SUPPORTED, Outcome.REFUTED, Outcome.UNDECIDED]


def test_false_discoveries_are_rare_where_every_effect_lies_on_the_margin():
    rng = np.random.default_rng(0)
    margin, false = PROBE["4a"].claim.margin, 0
    for _ in range(100):
        cells = [cell("4a", margin + rng.standard_cauchy(8)) for _ in range(40)]
        false += any(c.outcome.decided for c in judged(cells))
    assert false <= 20  # both sides at 5% each


def test_what_turns_a_conclusion_is_told():
    sgd = next(v for v in VARIANTS if v.name == "sgd")
    cells = judged([cell("4a", np.full(8, 1.0)), cell("4a", np.full(8, -1.0), (sgd,))])
    found = Robustness(Profile.SMOKE, tuple(cells), ())
    assert [c.name for c in found.turning()] == ["sgd"]
    assert "not with optimiser sgd" in found.sentences()[0]


def test_combinations_fill_the_space_and_join_their_changes():
    probe = PROBE["2a"]
    singles = [v for v in VARIANTS if v.applies(probe)]
    made = combinations(probe, singles, 12)
    assert all(len({v.factor for v in c}) == len(c) == 3 for c in made)
    used = [sum(v in c for c in made) for v in singles]
    assert max(used) - min(used) <= 2
    both = joined([next(v for v in VARIANTS if v.name == "x4"), VARIANTS[0]])
    assert both.width == 4
    assert both.model == {"bias": "lin"}


def test_an_interaction_differs_from_every_factor_alone():
    a, b = VARIANTS[0], VARIANTS[11]
    good, bad = np.full(8, 1.0), np.full(8, -1.0)
    cells = judged([cell("2a", good), cell("2a", good, (a,)), cell("2a", good, (b,)),
                    cell("2a", bad, (a, b))])  # fmt: skip
    found = Robustness(Profile.SMOKE, tuple(cells), ())
    assert [c.variants for c in found.interactions()] == [(a, b)]


def test_smoke_asks_for_few_cells_and_refuses_nonsense():
    questions, refused = asked(["4b"], "smoke")
    assert not refused
    assert {v.factor for _, vs in questions for v in vs} == {
        "base", *EFFORTS[Profile.SMOKE].factors
    }  # fmt: skip
    with pytest.raises(InputError, match="insight"):
        asked(["9z"], "smoke")
    with pytest.raises(InputError, match="profile"):
        asked(None, "huge")
