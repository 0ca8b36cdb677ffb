"""The toy experiments as studies: well-formed in every profile, within their sizes, trainable."""

import pytest

from headcount.core.overrides import merged
from headcount.experiments import studies_of
from headcount.experiments.paper import experiment_1b, experiment_2a, experiment_2b, experiment_3a
from headcount.lab.judge.hypothesis import EQUAL_PARAMETERS
from headcount.lab.run_studies import parameters, planned
from headcount.lab.study import Profile, Variant
from headcount.train.run import train_group
from headcount.train.run_plan import shape_key
from headcount.train.run_spec import RunSpec

TOY = {"1b": experiment_1b, "2a": experiment_2a, "2b": experiment_2b, "3a": experiment_3a}
SEEDS = {Profile.SMOKE: 3, Profile.LAPTOP: 5, Profile.FULL: 10}
CELLS = {Profile.SMOKE: 1, Profile.LAPTOP: 4, Profile.FULL: 4}


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("name", TOY)
def test_studies_are_well_formed(name, profile):
    found = TOY[name].studies(profile)
    assert {study.id for study in found} == {name}
    assert len({study.key for study in found}) == len(found)
    by_variant = {study.variant: study for study in found}
    assert {Variant.AS_WRITTEN, Variant.AS_MEANT} <= set(by_variant)
    beside = {"2a": set() if profile is Profile.SMOKE else {Variant.FURTHER}}.get(name, set())
    assert {study.variant for study in found if study.hypothesis is not None} == {
        Variant.AS_MEANT
    } | beside
    assert all(
        bool(s.hypothesis.outside) == (s.variant is Variant.AS_WRITTEN)
        for s in found
        if s.hypothesis is not None
    )
    meant = by_variant[Variant.AS_MEANT]
    assert len(meant.seeds) == SEEDS[profile]
    assert len(meant.cells) == CELLS[profile]
    assert meant.hypothesis.id == name
    assert meant.hypothesis.expected
    assert meant.hypothesis.deviations
    for study in found:
        first = {run.arm: run.spec for run in planned(study)}  # RunSpec validates every field
        assert set(first) == {arm.name for arm in study.arms}


@pytest.mark.parametrize("name", TOY)
def test_every_shape_is_accepted(name):
    for study in TOY[name].studies(Profile.LAPTOP):
        for arm in study.arms:
            cell = next(iter(study.cells.values()))
            assert shape_key(RunSpec.from_values({**merged(arm.run, cell), "seed": 0}))


@pytest.mark.parametrize("name", TOY)
def test_smoke_has_few_shapes(name):
    specs = [run.spec for study in studies_of([name], Profile.SMOKE) for run in planned(study)]
    assert len({shape_key(spec) for spec in specs}) <= 5


@pytest.mark.parametrize("name", ["1b", "2a", "2b", "3a"])
def test_an_arm_trains(name):
    study = next(s for s in TOY[name].studies(Profile.SMOKE) if s.variant is Variant.AS_MEANT)
    changes = merged(
        next(iter(study.cells.values())),
        {"train": {"steps": 2, "log": 1, "length": min(64, study.arms[0].run["train"]["length"])}},
    )
    spec = RunSpec.from_values({**merged(study.arms[0].run, changes), "seed": 1000})
    [(_, record)] = list(train_group([spec]))
    assert record.outcome == "finished"
    assert 0 < record.final["eval_loss"] < 100


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("name", TOY)
def test_arms_of_equal_parameters_are(name, profile):
    for study in TOY[name].studies(profile):
        arms = {arm.name: arm for arm in study.arms}
        for part in study.hypothesis.parts if study.hypothesis else ():
            if part.claim.equal_parameters:
                sizes = [parameters(arms[arm]) for arm in part.claim.arms]
                assert max(sizes) <= (1 + EQUAL_PARAMETERS) * min(sizes)


def test_which_claims_are_about_equal_parameters():
    claims = {
        name: [p for s in module.studies(Profile.FULL) if s.hypothesis for p in s.hypothesis.parts]
        for name, module in TOY.items()
    }
    assert {
        name: sum(p.claim.equal_parameters for p in parts) for name, parts in claims.items()
    } == {"1b": 2, "2a": 0, "2b": 0, "3a": 1}


def test_equal_runs_of_1b_and_3a_are_trained_once():
    runs = {
        name: {r.spec.content_hash for s in TOY[name].studies(Profile.SMOKE) for r in planned(s)}
        for name in ("1b", "3a")
    }
    # the printed memory, and one layer of log heads, three seeds each
    assert len(runs["1b"] & runs["3a"]) == 6
