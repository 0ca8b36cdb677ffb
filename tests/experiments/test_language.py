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


@pytest.mark.parametrize("experiment", BOTH, ids=["1a", "3b"])
def test_arms_are_equal_in_parameters_where_they_say_so(experiment):
    equal = [
        (study, part.claim.arms)
        for study in experiment.studies(Profile.FULL)
        if study.seeds  # English is not run where the extra is not installed
        for h in study.hypotheses
        for part in h.parts
        if part.claim.equal_parameters
    ]
    assert equal
    for study, (a, b) in equal:
        sizes = {arm.name: parameters(arm) for arm in study.arms if arm.name in (a, b)}
        assert abs(sizes[a] / sizes[b] - 1) <= EQUAL_PARAMETERS, (a, b, sizes)


def test_smoke_has_few_shapes():
    for experiment in BOTH:
        assert sum(len(study.arms) for study in experiment.studies(Profile.SMOKE)) <= 6


def test_the_claims_of_3b():
    recall, text, english = experiment_3b.studies(Profile.FULL)
    claims = {h.key: h for study in (recall, text, english) for h in study.hypotheses}
    assert claims["3b-trained"].parts[0].claim == AccuracyAtLeast("recall-dp", 0.99)
    assert claims["3b-contrast-recall"].parts[0].claim == AccuracyBelow("recall-dp-free", 0.6)
    assert claims["3b-contrast"].arms == ("dp-free", "dp")
    assert [h.further for h in text.hypotheses] == [False, True, True]
    assert all(h.further for h in english.hypotheses)
    shapes = {arm.name: arm.run["model"] for arm in text.arms}
    same = ("layers", "heads", "hidden")
    assert all(shapes["dp"][key] == shapes["dp-free"][key] for key in same)
    assert shapes["dp-free-3x"]["heads"] == 3 * shapes["dp"]["heads"]


def test_the_laptop_judges_no_text_and_says_so():
    for experiment in BOTH:
        *judged, text = experiment.studies(Profile.LAPTOP)
        assert all(study.seeds for study in judged)
        assert (text.seeds, planned(text)) == ((), [])
        assert next(h.further for h in text.hypotheses) is False


def test_queries_as_neurons_by_hand():
    assert queries_as_neurons(64, 16, 4) == 64  # 2 * 4 * 16 * 64 = 8192 numbers, 129 a neuron: 63.5


def test_a_corpus_replaces_the_standard_library(tmp_path):
    for i in range(12):
        (tmp_path / f"{i}.txt").write_text(f"text number {i}\n" * 40)
    study = experiment_1a.studies(Profile.SMOKE, str(tmp_path))[-1]
    target = planned(study)[0].spec.target()
    assert b"text number" in target.data.tobytes()
    assert not set(target.files) & set(target.held_out().files)
    full = experiment_1a.studies(Profile.FULL, str(tmp_path))[1]
    assert "the given texts" in full.hypotheses[0].notes[0]
    with pytest.raises(InputError, match="expected a text file or a folder of texts"):
        planned(experiment_3b.studies(Profile.SMOKE, str(tmp_path / "missing"))[0])


SHAPE = {"layers": 1, "heads": 4, "hidden": 8, "attention": "dot"}


@pytest.mark.parametrize("profile", list(TEXT_SIZES))
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
    ("experiment", "name"),
    [pytest.param(experiment_1a, "wide", marks=pytest.mark.slow), (experiment_3b, "dp-free")],
)
def test_one_arm_trains(experiment, name):
    study = experiment.studies(Profile.SMOKE)[-1]
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
    study = experiment_3b.studies(Profile.FULL)[0]
    spec = RunSpec.from_values(next(arm.run for arm in study.arms if arm.name == "recall-dp"))
    assert (spec.target().pairs, spec.target().symbols, spec.train.length) == (4, 8, 16)
    assert spec.model.norm.kind == "none"
