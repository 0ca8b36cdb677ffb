"""Studies from the sweep to the report: figures of the store alone, the same every time."""

import dataclasses
import json
from pathlib import Path

import pytest

from headcount.cli.reproduce import table
from headcount.core.errors import CheckFailed, InputError
from headcount.core.overrides import merged
from headcount.experiments import FIRST_SEED, REPLICATION, studies_of
from headcount.lab.judge.existence import Can, Existence
from headcount.lab.judge.hypothesis import Benefit, Hypothesis, Kind, Part
from headcount.lab.judge.statistics import Looks, Scale
from headcount.lab.judge.verdict import Outcome
from headcount.lab.latest_verdicts import latest_verdicts
from headcount.lab.numbers import Numbers
from headcount.lab.run_studies import FAMILY, loss_of, parameters, planned, run_studies
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
SEEDS = tuple(range(1, 13))
HYPOTHESIS = Hypothesis(
    "t",
    Kind.CONTRAST,
    "More steps help.",
    (Part("steps", Benefit("few", "many", Scale.LOG10_RATIO)),),
    1.0,
    looks=Looks((6, 12)),
)
EXISTENCE = Existence("t", "It can.", (Can("two heads", lambda: Numbers(possible=1e-7), 1e-3),))
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
    hypotheses=(HYPOTHESIS,),
    existences=(EXISTENCE,),
    x_label="steps",
)


def test_from_the_sweep_to_the_report_and_again(tmp_path):
    told = []

    def run():
        return run_studies(
            [STUDY],
            tmp_path / "runs.sqlite",
            engine=LocalEngine(1),
            existing=[EXISTENCE.decide()],
            tell=lambda verdicts: told.append([verdict.seeds for verdict in verdicts]),
        )

    made = run()
    few, many = made.outcomes[0].arms
    assert few.learned[0].mean > 2 * many.learned[0].mean
    assert few.parameters == parameters(ARMS[0]) > 0
    # 6 of 6 seeds do not decide among sixteen claims, 12 of 12 do
    assert told == [[6], [12]]
    assert [len(each.finals) for each in made.outcomes[0].arms] == [12, 12]
    exists, contrast = made.outcomes[0].verdicts
    with Store(tmp_path / "runs.sqlite", read_only=True) as store:
        assert latest_verdicts(store) == [exists.to_json(), contrast.to_json()]
    assert exists.outcome is contrast.outcome is Outcome.SUPPORTED
    assert (contrast.key, contrast.seeds) == ("t-contrast", 12)
    assert contrast.effect > 0.3

    def written(folder):
        result = run()
        assert result.summary is None  # finished runs are never repeated
        report = report_of(
            result.outcomes,
            profile="smoke",
            command="headcount reproduce",
            store="runs.sqlite",
            versions=result.versions,
        )
        page = write(report, folder)
        shown = table(Reproduction(Profile.SMOKE, result.outcomes, (), 1.0, page))
        assert "Verdicts" in shown.title
        assert shown.row_count == 2
        return page

    pages = [written(tmp_path / name) for name in ("one", "two")]
    assert "Do more steps help?" in pages[0].read_text()
    # page, twins, figures and specs: the same rows, the same bytes
    one, two = ({p.relative_to(page.parent): p.read_bytes() for p in page.parent.rglob("*.*")}
                for page in pages)  # fmt: skip
    assert len(one) > 5
    assert one == two
    found = json.loads(one[Path("verdicts.json")])
    assert all(name in found["verdicts"][0] for name in VERDICT_KEYS)
    assert (pages[0].parent / "figures" / "t-as-meant.svg").exists()


def test_what_has_no_seeds_is_registered_and_not_judged(tmp_path):
    made = run_studies([dataclasses.replace(STUDY, seeds=())], tmp_path / "runs.sqlite")
    outcome = made.outcomes[0]
    assert (outcome.arms, made.summary) == ((), None)
    assert outcome.verdicts[0].outcome is Outcome.NOT_JUDGED


def test_further_claims_are_a_family_of_their_own(tmp_path):
    beside = dataclasses.replace(HYPOTHESIS, further=True, name="beside")
    both = dataclasses.replace(STUDY, hypotheses=(HYPOTHESIS, beside), seeds=SEEDS[:6])
    among, alone = (
        run_studies([both], tmp_path / "runs.sqlite", engine=LocalEngine(1)).outcomes[0].verdicts
    )
    assert among.p == pytest.approx(min(1.0, FAMILY * alone.p))
    assert (among.outcome, alone.outcome) == (Outcome.UNDECIDED, Outcome.SUPPORTED)


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


def test_studies_are_registered_with_fresh_seeds():
    smoke = studies_of(["4a", "4b"], Profile.SMOKE)
    assert all(min(study.seeds) == FIRST_SEED for study in smoke)
    assert not any(study.hypotheses or study.existences for study in smoke)
    assert all(arm.run["train"]["effort"] == "low" for study in smoke for arm in study.arms)
    first, second = (
        {seed for study in studies_of(["4a"], Profile.FULL, replication=r) for seed in study.seeds}
        for r in (0, 1)
    )
    assert not first & second
    assert max(first) < FIRST_SEED + REPLICATION


def test_studies_that_contradict_their_claims_are_refused():
    with pytest.raises(InputError, match="lacks arms"):
        dataclasses.replace(STUDY, arms=ARMS[:1])
    with pytest.raises(InputError, match="in 2 cells"):
        dataclasses.replace(STUDY, cells={"a": {}, "b": {}})
