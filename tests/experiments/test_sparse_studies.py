"""Experiments 1b, 2a, 2b and 3a: well-formed in every profile, registered as the paper has them,
tuned, and decided where nothing needs training.
"""

import pytest

from headcount.experiments import studies_of, tuning
from headcount.experiments.paper import experiment_1b, experiment_2a, experiment_2b, experiment_3a
from headcount.experiments.table_numbers import copied_numbers
from headcount.lab.judge.hypothesis import Kind, NoBenefit
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Outcome
from headcount.lab.run_studies import planned
from headcount.lab.study import Profile
from headcount.train.run import train_group
from headcount.train.run_plan import shape_key
from headcount.train.run_spec import RunSpec

SPARSE = {"1b": experiment_1b, "2a": experiment_2a, "2b": experiment_2b, "3a": experiment_3a}
SEEDS = {Profile.SMOKE: 3, Profile.LAPTOP: 20, Profile.FULL: 40}


def claims(name, profile=Profile.FULL):
    return {h.key: h for study in SPARSE[name].studies(profile) for h in study.hypotheses}


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("name", SPARSE)
def test_studies_are_well_formed(name, profile):
    found = SPARSE[name].studies(profile)
    assert {study.id for study in found} == {name}
    assert len({study.key for study in found}) == len(found)
    for study in found:
        runs = planned(study)  # RunSpec validates every field
        assert {run.arm for run in runs} == {arm.name for arm in study.arms}
        assert len(study.seeds) == (SEEDS[profile] if study.existences else len(study.seeds))


@pytest.mark.parametrize("name", SPARSE)
def test_an_insight_has_its_three_claims(name):
    for profile in (Profile.LAPTOP, Profile.FULL):
        registered = [h for h in claims(name, profile).values() if not h.further]
        assert [h.kind for h in registered] == [Kind.TRAINED, Kind.CONTRAST]
    assert not claims(name, Profile.SMOKE)
    for profile in Profile:
        existences = [e for s in SPARSE[name].studies(profile) for e in s.existences]
        assert [e.key for e in existences] == [f"{name}-exists"]


def test_claims_are_those_of_the_paper():
    sentences = {
        name: [part.claim.sentence() for part in claims(name)[f"{name}-contrast"].parts]
        for name in SPARSE
    }
    assert sentences == {
        "1b": ["two-layers-short gains at most 0.01 (explained variance) on one-layer-short"],
        "2a": [
            "heads-1-m-256 beats heads-1-m-16 by more than 0.3 (log10 ratio)",
            "heads-8-m-256 gains at most 0.01 (explained variance) on heads-1-m-256",
        ],
        "2b": [
            "heads-8-m-16 beats heads-1-m-16 by more than 0.3 (log10 ratio)",
            "heads-4-m-256 gains at most 0.01 (explained variance) on heads-4-m-16",
        ],
        "3a": ["dp-short gains at most 0.01 (explained variance) on dp-free-short"],
    }
    trained = {name: claims(name)[f"{name}-trained"].parts[0].claim.sentence() for name in SPARSE}
    assert trained == {
        "1b": "one-layer has a loss below 0.01",
        "2a": "heads-1-m-256 has a loss below 0.01",
        "2b": "heads-4-m-16 has a loss below 0.01",
        "3a": "dp-free has a loss below 0.01",
    }


def test_no_benefit_is_measured_in_explained_variance():
    parts = [part.claim for name in SPARSE for h in claims(name).values() for part in h.parts]
    assert {claim.scale for claim in parts if isinstance(claim, NoBenefit)} == {Scale.EXPLAINED}


def test_what_exists_is_decided_without_training():
    decided = {
        name: SPARSE[name].studies(Profile.LAPTOP)[0].existences[0].decide() for name in SPARSE
    }
    assert {name: verdict.outcome for name, verdict in decided.items()} == {
        "1b": Outcome.SUPPORTED,
        "2a": Outcome.SUPPORTED,
        "2b": Outcome.REFUTED,  # one head is exact
        "3a": Outcome.SUPPORTED,
    }
    assert all(verdict.effect < 1e-12 for verdict in decided.values())
    assert "1 head and 2 neurons" in decided["2b"].sentence


def test_a_construction_needs_its_size():
    memory = {"kind": "exp-1b", "seed": None}
    assert copied_numbers(memory, 3, 8, 1000).possible < 1e-28
    assert copied_numbers(memory, 2, 8, 1000).possible is None
    assert copied_numbers(memory, 3, 7, 1000).possible is None


@pytest.mark.parametrize("name", SPARSE)
def test_every_tuned_arm_is_registered(name):
    for arm, run in SPARSE[name].tuned_arms():
        assert arm in tuning.registration()
        chosen = tuning.registration()[arm]
        assert len(chosen.losses[chosen.chosen]) in (
            len(tuning.PILOT_SEEDS),
            len(tuning.EXACT_SEEDS),
        )
        assert (chosen.chosen.spread is None) is not tuning.has_rates(run)


@pytest.mark.parametrize("name", SPARSE)
def test_judged_arms_run_in_their_registered_setting(name):
    known = {
        setting.chosen.lr for arm, setting in tuning.registration().items() if arm[:2] in SPARSE
    }
    for study in SPARSE[name].studies(Profile.FULL):
        for h in study.hypotheses:
            for arm in (arm for arm in study.arms if arm.name in h.arms):
                assert arm.run["train"]["lr"] in known


def test_teachers_are_those_of_the_run():
    for name in ("1b", "2a", "3a"):
        for study in SPARSE[name].studies(Profile.FULL):
            for arm in study.arms:
                memory = arm.run["memory"]
                assert memory.get("readout", memory)["seed"] is None


def test_3a_judges_the_runs_of_1b():
    runs = {
        name: {
            run.spec.content_hash
            for study in studies_of([name], Profile.LAPTOP)
            for run in planned(study)
            if run.arm in ("one-layer", "one-layer-short", "dp-free", "dp-free-short")
        }
        for name in ("1b", "3a")
    }
    assert runs["1b"] == runs["3a"]
    assert len(runs["1b"]) == 20


def test_the_map_has_every_reading():
    study = next(s for s in experiment_2b.studies(Profile.FULL) if not s.hypotheses)
    assert len(study.cells) == 3
    assert {arm.series for arm in study.arms} == {
        *(f"{bias}, {r}" for bias in ("lin", "log", "log1p", "t5") for r in ("positions", "lags")),
        "table, positions",
    }
    assert {arm.paper for arm in study.arms} == {1.16, 1e-6}


@pytest.mark.parametrize("name", SPARSE)
def test_every_shape_is_accepted_and_shared_by_all_seeds(name):
    for study in SPARSE[name].studies(Profile.LAPTOP):
        for arm in study.arms:
            keys = {shape_key(RunSpec.from_values({**arm.run, "seed": seed})) for seed in (0, 1)}
            assert len(keys) == 1


def test_an_arm_trains_on_the_teacher_of_its_seed():
    fields = experiment_1b.tuned_arms()[1][1]
    train = {**fields["train"], "steps": 2, "log": 1, "effort": "low"}
    specs = [RunSpec.from_values({**fields, "train": train, "seed": seed}) for seed in (1, 2)]
    records = [record for _, record in train_group(specs)]
    assert [record.outcome for record in records] == ["finished", "finished"]
    # compiled once: the teacher goes into the program as an argument
    assert records[1].seconds["compile"] == 0
    assert records[0].final["eval_loss"] != records[1].final["eval_loss"]
