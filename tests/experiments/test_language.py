"""Experiments 1a and 3b: well formed at every profile, equal in parameters where they say so,
trainable.
"""

import math

import pytest

from headcount.core.errors import InputError
from headcount.core.overrides import merged
from headcount.experiments.paper import experiment_1a, experiment_3b
from headcount.experiments.recipes import ENGLISH, TEXT_SIZES, queries_as_neurons, text_run
from headcount.lab.judge.hypothesis import EQUAL_PARAMETERS, AccuracyAtLeast, AccuracyBelow
from headcount.lab.run_studies import parameters, planned
from headcount.lab.study import Profile
from headcount.train.run import train
from headcount.train.run_spec import RunSpec

BOTH = (experiment_1a, experiment_3b)


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("experiment", BOTH, ids=["1a", "3b"])
def test_studies_are_well_formed_and_equal_in_parameters(experiment, profile):
    (study,) = experiment.studies(profile)
    assert study.hypothesis.margin == 0.02
    assert study.hypothesis.scale.unit == "nats"
    runs = planned(study)
    assert len(runs) == len(study.arms) * len(study.seeds)
    assert len({run.spec.content_hash for run in runs}) == len(runs)
    sizes = {arm.name: parameters(arm) for arm in study.arms}
    equal = [part.claim.arms for part in study.hypothesis.parts if part.claim.equal_parameters]
    assert equal
    for a, b in equal:
        assert abs(sizes[a] / sizes[b] - 1) <= EQUAL_PARAMETERS, (a, b, sizes[a], sizes[b])


def test_smoke_has_at_most_three_shapes():
    assert all(len(experiment.studies(Profile.SMOKE)[0].arms) <= 3 for experiment in BOTH)


def test_the_criteria_of_3b():
    (study,) = experiment_3b.studies(Profile.FULL)
    claims = {part.name: part.claim for part in study.hypothesis.parts}
    assert claims["recall with"] == AccuracyAtLeast("recall-dp", 0.99)
    assert claims["recall without"] == AccuracyBelow("recall-dp-free", 0.6)
    # ten seeds that agree exactly pass Holm over the eight
    assert 0.5 ** len(study.seeds) <= 0.05 / 8
    shapes = {arm.name: arm.run["model"] for arm in study.arms}
    assert shapes["text-dp-free-3x"]["heads"] == 3 * shapes["text-dp"]["heads"]
    assert shapes["text-dp-free-3x"]["hidden"] == 3 * shapes["text-dp"]["hidden"]
    assert shapes["recall-dp"]["layers"] == 2
    assert shapes["recall-dp-1-layer"]["layers"] == 1
    (smoke,) = experiment_3b.studies(Profile.SMOKE)
    assert [part.name for part in smoke.hypothesis.parts] == list(claims)[:2]


def test_queries_as_neurons_by_hand():
    assert queries_as_neurons(64, 16, 4) == 64  # 2 * 4 * 16 * 64 = 8192 numbers, 129 a neuron: 63.5


def test_a_corpus_replaces_the_standard_library(tmp_path):
    for i in range(12):
        (tmp_path / f"{i}.txt").write_text(f"text number {i}\n" * 40)
    (study,) = experiment_1a.studies(Profile.SMOKE, str(tmp_path))
    target = planned(study)[0].spec.target()
    assert b"text number" in target.data.tobytes()
    assert not set(target.files) & set(target.held_out().files)
    assert "the given corpus" in study.hypothesis.deviations[0]
    with pytest.raises(InputError, match="expected a text file or a folder of texts"):
        planned(experiment_3b.studies(Profile.SMOKE, str(tmp_path / "missing"))[0])


SHAPE = {"layers": 1, "heads": 4, "hidden": 8, "attention": "dot"}


@pytest.mark.parametrize("profile", list(Profile))
def test_a_run_on_text_by_its_size(profile, tmp_path):
    size = TEXT_SIZES[profile]
    spec = RunSpec.from_values(text_run(size, None, **SHAPE))
    assert (spec.train.length, spec.train.batch, spec.train.steps) == (
        size.length,
        size.batch,
        size.steps,
    )
    assert spec.model.bias.options["window"] == size.length
    assert spec.train.evaluation.batches * spec.train.batch >= size.tests
    assert text_run(size, ENGLISH, **SHAPE)["memory"]["kind"] == "english"
    assert text_run(size, str(tmp_path), **SHAPE)["memory"]["path"] == str(tmp_path)


@pytest.mark.parametrize(
    ("experiment", "name"), [(experiment_1a, "wide"), (experiment_3b, "text-dp-free")]
)
def test_one_arm_trains(experiment, name):
    (study,) = experiment.studies(Profile.SMOKE)
    arm = next(arm for arm in study.arms if arm.name == name)
    short = merged(
        arm.run,
        {"train": {"steps": 2, "log": 1, "evaluation": {"batches": 1}, "schedule": {"warmup": 1}}},
    )
    spec = RunSpec.from_values(short)
    final = train(spec.target(), spec.model, spec.train, 0).record.final
    assert 2 < final["eval_loss"] < 2 * math.log(128)
    assert 0 <= final["accuracy"] <= 1
    assert arm.numbers().possible is None


def test_recall_asks_for_every_pair_once():
    (study,) = experiment_3b.studies(Profile.FULL)
    spec = RunSpec.from_values(next(arm.run for arm in study.arms if arm.name == "recall-dp"))
    assert (spec.target().pairs, spec.target().symbols, spec.train.length) == (6, 12, 24)
    assert spec.model.norm.kind == "none"
