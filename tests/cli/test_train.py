import json

import pytest

import headcount as hc
from headcount.cli.train import train
from headcount.core.errors import InputError

SPEC = """
memory = "fixed:lags=1"
seed = 3
[model]
heads = 1
width = 4
attention = "dp-free"
ffn = "none"
[train]
steps = 30
length = 8
loss = "population"
log = 3
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADCOUNT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "run.toml"
    path.write_text(SPEC)
    return path


def test_json_is_one_document_and_the_model_is_saved(spec, tmp_path, capsys):
    train(spec, ["train.lr=0.02", "seed=4", "model.bias=log1p"], out=tmp_path / "model", json=True)
    captured = capsys.readouterr()
    made = json.loads(captured.out)
    assert captured.err == ""
    assert made["outcome"] == "finished"
    assert made["metrics"]["step"] == [10, 20, 30]
    assert made["spec"]["seed"] == 4
    assert made["spec"]["train"]["lr"] == 0.02
    assert made["spec"]["model"]["bias"]["kind"] == "log1p"
    assert made["run"] == hc.RunSpec.from_values(made["spec"]).content_hash
    model = hc.load(tmp_path / "model")
    kept = hc.train(
        "fixed:lags=1", model, {"steps": 1, "lr": 1e-30, "length": 8, "loss": "population"}
    )
    assert kept.record.final["eval_loss"] == pytest.approx(made["final"]["eval_loss"], rel=1e-5)


def test_people_read_a_table_and_a_sentence(spec, capsys):
    train(spec)
    shown = capsys.readouterr().out
    for word in ("eval_loss", "relative_loss", "finished 30 steps", "peak memory"):
        assert word in shown


def test_a_diverged_run_is_a_result(spec, capsys):
    train(spec, ["train.lr=1e30"])
    assert "diverged at step" in capsys.readouterr().out


def test_an_occupied_folder_is_refused_before_the_work(spec, tmp_path):
    with pytest.raises(InputError, match="no saved model"):
        train(spec, out=tmp_path)
