"""Studies from the sweep to the report: figures of the store alone, the same every time."""

import dataclasses
import json

import pytest

from headcount.cli.reproduce import table
from headcount.core.errors import CheckFailed, InputError
from headcount.core.overrides import merged
from headcount.core.refs import Ref
from headcount.experiments import FIRST_SEED, NOT_IN_SMOKE, studies_of
from headcount.lab.judge.hypothesis import Benefit, Hypothesis, Part
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Outcome
from headcount.lab.numbers import Numbers
from headcount.lab.run_studies import loss_of, parameters, planned, run_studies
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.lab.study_outcome import summarised
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.lab.sweep.schema import FAILED, FINISHED, Row
from headcount.lab.sweep.store import Store
from headcount.pipeline import Reproduction
from headcount.report.from_studies import report_of
from headcount.report.write import write
from tests.lab.verdict_keys import VERDICT_KEYS

RUN = {
    "memory": "exp-4b",
    "model": {
        "attention": "dp-free",
        "ffn": "none",
        "width": 4,
        "heads": 2,
        "bias": {"kind": "lin"},
    },
    "train": {"steps": 12, "length": 32, "loss": "population", "log": 2, "effort": "low"},
}
SEEDS = (1, 2, 3)
HYPOTHESIS = Hypothesis(
    "t",
    "More steps help.",
    Ref("headcount"),
    (Part("steps", Benefit("few", "many")),),
    Scale.LOG10_RATIO,
    1.0,
    seeds=SEEDS,
)
ARMS = (
    Arm("few", merged(RUN, {"train": {"steps": 2}}), lambda: Numbers(possible=1e-7), "lin", 2.0),
    Arm(
        "many",
        merged(RUN, {"train": {"steps": 400, "lr": 0.03}}),
        lambda: Numbers(possible=1e-7),
        "lin",
        400.0,
        1e-6,
    ),
)
STUDY = Study(
    "t",
    Variant.AS_MEANT,
    "Steps",
    "Do more steps help?",
    ARMS,
    SEEDS,
    hypothesis=HYPOTHESIS,
    x_label="steps",
)


def test_from_the_sweep_to_the_report_and_again(tmp_path):
    made = run_studies([STUDY], tmp_path / "runs.sqlite", engine=LocalEngine(1))
    few, many = made.outcomes[0].arms
    assert few.learned[0].mean > 2 * many.learned[0].mean
    assert few.parameters == parameters(ARMS[0]) > 0
    assert [len(each.finals) for each in made.outcomes[0].arms] == [3, 3]
    verdict = made.verdicts[0]
    assert verdict.hypothesis.id == "t"
    assert verdict.measured > 0.3

    def written(folder):
        result = run_studies([STUDY], tmp_path / "runs.sqlite", engine=LocalEngine(1))
        assert result.summary.computed == 0  # finished runs are never repeated
        report = report_of(
            result.outcomes,
            profile="smoke",
            command="headcount reproduce",
            seconds=1.0,
            store="runs.sqlite",
            versions=result.versions,
        )
        page = write(report, folder)
        shown = table(Reproduction(Profile.SMOKE, result.outcomes, (), 1.0, page))
        assert "Verdicts" in shown.title
        assert shown.row_count == 1
        return page

    pages = [written(tmp_path / name) for name in ("one", "two")]
    assert "Do more steps help?" in pages[0].read_text()
    verdicts = [(page.parent / "verdicts.json").read_bytes() for page in pages]
    assert verdicts[0] == verdicts[1]
    assert all(name in json.loads(verdicts[0])["verdicts"][0] for name in VERDICT_KEYS)
    assert (pages[0].parent / "figures" / "t-as-meant.svg").exists()


def test_a_variant_beside_the_eight_is_judged_alone(tmp_path):
    outside = dataclasses.replace(HYPOTHESIS, outside="nothing is promised")
    further = dataclasses.replace(STUDY, variant=Variant.FURTHER)
    written = dataclasses.replace(STUDY, variant=Variant.AS_WRITTEN, hypothesis=outside)
    made = run_studies([STUDY, further, written], tmp_path / "runs.sqlite", engine=LocalEngine(1))
    among, alone, out = made.verdicts
    assert among.p_adjusted == pytest.approx(8 * among.p)  # Holm over eight, seven of them not run
    assert alone.p_adjusted == alone.p == among.p
    assert (out.outcome, out.p) == (Outcome.OUTSIDE, None)
    ids = [outcome.verdict_id for outcome in made.outcomes]
    assert ids == ["t", "t-further-check", "t-as-written"]
    assert [outcome.verdict_json()["id"] for outcome in made.outcomes] == ids


def test_failed_runs_stop_the_judging(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        specs = {run.spec.content_hash: run.spec for run in planned(STUDY)}
        for id in specs:
            store.put(Row(id, FAILED, {}, "out of memory"))
    with pytest.raises(CheckFailed, match="out of memory"):
        run_studies([STUDY], tmp_path / "runs.sqlite", engine=LocalEngine(1))


def test_a_diverged_run_counts_as_infinite_and_is_counted():
    row = Row("x", FINISHED, {"final": {}})
    assert loss_of(row, "eval_loss") == float("inf")
    found = summarised("c", [0.1, float("inf"), 0.1, 0.1], ratio=True)
    assert (found.diverged, round(found.mean, 6)) == (1, 0.1)
    assert summarised("c", [float("inf")], ratio=True).mean == float("inf")
    assert summarised("c", [1.0, 3.0], ratio=False).low == 1.0


def test_intervals_of_losses_are_not_negative():
    wide = [1e-3, 1e-3, 2.0, 1e-3, 3.0]
    assert 0 < summarised("c", wide, ratio=True).low < 1e-3
    assert summarised("c", wide, ratio=False).low == 0.0
    assert summarised("c", wide, ratio=False).mean == pytest.approx(1.0006)


def test_studies_are_registered_with_fresh_seeds_and_smoke_says_what_it_leaves_out():
    smoke = studies_of(["4a", "4b"], Profile.SMOKE)
    assert not any(study.key in NOT_IN_SMOKE for study in smoke)
    assert all(min(study.seeds) == FIRST_SEED for study in smoke)
    assert all(
        "profile smoke" in study.hypothesis.deviations[-1] for study in smoke if study.hypothesis
    )
    assert all(arm.run["train"]["effort"] == "low" for study in smoke for arm in study.arms)
    text = {
        arm.name: arm.run["train"]["effort"] for arm in studies_of(["3b"], Profile.LAPTOP)[0].arms
    }
    assert (text["text-dp"], text["recall-dp"]) == ("high", "medium")  # an arm's own choice stands
    full = studies_of(["4a"], Profile.FULL)
    assert not any(
        "profile" in d for study in full if study.hypothesis for d in study.hypothesis.deviations
    )


def test_studies_that_contradict_their_hypothesis_are_refused():
    with pytest.raises(InputError, match="lacks arms"):
        dataclasses.replace(STUDY, arms=ARMS[:1])
    with pytest.raises(InputError, match="seeds differ"):
        dataclasses.replace(STUDY, seeds=(7, 8, 9))
