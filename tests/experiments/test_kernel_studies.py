"""Experiments 4a and 4b as studies: claims as registered, what weights can do, runs that exist."""

import pytest

from headcount.experiments.kernel_runs import AROUND, LENGTH, READINGS
from headcount.experiments.paper import experiment_4a, experiment_4b
from headcount.experiments.tuning import LEARNING_RATES, registration
from headcount.lab.judge.hypothesis import Kind
from headcount.lab.judge.verdict import Outcome
from headcount.lab.run_studies import planned
from headcount.lab.study import Profile, Variant
from headcount.train.run import train
from headcount.train.run_plan import shape_key

BOTH = {"4a": experiment_4a, "4b": experiment_4b}


def claimed(study):
    return {h.key: [part.claim.sentence() for part in h.parts] for h in study.hypotheses}


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("id", BOTH)
def test_studies_are_well_formed(id, profile):
    found = BOTH[id].studies(profile)
    assert {study.id for study in found} == {id}
    assert len({study.key for study in found}) == len(found)
    for study in found:
        runs = planned(study)  # RunSpec validates every field
        assert {run.arm for run in runs} == {arm.name for arm in study.arms}
        assert all(shape_key(run.spec) for run in runs[:: len(study.seeds)])


@pytest.mark.parametrize("id", BOTH)
def test_smoke_judges_nothing_and_is_short(id):
    for study in BOTH[id].studies(Profile.SMOKE):
        assert not study.hypotheses
        assert not study.existences
        assert len(study.arms) <= 2
        assert all(run.spec.train.steps <= 300 for run in planned(study))


@pytest.mark.parametrize("id", BOTH)
@pytest.mark.parametrize(("profile", "seeds"), [(Profile.LAPTOP, 20), (Profile.FULL, 40)])
def test_everything_is_as_printed_but_for_the_exact_loss(id, profile, seeds):
    judged, *maps = BOTH[id].studies(profile)
    assert judged.variant is Variant.AS_MEANT
    assert len(judged.seeds) == seeds
    assert not any(study.hypotheses for study in maps)
    for study in (judged, *maps):
        for run in planned(study):
            assert (run.spec.train.steps, run.spec.train.length) == (10_000, LENGTH)
            assert run.spec.train.batch == 100


PAPER = {
    "4a": {
        "4a-trained": ["log-1 has a loss below 1e-05"],
        "4a-contrast": ["log-1 beats lin-64 by more than 0.3 (log10 ratio)"],
    },
    "4b": {
        "4b-trained": ["lin-1 has a loss below 1e-07"],
        "4b-contrast": ["lin-1 beats log1p-64 by more than 0.3 (log10 ratio)"],
    },
}


@pytest.mark.parametrize("id", BOTH)
def test_the_papers_claims(id):
    judged = BOTH[id].as_meant(Profile.LAPTOP)
    assert claimed(judged) == PAPER[id]
    assert not any(h.further for h in judged.hypotheses)
    assert all(h.looks.seeds == (10, 20, 40) for h in judged.hypotheses)
    assert {arm.name for arm in judged.arms} == {a for h in judged.hypotheses for a in h.arms}


@pytest.mark.parametrize("id", BOTH)
def test_further_claims(id):
    full = BOTH[id].as_meant(Profile.FULL)
    worse, better = {"4a": ("lin", "log"), "4b": ("log1p", "lin")}[id]
    further = {
        f"{id}-contrast-{h} head{'s' * (h > 1)}": [
            f"{better}-{h} beats {worse}-{h} by more than 0.3 (log10 ratio)"
        ]
        for h in (1, 4, 16)
    }
    residual = ["lin-1 residual beats log-64 residual by more than 0.3 (log10 ratio)"]
    if id == "4b":
        further["4b-contrast-with a residual"] = residual
    assert claimed(full) == PAPER[id] | further
    assert {h.key for h in full.hypotheses if h.further} == set(further)
    unclaimed = {"4a": "log-64", "4b": "lin-64"}[id]
    arms = {arm.name: arm for arm in full.arms}
    assert (full.seeds_at_first(arms[unclaimed]), full.seeds_at_first(arms["lin-4"])) == (3, 10)


@pytest.mark.parametrize(
    ("id", "reached"), [pytest.param("4a", 4.0e-8, marks=pytest.mark.slow), ("4b", 8.8e-13)]
)
def test_that_such_heads_cannot_is_refuted(id, reached):
    judged = BOTH[id].as_meant(Profile.LAPTOP)
    verdict = judged.existences[0].decide()
    assert (verdict.key, verdict.kind, verdict.outcome) == (
        f"{id}-exists",
        Kind.EXISTS,
        Outcome.REFUTED,
    )
    assert verdict.effect == pytest.approx(reached, rel=0.05)
    small = {"4a": "models of one log head reach", "4b": "models of one lin head reach"}[id]
    assert small in verdict.sentence


def test_nor_does_the_printed_bias_with_a_residual_fail():
    verdict = experiment_4b.residual_existence().decide()
    assert (verdict.further, verdict.outcome) == (True, Outcome.REFUTED)
    assert verdict.effect == pytest.approx(4.6e-12, rel=0.01)


@pytest.mark.slow
def test_printed_log_heads_alone_lose_lag_0():
    arms = {arm.name: arm for arm in experiment_4b.readings().arms}
    numbers = arms["log-64 bare, abs"].numbers()
    assert numbers.lower == 1.0
    assert 1.0 <= numbers.floor < 1.0001


def test_a_bare_lin_head_cancels_lag_0():
    """Its bound is that of the larger class, with a residual."""
    with_residual, alone = experiment_4a._numbers("lin", 2), experiment_4a._bare_numbers("lin", 2)
    assert alone.lower == with_residual.lower
    assert alone.possible > with_residual.possible > 0


@pytest.mark.parametrize("id", BOTH)
def test_readings(id):
    study = BOTH[id].readings()
    sizes = {"4a": ("log-1", "lin-64"), "4b": ("lin-1", "log-64", "log1p-64")}[id]
    assert [arm.name for arm in study.arms] == [f"{s} {r.name}" for s in sizes for r in READINGS]
    assert list(study.cells) == ["lr 0.0001", "lr 0.0003", "lr 0.001", "lr 0.003", "lr 0.01"]
    spec = next(run.spec for run in planned(study) if "softplus" in run.arm)
    assert dict(spec.model.bias.options)["positive"] == "softplus"
    assert spec.train.schedule.shape == "constant"
    assert {arm.exact for arm in study.arms if "batches" in arm.name} == {False}


def test_the_map_of_learning_rates_shares_runs_with_the_readings():
    rates = experiment_4a.learning_rates(Profile.FULL)
    assert [arm.name for arm in rates.arms] == ["log-1", "lin-1", "lin-8", "lin-64"]
    assert list(rates.cells) == [f"lr {lr:g}" for lr in LEARNING_RATES]
    mine = {run.spec.content_hash for run in planned(rates)}
    read = {
        run.spec.content_hash
        for run in planned(experiment_4a.readings())
        if run.arm in (f"log-1 {AROUND.name}", f"lin-64 {AROUND.name}")
    }
    assert read < mine
    assert len(experiment_4a.learning_rates(Profile.LAPTOP).seeds) == 1


@pytest.mark.parametrize("id", BOTH)
def test_the_registration_covers_every_tuned_arm(id):
    names = [name for name, _ in BOTH[id].tuned_arms()]
    assert set(names) == {name for name in registration() if name.startswith(f"{id}/")}
    full = BOTH[id].as_meant(Profile.FULL)
    assert {name.removeprefix(f"{id}/") for name in names} == {arm.name for arm in full.arms}


@pytest.mark.parametrize("id", [pytest.param("4a", marks=pytest.mark.slow), "4b"])
def test_an_arm_trains(id):
    study = BOTH[id].as_meant(Profile.SMOKE)
    spec = next(run.spec for run in planned(study) if run.arm == study.arms[0].name)
    short = spec.train.model_copy(update={"steps": 2, "log": 1, "length": 64})
    record = train(spec.target(), spec.model, short, 1).record
    assert record.outcome == "finished"
    assert 0 < record.final["eval_loss"] < 100
