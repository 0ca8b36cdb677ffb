"""`build`, `plan` and `bound` as a user calls them."""

import json
import shlex

import pytest
from rich.console import Console

import headcount as hc
from headcount.cli import common
from headcount.cli import plan as plan_verb
from headcount.cli.bound import bound
from headcount.cli.build import build
from headcount.cli.plan import plan

SIZES = {"length": 16, "tol": 0.05, "bias": "peak"}


def test_build_writes_a_model_that_loads_and_tells_its_numbers(tmp_path, capsys):
    build("fixed:lags=5", out=tmp_path / "m", json=True, **SIZES)
    told = json.loads(capsys.readouterr().out)
    names = [
        "target",
        "architecture",
        "parameters",
        "error_measured",
        "error_promised",
        "error_float32",
        "theorem",
        "notes",
        "status",
    ]
    assert all(name in told for name in names)
    assert set(told["error_measured"]) >= {"sup", "mse", "inputs"}
    assert told["architecture"]["layers"] == 1
    assert told["architecture"]["heads"] == 1
    assert told["error_measured"]["sup"] <= told["error_promised"] <= 0.05
    assert hc.count_parameters(hc.load(tmp_path / "m")) == told["parameters"]
    assert "Nothing was trained" in (tmp_path / "m" / "README.md").read_text()


def test_build_for_people(capsys):
    build("fixed:lags=5", **SIZES)
    shown = capsys.readouterr().out
    for word in ("promised", "measured", "float32", "layer 1 attention", "memory_1"):
        assert word in shown


def test_build_names_what_may_be_smaller(capsys):
    build("fixed:lags=3", bias="peak", tol=0.1, length=8)
    assert "--construction folded may be smaller" in capsys.readouterr().out
    build("fixed:lags=3", bias="peak", tol=0.1, length=8, construction="folded")
    assert "may be smaller" not in capsys.readouterr().out


def test_build_leaves_other_folders_alone_and_writes_nothing_on_refusal(tmp_path):
    (tmp_path / "precious.txt").write_text("x")
    with pytest.raises(hc.InputError, match="no saved model"):
        build("fixed:lags=5", out=tmp_path, **SIZES)
    with pytest.raises(hc.InputError, match="needs sum"):
        build("fixed:lags=50", bias="lin", tol=0.1, theorem="fixed", out=tmp_path / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]


def test_plan_prints_rows_and_one_recommendation(capsys, monkeypatch):
    terminal = Console(width=80, highlight=False, soft_wrap=True)
    for place in (plan_verb, common):
        monkeypatch.setattr(place, "console", terminal)
    monkeypatch.setattr(common, "_known", True)
    plan("recall:pairs=2,symbols=3", length=16)
    shown = capsys.readouterr().out
    assert shown.startswith("Two softmax layers with one table (T5) head each reach recall")
    lines = [line.rstrip() for line in shown.splitlines()]
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in "".join(lines[: lines.index("")])
    assert "recommended, common parts before small size:" in shown
    assert "1  needs" in shown
    # the command can be copied: the shell joins its lines
    assert "\\\\" not in shown
    words = shlex.split(shown[shown.index("headcount build") :].replace("\\\n", " "))
    assert words[:3] == ["headcount", "build", "recall:pairs=2,symbols=3"]
    assert words[-2:] == ["-o", "model"]


def test_bound_as_table_and_as_json(capsys):
    bound("3.1", "fixed:lags=10", heads=7862, width=10**6)
    shown = capsys.readouterr().out
    assert "holds: family" in shown
    assert "E_Attn = 10^-1.00" in shown
    bound("5.1", "essential:kernel=power:1.5", bias="log", json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["value"], told["applies"]) == (None, False)
    assert [a["name"] for a in told["assumptions"] if not a["holds"]] == ["decay class"]


def test_bound_shows_the_lower_half_of_proposition_4_2(capsys):
    bound("4.2", "prop42", heads=100)
    assert "lower bound" in capsys.readouterr().out
