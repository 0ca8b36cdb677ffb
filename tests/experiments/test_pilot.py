"""The pilot finds the best setting of a small arm, goes on where it stopped, and is registered."""

import pytest

from headcount.core.errors import InputError
from headcount.experiments import pilot, tuning
from headcount.experiments.pilot import KEPT, chosen_table, pilots_of, retune, tuned_runs
from headcount.experiments.tuning import EXACT_SEEDS, Pilot, Setting, grid, has_rates, written
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.train.run_spec import Shape

# One log head alone on 16 tokens of 4a: 30 steps are too few for a small learning rate.
SMALL = {
    "memory": "exp-4a",
    "model": {"kind": "heads", "heads": 1, "head_dim": 1, "bias": {"kind": "log"}},
    "train": {"steps": 30, "length": 16, "loss": "population", "log": 1, "effort": "low"},
}
SLOW, QUICK = (Setting(lr, Shape.CONSTANT, "uniform") for lr in (1e-4, 3e-2))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pilot")
    return folder, pilots_of({"4a/small": SMALL}, folder, engine=LocalEngine(1))["4a/small"]


@pytest.mark.slow  # some forty runs
def test_the_best_setting_is_chosen(found):
    _, tried = found
    assert set(tried.losses) == set(grid(has_rates=True))
    assert tried.chosen.lr == 3e-2
    assert all(
        tried.worst(tried.chosen) <= tried.worst(s) for s, x in tried.losses.items() if len(x) > 1
    )


@pytest.mark.slow  # some forty runs
def test_every_setting_has_one_seed_and_the_best_have_all(found):
    _, tried = found
    counts = [len(losses) for losses in tried.losses.values()]
    assert sorted(set(counts)) == [1, len(EXACT_SEEDS)]
    assert counts.count(len(EXACT_SEEDS)) == KEPT
    first = {setting: losses[0] for setting, losses in tried.losses.items()}
    worst_kept = max(first[s] for s, losses in tried.losses.items() if len(losses) > 1)
    assert all(worst_kept <= first[s] for s, losses in tried.losses.items() if len(losses) == 1)


@pytest.mark.slow  # some forty runs
def test_a_finished_pilot_computes_nothing(found, monkeypatch):
    folder, tried = found
    computed = []
    monkeypatch.setattr(pilot, "sweep", _watched(pilot.sweep, computed))
    assert pilots_of({"4a/small": SMALL}, folder)["4a/small"] == tried
    assert computed == [0, 0]


def _watched(sweep, computed):
    def told(*arguments, **options):
        summary = sweep(*arguments, **options)
        computed.append(summary.computed)
        return summary

    return told


@pytest.mark.slow  # some forty runs
def test_a_pilot_is_kept_as_it_was_run(found, tmp_path):
    _, tried = found
    written({"4a/small": tried}, tmp_path / "registration.json")
    (line,) = (tmp_path / "registration.json").read_text().splitlines()[1:-1]
    assert line.startswith('"4a/small": {"chosen": {"lr": 0.03,')
    assert Pilot.from_json(tried.to_json()) == tried


def test_a_setting_with_fewer_seeds_is_not_chosen():
    lucky = Pilot({SLOW: (1e-9,), QUICK: (0.1, 0.4, 0.3)})
    assert lucky.chosen == QUICK
    assert lucky.worst(QUICK) == 0.4


def test_what_a_new_pilot_would_choose():
    old = {"4a/log-1": Pilot({SLOW: (0.1,), QUICK: (0.2,)}), "4a/lin-1": Pilot({SLOW: (0.5,)})}
    new = {
        "4a/log-1": Pilot({SLOW: (0.2,), QUICK: (0.1,)}),
        "4a/lin-1": Pilot({SLOW: (0.25,)}),
        "4a/lin-4": Pilot({QUICK: (1e-3,)}),
    }
    head, *lines = chosen_table(old, new).splitlines()
    assert head.split() == ["arm", "registered", "this", "pilot"]
    assert [line.split()[0] for line in lines] == ["4a/lin-1", "4a/lin-4", "4a/log-1"]
    assert [line.split()[-1] for line in lines] == ["same", "new", "differs"]
    assert "lr 0.0001, constant, uniform (0.5)" in lines[0]
    assert "nothing" in lines[1]


def test_arms_are_asked_for_by_experiment_or_name():
    assert list(tuned_runs(["4b/lin-1"])) == ["4b/lin-1"]
    assert len(tuned_runs(["4a", "4b/lin-1"])) == 9
    with pytest.raises(InputError, match="lin-2"):
        tuned_runs(["4a/lin-2"])
    with pytest.raises(InputError, match="rates"):
        retune(["rates"], None)


def test_tuned_runs_know_their_arm():
    name, run = "4a/lin-64", tuned_runs(["4a/lin-64"])["4a/lin-64"]
    assert has_rates(run)
    chosen = tuning.registration()[name].chosen
    fields = tuning.tuned(name, run)
    assert fields["train"]["lr"] == chosen.lr
    with pytest.raises(InputError, match="4a/lin-3"):
        tuning.tuned("4a/lin-3", run)
