import json

import pytest

from headcount.core.errors import InputError
from headcount.lab.sweep.driver import jobs_of
from headcount.lab.sweep.sweep_plan import SweepPlan
from tests.lab.sweep.toy import Toy, ToySpec

READ = Toy().read


def test_every_combination_of_axes_and_seeds():
    plan = SweepPlan(
        baseline={"shape": "x"}, axes={"value": [1, 2], "seconds": [0.0, 0.5]}, seeds=[3, 5]
    )
    specs = plan.specs(READ)
    assert len(specs) == 8
    assert {(s.value, s.seconds, s.seed, s.shape) for s in specs} == {
        (v, t, s, "x") for v in (1, 2) for t in (0.0, 0.5) for s in (3, 5)
    }


def test_one_at_a_time_is_the_baseline_and_each_value_alone():
    plan = SweepPlan(
        baseline={"value": 1}, axes={"value": [1, 2, 3], "shape": ["b"]}, one_at_a_time=True
    )
    # the baseline once
    assert [(s.value, s.shape) for s in plan.specs(READ)] == [
        (1, "a"),
        (2, "a"),
        (3, "a"),
        (1, "b"),
    ]


def test_changes_go_together_and_are_crossed_with_axes():
    plan = SweepPlan(
        baseline={},
        changes=[{"value": 1, "shape": "b"}, {"value": 2, "shape": "c"}],
        axes={"seed": [0, 1]},
    )
    assert [(s.value, s.shape, s.seed) for s in plan.specs(READ)] == [
        (1, "b", 0),
        (1, "b", 1),
        (2, "c", 0),
        (2, "c", 1),
    ]


def test_all_faults_of_all_runs_are_told_at_once():
    plan = SweepPlan(baseline={}, axes={"value": [1, -1, "x"], "shape": ["a", 2]})
    with pytest.raises(InputError) as caught:
        plan.specs(READ)
    said = str(caught.value)
    assert said.startswith("5 of 6 runs are impossible")
    for words in (
        "value=x",
        "value is 'x': input should be a valid integer",
        "value -1 (expected zero or more)",
        "shape is 2: ",
    ):
        assert words in said, said
    assert "\n" not in said


def test_a_fault_of_every_run_is_told_once_as_the_plans_own():
    plan = SweepPlan(baseline={"vlue": 1}, seeds=3)
    with pytest.raises(
        InputError,
        match=(
            r"3 of 3 runs are impossible: ToySpec: unknown key 'vlue' \(nearest: 'value'\);"
            r" expected"
        ),
    ):
        plan.specs(READ)


def test_a_fault_of_some_runs_names_them():
    plan = SweepPlan(baseline={}, axes={"value": [1, -1, -2], "seed": [0, 1]})
    words = (
        r"4 of 6 runs are impossible: value=-1 seed=0 and 1 more: ToySpec: value -1 \(expected zero"
        r" or more\); value=-2"
    )
    with pytest.raises(InputError, match=words):
        plan.specs(READ)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"baseline": {}, "axis": {}}, "unknown key 'axis' (nearest: 'axes')"),
        ({"axes": {}}, "'baseline' is missing"),
        ({"baseline": {}, "axes": {"value": []}}, "axis 'value' has no values"),
        ({"baseline": {}, "seeds": 0}, "seeds"),
        ({"baseline": {}, "seeds": []}, "empty list of seeds"),
        ({"baseline": {"seed": 1}, "seeds": 2}, "seeds, and seed in the baseline"),
        (
            {"baseline": {}, "axes": {"value": [1]}, "changes": [{"value": 2}]},
            "an axis and in a change",
        ),
        (
            {"baseline": {}, "axes": {"value": list(range(1000)), "seed": list(range(1000))}},
            "1000000 runs",
        ),
        ({"baseline": {}, "axes": {"value": 3}}, "axes.value"),
    ],
)
def test_plans_that_make_no_sense_are_refused(tmp_path, values, words):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(values))
    with pytest.raises(InputError) as caught:
        SweepPlan.read(path)
    assert words in str(caught.value)
    assert "plan.json" in str(caught.value)


def test_a_dotted_key_goes_into_a_mapping_or_the_short_form_of_a_part():
    with pytest.raises(InputError, match="value is 3"):
        SweepPlan(baseline={"value": 3}, axes={"value.size": [1]}).specs(READ)
    plan = SweepPlan(baseline={"part": "lin:low=1"}, axes={"part.high": [2]})
    seen = []
    plan.specs(lambda values: seen.append(values) or ToySpec())
    assert seen == [{"part": {"kind": "lin", "low": "1", "high": 2}}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.yaml", "baseline: {value: 1}\naxes:\n  shape: [a, b]\nseeds: 2\n"),
        ("plan.toml", 'seeds = 2\n[baseline]\nvalue = 1\n[axes]\nshape = ["a", "b"]\n'),
        ("plan.json", '{"baseline": {"value": 1}, "axes": {"shape": ["a", "b"]}, "seeds": 2}'),
    ],
)
def test_the_three_formats_give_the_same_runs(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    wanted = [ToySpec(value=1, shape=shape, seed=seed) for shape in "ab" for seed in (0, 1)]
    assert [job.spec for job in jobs_of(path, Toy()).values()] == wanted
    assert list(jobs_of(wanted, Toy())) == list(jobs_of(path, Toy()))


def test_unreadable_plans_are_refused(tmp_path):
    for name, content in (
        ("a.yaml", b"baseline: ["),
        ("b.json", b"[]"),
        ("c.toml", b"\xff\xfe"),
        ("d.txt", b""),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            SweepPlan.read(tmp_path / name)
    with pytest.raises(InputError, match="cannot read"):
        SweepPlan.read(tmp_path / "none.yaml")


def test_a_list_of_something_else_is_refused():
    with pytest.raises(InputError, match="a dict in the list of runs"):
        jobs_of([{"value": 1}], Toy())
    with pytest.raises(InputError, match="without runs"):
        jobs_of([], Toy())
