"""The real trainer under the real engine: figures that depend on nothing but the spec, weights,
refusals before any work.
"""

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import content_hash
from headcount.lab.sweep.driver import jobs_of, sweep
from headcount.lab.sweep.estimate import estimate
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.lab.sweep.sweep_plan import SweepPlan
from headcount.lab.sweep.trainer import START, Trainer
from headcount.model.save import load
from headcount.train.run_spec import RunSpec
from tests.lab.sweep.test_faults import figures

# Products large enough for XLA to split them by the number of cores, if it were let: the last
# digits would depend on it.
LARGE = {"layers": 2, "heads": 2, "width": 64, "hidden": 64, "attention": "dp-free"}
SMALL = {"heads": 2, "width": 8, "hidden": 8, "attention": "dp-free"}
QUICK = {"steps": 4, "batch": 256, "length": 32, "log": 4, "evaluation": {"batches": 1}}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    # compiled once for all tests here
    monkeypatch.setenv("HEADCOUNT_CACHE", str(tmp_path_factory.getbasetemp() / "programs"))


def specs(model, seeds=3, **train):
    base = {"memory": "fixed:lags=3,readout=linear", "model": model, "train": {**QUICK, **train}}
    return [RunSpec.from_values({**base, "seed": seed}) for seed in range(seeds)]


@pytest.mark.slow  # quick: `tests/train/test_run.py`, the same bits in another process
def test_the_figures_do_not_depend_on_workers_cores_batches_or_order_and_weights_come_along(
    tmp_path,
):
    runs = [*specs(LARGE, 2), *specs(SMALL, 2), *specs(SMALL, 1, lr=0.01)]
    assert len({Trainer().key(run) for run in runs}) == 2
    sweep(runs, tmp_path / "one.sqlite", engine=LocalEngine(1, pin=True))
    sweep(runs[::-1], tmp_path / "two.sqlite", engine=LocalEngine(2), runner=Trainer(weights=True))
    assert figures(tmp_path / "one.sqlite") == figures(tmp_path / "two.sqlite")
    assert len(figures(tmp_path / "one.sqlite")) == 5
    model = load(tmp_path / "two.sqlite.weights" / content_hash(runs[2]))
    assert model.layers[0].attention.bias.rate.shape == (2,)


def test_impossible_runs_are_refused_before_anything_starts(tmp_path):
    plan = SweepPlan(
        baseline={"memory": "fixed:lags=3", "model": SMALL, "train": QUICK},
        axes={
            "model.heads": [2, 3],
            "train.loss": ["auto", "cross-entropy"],
            "model.bias": ["lin", "lina"],
        },
    )
    with pytest.raises(InputError) as caught:
        sweep(plan, tmp_path / "runs.sqlite")
    said = str(caught.value)
    assert said.startswith("7 of 8 runs are impossible")
    for words in (
        "unknown bias 'lina' (nearest: 'lin')",
        "width 8 with 3 heads",
        "loss cross-entropy for real answers",
    ):
        assert words in said
    with pytest.raises(InputError, match="1 of 3 runs: loss cross-entropy for real answers"):
        sweep([*specs(SMALL, 2), *specs(SMALL, 1, loss="cross-entropy")], tmp_path / "runs.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_estimate_of_real_runs_is_of_the_right_size(tmp_path):
    jobs = jobs_of(specs(SMALL, 2, steps=4000), Trainer())
    cost = estimate(jobs, [], LocalEngine(1), Trainer())
    assert (cost.to_do, cost.shapes, cost.measured) == (2, 1, 1)
    done = sweep(
        [job.spec for job in jobs.values()], tmp_path / "runs.sqlite", engine=LocalEngine(1)
    )
    assert done.cpu_seconds / 8 < cost.cpu_seconds < 8 * done.cpu_seconds


def test_work_grows_with_steps_sequences_and_size():
    def operations(model, **train):
        return Trainer().work(specs(model, 1, **train)[0]) - START

    small, linear = operations(SMALL), {**SMALL, "ffn": "none"}
    assert operations(SMALL, steps=40) == pytest.approx(10 * small)
    assert operations(LARGE) > 10 * small
    assert operations(linear, loss="squared") == pytest.approx(
        256 * operations(linear, loss="population")
    )
