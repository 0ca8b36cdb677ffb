"""What is planted is what is found: real runs, their errors by lag, the name of the failure."""

import dataclasses

import pytest

from headcount.experiments.further.failures import LAGS, MODELS, studies
from headcount.lab.judge.signatures import Answer, Failure
from headcount.lab.run_studies import planned
from headcount.lab.study import Profile
from headcount.train.run import train
from tests.lab.test_diagnosis import diagnosed_by, observed_in

STEPS = 3500


@pytest.fixture(scope="module")
def study():
    (found,) = studies(Profile.LAPTOP)
    return dataclasses.replace(found, seeds=(100,))


@pytest.fixture(scope="module")
def finals(study):
    """One trained run of every arm; a third of its steps show the same."""

    def final(spec, seed):
        short = spec.train.model_copy(update={"steps": STEPS})
        return train(spec.target(), spec.model, short, seed).record.final

    return {run.arm: (final(run.spec, run.seed),) for run in planned(study)}


@pytest.mark.parametrize("name", MODELS)
def test_the_planted_failure_is_named(study, finals, name):
    found = diagnosed_by(study, finals, {})[name]
    assert found.failure is MODELS[name][2], found


def test_what_names_it_is_the_error_by_lag(study, finals):
    patterns = observed_in(study, finals, {})
    assert all(
        pattern.lags.lags.tolist() == list(LAGS) and pattern.floors is None
        for pattern in patterns.values()
    )
    short, unfit = patterns["peak-3"].lags, patterns["lin-8"].lags
    assert sum(short.error < 0.1) <= 3  # as many lags as heads
    assert (unfit.error[:2] < 0.1).all()  # near lags are read
    assert (unfit.error[2:] > 0.5).all()
    told = diagnosed_by(study, finals, {})
    assert told["lin-8"].checks[Failure.HEADS].answer is not Answer.YES
    assert told["peak-3"].checks[Failure.BIAS].answer is Answer.NO


def test_the_median_run_speaks_for_the_seeds(study):
    """Which lags are lost differs by seed: a mean would show them half read."""
    runs = [
        {
            "eval_loss": loss,
            "train_loss": loss,
            **{f"lag_{lag}_error": float(lag in lost) for lag in LAGS},
        }
        for loss, lost in ((2.0, (1,)), (1.0, (2,)), (3.0, (28,)))
    ]
    pattern = observed_in(study, {"peak-3": runs}, {})["peak-3"].lags
    assert pattern.error.tolist() == [1.0, *([0.0] * 7)]


def test_runs_of_an_older_store_have_no_lags(study):
    assert observed_in(study, {"peak-3": [{"eval_loss": 1.0, "train_loss": 1.0}]}, {}) == {}


@pytest.mark.parametrize(
    ("name", "possible"),
    [("peak-3", 5.0), ("table-2", 0.0), pytest.param("lin-8", None, marks=pytest.mark.slow)],
)
def test_what_was_learned_is_not_below_what_is_possible_or_proved(study, finals, name, possible):
    (numbers,) = (arm.numbers() for arm in study.arms if arm.name == name)
    loss = finals[name][0]["eval_loss"]
    assert numbers.lower is None or numbers.lower <= numbers.possible
    assert loss >= (numbers.lower or 0.0)
    if possible is not None:
        assert numbers.possible == pytest.approx(possible)
        assert loss >= 0.99 * numbers.possible
