"""From records to named failures: synthetic records that must give each."""

import math

import pytest

from headcount.experiments import STUDIES, studies_of
from headcount.experiments.further import head_counts
from headcount.experiments.further.bias import studies as bias_studies
from headcount.experiments.paper import experiment_4a
from headcount.experiments.recipes import linear_model
from headcount.lab.diagnosis import diagnosed, observed, reach_of
from headcount.lab.judge.signatures import Answer, Failure
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.lab.study_outcome import ArmOutcome, StudyOutcome
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import Exponential, Power

LAGS = {f"lag_{lag}_error": 0.5 for lag in range(1, 1000)}  # what a run on fixed lags tells of each


def outcome(study, told, numbers):
    """A study whose arms ended with these figures."""
    arms = (
        ArmOutcome(arm, numbers.get(arm.name, Numbers()), (), None, tuple(told.get(arm.name, ())))
        for arm in study.arms
    )
    return StudyOutcome(study, tuple(arms))


def diagnosed_by(study, told, numbers):
    return diagnosed(outcome(study, told, numbers))


def observed_in(study, told, numbers):
    return observed(outcome(study, told, numbers))


def finals(**columns):
    return [{"eval_loss": 0.5, "train_loss": 0.5, **LAGS, **columns}]


def meant(experiment):
    return next(
        study for study in experiment.studies(Profile.SMOKE) if study.variant is Variant.AS_MEANT
    )


def test_too_little_depth_from_chains_of_different_hops():
    """Only where a deeper arm of the same study learned the longer chain: else it may be
    training.
    """
    (study,) = head_counts.studies(Profile.LAPTOP)
    short = {
        "hops-1-layers-1-heads-6": finals(accuracy=0.99),
        "hops-2-layers-1-heads-6": finals(accuracy=0.3),
    }
    for deeper, failure in ((0.97, Failure.DEPTH), (0.41, Failure.UNDECIDED)):
        told = {**short, "hops-2-layers-2-heads-6": finals(accuracy=deeper)}
        found = diagnosed_by(study, told, {})
        assert set(found) == set(short)  # arms that follow one number of hops only have no pattern
        assert all(diagnosis.failure is failure for diagnosis in found.values())
        pattern = observed_in(study, told, {})["hops-1-layers-1-heads-6"].hops
        assert pattern.deeper.tolist() == [0.99, deeper]
    # no control at all
    assert all(
        diagnosis.failure is Failure.UNDECIDED
        for diagnosis in diagnosed_by(study, short, {}).values()
    )
    assert pattern.accuracy.tolist() == [0.99, 0.3]
    assert pattern.chance == pytest.approx(1 / 6)
    assert pattern.samples == 256


def test_no_pattern_without_the_first_hop():
    (study,) = head_counts.studies(Profile.SMOKE)
    assert observed_in(study, {"hops-2-layers-1-heads-6": finals(accuracy=0.3)}, {}) == {}


@pytest.mark.parametrize(
    ("trained", "tested", "failure"),
    [
        (1e-6, 0.2, Failure.EXTRAPOLATION),
        (1e-6, 1.1e-6, Failure.NONE),
        (0.2, 0.2, Failure.UNDECIDED),
    ],
)
def test_extrapolation_from_the_two_lengths(trained, tested, failure):
    (study,) = bias_studies(Profile.SMOKE)
    found = diagnosed_by(
        study, {"table power:2.5": finals(train_loss=trained, eval_loss=tested)}, {}
    )
    assert found["table power:2.5"].failure is failure


def test_heavy_tails_reach_beyond_the_trained_length():
    (study,) = bias_studies(Profile.LAPTOP)
    lengths = observed_in(study, {"table power:0.5": finals()}, {})["table power:0.5"].lengths
    assert lengths.reach > 64
    assert (
        reach_of(EssentialMemory((Exponential(0.5),)), 256)
        < reach_of(EssentialMemory((Power(1.5),)), 256)
        < 64
    )


@pytest.mark.parametrize(
    ("loss", "floor", "more", "failure"),
    [
        (0.2, 1e-9, 1e-9, Failure.TRAINING),
        (0.2, 0.19, 1e-4, Failure.HEADS),
        (1e-9, 1e-9, 1e-9, Failure.NONE),
    ],
)
def test_floors_name_training_and_heads(loss, floor, more, failure):
    study = experiment_4a.learning_rates(Profile.LAPTOP)
    names = [arm.name for arm in study.arms]
    numbers = {name: Numbers(possible=more) for name in names} | {
        "lin-1": Numbers(possible=floor),
        "log-1": Numbers(possible=floor),
    }
    found = diagnosed_by(study, {name: finals(eval_loss=loss) for name in names}, numbers)
    assert found["lin-1"].failure is failure


def test_floors_say_nothing_at_another_length_than_trained():
    """Trained on fewer tokens than tested: a loss above the floor may be extrapolation."""
    (study,) = bias_studies(Profile.LAPTOP)
    numbers = {arm.name: Numbers(possible=1e-9) for arm in study.arms}
    found = observed_in(
        study, {arm.name: finals(eval_loss=0.2, train_loss=1e-8) for arm in study.arms}, numbers
    )
    assert found
    assert all(pattern.floors is None and pattern.lengths is not None for pattern in found.values())
    told = diagnosed_by(
        study, {arm.name: finals(eval_loss=0.2, train_loss=1e-8) for arm in study.arms}, numbers
    )
    assert all(diagnosis.failure is not Failure.TRAINING for diagnosis in told.values())


def test_the_cell_is_named_where_there_are_several():
    study = experiment_4a.learning_rates(Profile.LAPTOP)
    assert len(study.cells) > 1
    names = [arm.name for arm in study.arms]
    found = diagnosed_by(
        study,
        {name: finals(eval_loss=0.2) for name in names},
        {name: Numbers(possible=1e-9) for name in names},
    )
    assert {diagnosis.cell for diagnosis in found.values()} == {next(iter(study.cells))}
    (one,) = head_counts.studies(Profile.LAPTOP)
    told = {
        "hops-1-layers-1-heads-6": finals(accuracy=0.99),
        "hops-2-layers-1-heads-6": finals(accuracy=0.3),
    }
    assert {diagnosis.cell for diagnosis in diagnosed_by(one, told, {}).values()} == {""}


@pytest.mark.parametrize("constant", [True, False])
def test_a_floor_that_is_the_constant_answer_does_not_clear_the_bias(constant):
    """The lags of 2b: no decaying head reaches them. Without a floor nothing is said; with one at
    the variance neither 'no'.
    """
    train = {"steps": 10, "length": 1000, "loss": "population", "log": 1}
    arms = tuple(
        Arm(
            f"{bias}-{heads}",
            {
                "memory": "exp-2b:reading=lags",
                "model": linear_model({"kind": bias}, heads),
                "train": train,
            },
        )
        for bias in ("lin", "log")
        for heads in (1, 64)
    )
    study = Study("2b", Variant.AS_WRITTEN, "Far signs", "Can they?", arms, (0,))
    names = [arm.name for arm in study.arms]
    numbers = {name: Numbers(possible=3.0, lower=2.99, constant=constant) for name in names}
    told = {
        name: finals(eval_loss=3.0, train_loss=3.0, **dict.fromkeys(LAGS, 1.0)) for name in names
    }
    found = diagnosed_by(study, told, numbers)
    assert (
        any(pattern.floors is not None for pattern in observed_in(study, told, numbers).values())
        is not constant
    )
    assert all(diagnosis.failure is Failure.UNDECIDED for diagnosis in found.values())
    assert all(
        diagnosis.checks[Failure.BIAS].answer is not Answer.NO for diagnosis in found.values()
    )


def test_diverged_runs_have_no_pattern():
    study = experiment_4a.learning_rates(Profile.LAPTOP)
    numbers = {arm.name: Numbers(possible=0.1) for arm in study.arms}
    assert (
        observed_in(study, {arm.name: finals(eval_loss=math.inf) for arm in study.arms}, numbers)
        == {}
    )


@pytest.mark.parametrize("id", STUDIES)
def test_every_study_can_be_diagnosed(id):
    for study in studies_of([id], Profile.FULL):
        if not study.seeds:  # English, where the extra is not installed
            continue
        told = {arm.name: finals(accuracy=0.5) for arm in study.arms}
        known = {arm.name: Numbers(possible=0.01) for arm in study.arms}
        assert all(diagnosis.sentence for diagnosis in diagnosed_by(study, told, known).values())
