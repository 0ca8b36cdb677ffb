"""Verdicts: synthetic results that must give each outcome and each qualifier, and studies under
the null that must not.
"""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats

from headcount.core.errors import InputError
from headcount.core.refs import Ref
from headcount.lab.judge.hypothesis import (
    AccuracyAtLeast,
    ArmResult,
    BelowThreshold,
    Benefit,
    Hypothesis,
    NoBenefit,
    Part,
    Reported,
    cross,
)
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Outcome, Qualifier, decide, decide_family
from tests.lab.verdict_keys import VERDICT_KEYS

CELLS = cross(lr=["1e-3", "3e-3"], p=["uniform", "log-spaced"])
HYPOTHESIS = Hypothesis(
    id="4a",
    claim="For a heavy tail log heads are better than lin heads.",
    ref=Ref("wang-e-2024", "Section 6, experiment 4a"),
    reported=(Reported("lin, 64 heads: MSE", 0.19),),
    parts=(Part("16 heads", Benefit("lin", "log")),),
    scale=Scale.LOG10_RATIO,
    trivial=7.48,
    cells=CELLS,
    deviations=("finite window",),
)
COMPOUND = dataclasses.replace(
    HYPOTHESIS, parts=(*HYPOTHESIS.parts, Part("neurons", NoBenefit("log", "log-wide")))
)


def results(losses, cells=CELLS, seeds=range(10), sd=0.1, rng_seed=0, floors=None):
    """Log-normal runs; `losses` by arm, or by (arm, cell)."""
    rng = np.random.default_rng(rng_seed)
    arms = list(dict.fromkeys(key if isinstance(key, str) else key[0] for key in losses))
    return [
        ArmResult(
            arm,
            cell,
            seed,
            losses.get((arm, cell), losses.get(arm)) * 10 ** rng.normal(0, sd),
            (floors or {}).get(arm),
        )
        for arm in arms
        for cell in cells
        for seed in seeds
    ]


def verdict(losses, hypothesis=HYPOTHESIS, family_size=8, **how):
    return decide(hypothesis, results(losses, **how), family_size, resamples=0)


def test_supported():
    found = verdict({"lin": 0.2, "log": 0.01})
    assert found.outcome is Outcome.SUPPORTED
    assert found.qualifiers == ()
    assert found.measured == pytest.approx(np.log10(20), abs=0.2)
    assert found.ci.low > 0.3
    assert found.p_adjusted == pytest.approx(8 * found.p)
    assert found.deviations == ("finite window",)


def test_not_supported():
    found = verdict({"lin": 0.01, "log": 0.01})
    assert found.outcome is Outcome.NOT_SUPPORTED
    assert found.ci.high < 0.3
    assert found.sentence.startswith("At least one part is refuted")


def test_inconclusive():
    found = verdict({"lin": 0.02, "log": 0.01}, sd=0.2, rng_seed=1)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.ci.low < 0.3 < found.ci.high
    assert found.sentence.startswith("The runs neither support nor refute")


def test_one_cell_of_four_just_below_the_margin_does_not_refute():
    found = verdict({"lin": 0.02, "log": 0.01}, sd=0.2, rng_seed=0)
    assert found.ci.high < 0.3
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "not after correction for 4 comparisons" in found.sentence


def test_outside_whatever_was_measured():
    outside = dataclasses.replace(HYPOTHESIS, outside="s^-1/2 is not summable")
    for losses, alone in (
        ({"lin": 0.2, "log": 0.01}, "supported"),
        ({"lin": 0.01, "log": 0.01}, "not supported"),
    ):
        found = verdict(losses, outside)
        assert found.outcome is Outcome.OUTSIDE
        assert found.p_adjusted is None
        assert found.measured is not None
        assert f"s^-1/2 is not summable. The runs alone would read: {alone}." in found.sentence


def test_trainability_when_the_losing_arm_is_far_above_its_floor():
    losses = {"lin": 0.2, "log": 0.001}
    assert verdict(losses, floors={"lin": 1e-8}).qualifiers == (Qualifier.TRAINABILITY,)
    assert verdict(losses, floors={"lin": 0.1}).qualifiers == ()
    # the winning arm's floor says nothing
    assert verdict(losses, floors={"log": 1e-8}).qualifiers == ()
    assert verdict(losses).qualifiers == ()  # no floor, no claim
    found = verdict(losses, floors={"lin": 1e-8})
    assert found.floor == 1e-8
    assert "its computed floor is 1e-08" in found.sentence


def test_the_qualifier_says_where_the_architecture_decides():
    """Two parts, both supported: in one the losing arm is at its floor, in the other far above
    it.
    """
    parts = (*HYPOTHESIS.parts, Part("1 head", Benefit("lin-1", "log")))
    h = dataclasses.replace(HYPOTHESIS, parts=parts)
    found = verdict({"lin": 0.2, "log": 0.01, "lin-1": 1.9}, h, floors={"lin": 1e-8, "lin-1": 1.87})
    assert found.qualifiers == (Qualifier.TRAINABILITY,)
    assert "16 heads: lin learned" in found.sentence
    assert (
        "1 head: lin-1 is within 10 times its floor wherever it fell short, so there the"
        " architecture decides." in found.sentence
    )
    alone = verdict({"lin": 0.2, "log": 0.01, "lin-1": 1.9}, h, floors={"lin": 0.1, "lin-1": 1.87})
    assert alone.qualifiers == ()
    assert "the architecture decides" not in alone.sentence  # nothing to set apart


def test_a_refutation_says_what_was_claimed_and_how_sure_it_is():
    found = verdict({"lin": 0.012, "log": 0.01})  # log is better, by less than the margin
    assert found.outcome is Outcome.NOT_SUPPORTED
    assert "Claimed there: log beats lin by more than 0.3 (log10 ratio)." in found.sentence
    assert "Against the claim: p = " in found.sentence
    assert "corrected for 4 comparisons" in found.sentence
    alone = verdict(
        {"lin": 0.012, "log": 0.01},
        dataclasses.replace(HYPOTHESIS, cells=("default",)),
        cells=("default",),
    )
    assert "Against the claim: p = " in alone.sentence
    assert "comparisons" not in alone.sentence


def test_what_keeps_comparisons_from_deciding_is_said_once():
    nothing = verdict({"lin": 7.4, "log": 7.4})
    (told,) = [d for d in nothing.deviations if "constant predictor" in d]
    assert told.startswith("4 of 4 comparisons: neither arm")


def test_no_trainability_if_one_cell_trained_to_the_floor():
    losses = {"lin": 0.2, "log": 1e-4, ("lin", CELLS[2]): 0.011}
    assert verdict(losses, floors={"lin": 0.01}).qualifiers == ()
    assert verdict({**losses, ("lin", CELLS[2]): 0.2}, floors={"lin": 0.01}).qualifiers == (
        Qualifier.TRAINABILITY,
    )


def test_a_benefit_that_fails_for_want_of_training_says_so():
    """Experiment 2a's expectation: 256 neurons could be exact, and learn no more than 16."""
    equal = {"lin": 0.2, "log": 0.2}
    found = verdict(equal, floors={"lin": 0.15, "log": 1e-8})
    assert (found.outcome, found.qualifiers) == (Outcome.NOT_SUPPORTED, (Qualifier.TRAINABILITY,))
    assert "log learned 0.1" in found.sentence
    # log was to be better, and is where it can be
    assert verdict(equal, floors={"lin": 1e-8, "log": 0.15}).qualifiers == ()


def test_a_benefit_between_arms_that_learned_nothing_is_not_refuted():
    """Experiment 2a as run: 0.326 and 0.327 of a variance of 0.333; 256 neurons could be exact."""
    h = dataclasses.replace(HYPOTHESIS, trivial=0.333)
    nothing = {"lin": 0.327, "log": 0.326}
    found = verdict(nothing, h, sd=0.001, floors={"lin": 0.15, "log": 1e-8})
    assert (found.outcome, found.qualifiers) == (Outcome.INCONCLUSIVE, (Qualifier.TRAINABILITY,))
    assert "neither arm beats the constant predictor" in found.sentence
    assert "log learned 0.326 at best, its computed floor is 1e-08" in found.sentence
    assert verdict(nothing, h, sd=0.001, floors={"lin": 1e-8, "log": 0.15}).qualifiers == ()
    learned = {"lin": 0.1, "log": 0.1}
    assert verdict(learned, h, sd=0.001).outcome is Outcome.NOT_SUPPORTED


def test_the_best_that_an_arm_learned_is_over_all_cells():
    """Behind in three cells, level in the fourth, where it learned a hundred times more."""
    found = verdict(
        {"lin": 0.2, "log": 1e-3, ("lin", CELLS[2]): 2e-3}, sd=0.001, floors={"lin": 1e-8}
    )
    assert Qualifier.TRAINABILITY in found.qualifiers
    assert (
        "lin learned 0.2 at best in the 3 of 4 cells where it fell short (0.002 over all cells)"
        in found.sentence
    )
    everywhere = verdict(
        {"lin": 0.2, "log": 1e-3, ("lin", CELLS[2]): 0.1}, sd=0.001, floors={"lin": 1e-8}
    )
    assert "lin learned 0.1 at best, its computed floor is 1e-08." in everywhere.sentence


def test_every_arm_that_fell_short_is_named():
    found = verdict(
        {"lin": 0.2, "log": 0.01, ("lin", CELLS[0]): 0.001},
        sd=0.001,
        floors={"lin": 1e-9, "log": 1e-9},
    )
    assert (
        "lin learned 0.2 at best in the 3 of 4 cells where it fell short (0.001 over all cells)"
        in found.sentence
    )
    assert (
        "log learned 0.01 at best in the 1 of 4 cells where it fell short (0.01 over all cells)"
        in found.sentence
    )


def test_parts_are_listed_by_what_the_runs_say():
    parts = (
        *HYPOTHESIS.parts,
        Part("neurons, wide", NoBenefit("log", "log-wide")),
        Part("open", Benefit("lin", "near")),
    )
    h = dataclasses.replace(HYPOTHESIS, parts=parts)
    losses = {"lin": 0.2, "log": 0.01, "log-wide": 0.001, "near": 0.1}
    assert (
        'Parts supported: "16 heads"; refuted: "neurons, wide"; undecided: "open".'
        in verdict(losses, h).sentence
    )
    good = {"lin": 0.2, "log": 0.01, "log-wide": 0.01, "near": 0.01}
    assert 'Parts supported: "16 heads", "neurons, wide", "open".' in verdict(good, h).sentence
    one_cell = {**good, ("log-wide", CELLS[1]): 0.001}
    assert (
        'Parts supported: "16 heads", "open"; refuted: "neurons, wide".'
        in verdict(one_cell, h).sentence
    )
    assert "Parts" not in verdict({"lin": 0.2, "log": 0.01}).sentence


def test_the_deciding_effect_has_its_own_unit():
    h = dataclasses.replace(
        HYPOTHESIS,
        scale=Scale.NATS,
        margin=0.02,
        parts=(Part("recall", AccuracyAtLeast("lin", 0.9)),),
    )
    runs = [dataclasses.replace(run, accuracy=0.5) for run in results({"lin": 0.2})]
    found = decide(h, runs, resamples=0)
    assert "effect -0.4 [-0.4, -0.4] (accuracy)" in found.sentence
    assert {finding["unit"] for finding in found.to_json()["findings"]} == {"accuracy"}


def test_no_trainability_in_nats():
    h = dataclasses.replace(HYPOTHESIS, scale=Scale.NATS, margin=0.02)
    assert verdict({"lin": 3.0, "log": 0.5}, h, floors={"lin": 0.01}).qualifiers == ()


def test_a_threshold_missed_far_above_the_floor_is_trainability():
    h = dataclasses.replace(HYPOTHESIS, parts=(Part("learns it", BelowThreshold(("lin",), 0.01)),))
    found = verdict({"lin": 0.5}, h, floors={"lin": 1e-6})
    assert (found.outcome, found.qualifiers) == (Outcome.NOT_SUPPORTED, (Qualifier.TRAINABILITY,))


def test_depends_on_the_cell():
    """Experiment 4b's expectation: reversed for one initialisation, so the claim as stated is
    refuted and says on what it hangs.
    """
    reversed_in = {("lin", cell): 0.001 for cell in CELLS if cell.endswith("log-spaced")}
    found = verdict({"lin": 0.2, "log": 0.01, **reversed_in})
    assert (found.outcome, found.qualifiers) == (Outcome.NOT_SUPPORTED, (Qualifier.DEPENDS,))
    assert "refuted in lr=1e-3,p=log-spaced and lr=3e-3,p=log-spaced." in found.sentence
    weak = verdict({"lin": 0.2, "log": 0.01, ("lin", CELLS[0]): 0.02})
    assert (weak.outcome, weak.qualifiers) == (Outcome.INCONCLUSIVE, (Qualifier.DEPENDS,))
    assert f"supported in {' and '.join(CELLS[1:])}; undecided in {CELLS[0]}." in weak.sentence
    assert "efuted" not in weak.sentence
    three = verdict({"lin": 0.2, "log": 0.01, ("lin", CELLS[0]): 0.02, ("lin", CELLS[1]): 0.001})
    assert (
        f"supported in {' and '.join(CELLS[2:])}; refuted in {CELLS[1]}; undecided in {CELLS[0]}."
        in three.sentence
    )


def test_both_qualifiers():
    reversed_in = {("lin", CELLS[0]): 0.001}
    found = verdict({"lin": 0.2, "log": 0.01, **reversed_in}, floors={"lin": 1e-9, "log": 1e-9})
    assert set(found.qualifiers) == set(Qualifier)
    assert (
        found.to_json()["qualifier"] == "trainability, not expressivity; depends on optimiser/init"
    )


def test_missing_runs_are_inconclusive_and_no_dependence():
    runs = [
        run
        for run in results({"lin": 0.2, "log": 0.01})
        if not (run.cell == CELLS[1] and run.seed == 4 and run.arm == "log")
    ]
    found = decide(HYPOTHESIS, runs, 8, resamples=0)
    assert (found.outcome, found.qualifiers, found.p_adjusted) == (Outcome.INCONCLUSIVE, (), 1.0)
    assert "missing: 1 of 10 runs of log" in found.sentence
    assert any("missing" in deviation for deviation in found.deviations)
    assert decide(HYPOTHESIS, [], resamples=0).outcome is Outcome.INCONCLUSIVE


def test_divergence_is_said_and_makes_a_cell_depend_on_the_optimiser():
    runs = [
        (
            dataclasses.replace(run, loss=math.inf)
            if run.arm == "lin" and run.cell == CELLS[3]
            else run
        )
        for run in results({"lin": 0.2, "log": 0.01})
    ]
    found = decide(HYPOTHESIS, runs, 8, resamples=0)
    assert (found.outcome, found.qualifiers) == (Outcome.INCONCLUSIVE, (Qualifier.DEPENDS,))
    assert any("10 of 10 runs of lin diverged" in deviation for deviation in found.deviations)


def test_compound_claims_need_every_part():
    good = {"lin": 0.2, "log": 0.01, "log-wide": 0.01}
    assert verdict(good, COMPOUND).outcome is Outcome.SUPPORTED
    assert verdict({**good, "log-wide": 0.001}, COMPOUND).outcome is Outcome.NOT_SUPPORTED
    # An addition that hurts is neither equal nor a benefit.
    assert verdict({**good, "log-wide": 0.1}, COMPOUND).outcome is Outcome.INCONCLUSIVE
    assert verdict({**good, "lin": 0.01}, COMPOUND).outcome is Outcome.NOT_SUPPORTED


def test_holm_decides_over_the_interval():
    """p = 0.02 is inside the interval rule and outside Holm's over eight."""
    base = np.linspace(-1, 1, 10)
    wanted = stats.t.isf(0.02, 9)
    h = dataclasses.replace(HYPOTHESIS, cells=("one",))
    effects = 0.3 + base * 0.1 + wanted * base.std(ddof=1) * 0.1 / math.sqrt(10)
    runs = [ArmResult("lin", "one", s, 10**e) for s, e in enumerate(effects)] + [
        ArmResult("log", "one", s, 1.0) for s in range(10)
    ]
    alone, family = decide(h, runs, 1, resamples=0), decide(h, runs, 8, resamples=0)
    assert alone.p == family.p == pytest.approx(0.02)
    assert alone.outcome is Outcome.SUPPORTED
    assert family.ci.low > 0.3
    assert family.p_adjusted == pytest.approx(0.16)
    assert family.outcome is Outcome.INCONCLUSIVE
    assert "Its intervals alone support it; Holm" in family.sentence


def test_running_one_alone_is_never_more_lenient():
    hypotheses = [dataclasses.replace(HYPOTHESIS, id=f"h{i}") for i in range(8)]
    data = {
        h.id: results({"lin": 0.02 * (i + 1), "log": 0.01}, rng_seed=i)
        for i, h in enumerate(hypotheses)
    }
    together = decide_family(hypotheses, data, resamples=0)
    for h, found in zip(hypotheses, together, strict=True):
        assert decide(h, data[h.id], 8, resamples=0).p_adjusted >= found.p_adjusted >= found.p
    assert {found.outcome for found in together} >= {Outcome.SUPPORTED, Outcome.INCONCLUSIVE}


def test_hypotheses_outside_take_no_place_in_the_family():
    outside = dataclasses.replace(HYPOTHESIS, id="out", outside="not summable")
    data = results({"lin": 0.2, "log": 0.01})
    inside, out = decide_family([HYPOTHESIS, outside], {"4a": data, "out": data}, resamples=0)
    assert inside.p_adjusted == inside.p
    assert (out.p, out.p_adjusted) == (None, None)


def test_json_has_the_promised_keys_and_repeats_itself():
    runs = results({"lin": 0.2, "log": 0.01}, floors={"lin": 1e-8})
    row = decide(HYPOTHESIS, runs, 8).to_json()
    assert list(row)[: len(VERDICT_KEYS)] == VERDICT_KEYS
    assert row["verdict"] == "supported"
    assert row["paper"]["reported"] == ["lin, 64 heads: MSE = 0.19"]
    assert "2402.00522" in row["paper"]["ref"]
    assert len(row["findings"]) == 4
    assert json.dumps(row, allow_nan=False) == json.dumps(
        decide(HYPOTHESIS, reversed(runs), 8).to_json(), allow_nan=False
    )
    assert json.dumps(decide(HYPOTHESIS, []).to_json(), allow_nan=False)


def test_families_that_are_refused():
    with pytest.raises(InputError, match="each id once"):
        decide_family([HYPOTHESIS, HYPOTHESIS], {})
    with pytest.raises(InputError, match="one alpha"):
        decide_family([HYPOTHESIS, dataclasses.replace(HYPOTHESIS, id="b", alpha=0.1)], {})
    with pytest.raises(InputError, match="unknown hypothesis '4c'"):
        decide_family([HYPOTHESIS], {"4c": []})
    with pytest.raises(InputError, match="family of 1"):
        decide_family([HYPOTHESIS, dataclasses.replace(HYPOTHESIS, id="b")], {}, family_size=1)


def test_every_outcome_and_qualifier_has_a_sentence():
    for member in (*Outcome, *Qualifier):
        assert member.sentence.endswith(".")
    assert [outcome.text for outcome in Outcome] == [
        "supported",
        "not supported",
        "inconclusive",
        "outside the theorem's assumptions",
    ]


NOISE = {
    "log-normal": lambda rng, shape: 0.3 * rng.normal(size=shape),
    "heavy": lambda rng, shape: 0.2 * rng.standard_t(3, shape),
}


def _rates(hypothesis, true, noise, studies, seeds, rng):
    """Shares of supported and of refuted studies, through the whole machine; `true` is the log10
    loss of each arm.
    """
    outcomes = []
    for _ in range(studies):
        runs = [
            ArmResult(arm, cell, seed, float(10 ** (level + wobble)))
            for arm, level in true.items()
            for cell in hypothesis.cells
            for seed, wobble in enumerate(noise(rng, seeds))
        ]
        outcomes.append(decide(hypothesis, runs, resamples=0).outcome)
    return (
        outcomes.count(Outcome.SUPPORTED) / studies,
        outcomes.count(Outcome.NOT_SUPPORTED) / studies,
    )


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize("seeds", [5, 10])
def test_whole_studies_at_the_margin(noise, seeds):
    """1,000 complete studies with the effect exactly at the margin: neither false support nor
    false refutation above 5%.
    """
    studies = 1000
    ceiling = stats.binom.ppf(0.999, studies, 0.05) / studies
    h = dataclasses.replace(HYPOTHESIS, cells=("one",), seeds=tuple(range(seeds)))
    supported, refuted = _rates(
        h, {"lin": 0.3, "log": 0.0}, NOISE[noise], studies, seeds, np.random.default_rng(seeds)
    )
    assert supported <= ceiling
    assert refuted <= ceiling
    # the machine does decide: these are not zeros by construction
    assert supported + refuted > 0.03


def test_many_cells_do_not_inflate_refutation():
    """Four cells on the margin: without the correction 1-(0.95)^4 = 19% of studies would be
    refuted.
    """
    studies = 500
    h = dataclasses.replace(HYPOTHESIS, seeds=tuple(range(5)))
    supported, refuted = _rates(
        h, {"lin": 0.3, "log": 0.0}, NOISE["log-normal"], studies, 5, np.random.default_rng(2)
    )
    assert refuted <= stats.binom.ppf(0.999, studies, 0.05) / studies
    assert supported <= 0.01
