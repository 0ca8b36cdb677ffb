"""What needs no PyTorch: the files, refusals, and weights back by their names."""

import json
import os

import jax
import numpy as np
import pytest

import headcount as hc
from headcount.core.errors import InputError
from headcount.model.card import NamedSpace


@pytest.fixture
def saved(tmp_path):
    model = hc.ModelSpec(heads=2, width=4, hidden=3, bias="rope").build(jax.random.key(0), dim=1)
    spaces = [NamedSpace("token", 0, 1, 1, "attention", "x_t")]
    return hc.save(model, tmp_path / "model", spaces=spaces)


def test_the_folder_is_a_saved_model_with_two_files_more(saved, tmp_path):
    out = hc.export(saved, tmp_path / "out")
    assert sorted(p.name for p in out.iterdir()) == [
        "README.md",
        "config.json",
        "look_inside.py",
        "model.py",
        "model.safetensors",
        "run.py",
    ]
    assert {p.stat().st_mode & 0o777 for p in out.iterdir()} == {0o644}
    text = (out / "model.py").read_text()
    assert "class Rope" in text
    assert "class Lin(" not in text, "only the model's own parts"
    assert "headcount" not in text.replace("`headcount export", ""), "no dependency on us"
    assert "layers.0.attention.bias.query [2, 2]" in text
    assert jax.tree.structure(hc.load(out)) == jax.tree.structure(hc.load(saved))
    assert json.loads((out / "config.json").read_text())["spaces"][0]["coordinates"] == [0, 1]


def test_weights_come_back_by_name_in_the_type_of_the_config(saved):
    import safetensors.numpy

    state = safetensors.numpy.load_file(saved / "model.safetensors")
    doubled = {name: 2.0 * value.astype(np.float64) for name, value in state.items()}
    back = hc.import_torch(doubled, saved)
    np.testing.assert_array_equal(
        np.asarray(back.layers[0].attention.w_value), 2 * state["layers.0.attention.w_value"]
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "is missing"),
        ("nowhere.safetensors", "cannot read nowhere.safetensors"),
        (3, "weights of type int"),
        ("/dev/zero", "not a file"),
        ({"embedding.weight": "x"}, "embedding.weight is a str"),
        ({"embedding.weight": object()}, "embedding.weight is a object"),
    ],
)
def test_wrong_weights_are_refused(saved, weights, message):
    with pytest.raises(InputError, match=message):
        hc.import_torch(weights, saved)


@pytest.mark.parametrize(
    "spaces", ["x", [3], [{"name": "a"}], [{"name": "a", "coordinates": [0, -5], "layer": 1}]]
)
def test_damaged_names_of_subspaces_are_refused(saved, spaces, tmp_path):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, "spaces": spaces}))
    with pytest.raises(InputError, match="has the spaces"):
        hc.export(saved, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_lies_beside_a_model_may_be_anything(saved, tmp_path):
    """A README.md that is no text, a run.py that is a pipe."""
    (saved / "README.md").write_bytes(b"\xff\xfe")
    (saved / "run.py").unlink()
    os.mkfifo(saved / "run.py")
    out = hc.export(saved, tmp_path / "out")
    assert "from model import load" in (out / "README.md").read_text()
    assert not (out / "look_inside.py").exists(), "it takes its tokens from run.py"


def test_weights_that_are_a_pipe_are_refused(saved):
    (saved / "model.safetensors").unlink()
    os.mkfifo(saved / "model.safetensors")
    with pytest.raises(InputError, match="not a file"):
        hc.load(saved)


def test_wrong_requests_are_refused_and_nothing_is_written(saved, tmp_path):
    with pytest.raises(InputError, match="unknown form to export to 'keras'"):
        hc.export(saved, tmp_path / "out", "keras")
    with pytest.raises(InputError, match="a int"):
        hc.export(3, tmp_path / "out")
    (saved / "config.json").write_text("{}")
    with pytest.raises(InputError, match="has no key"):
        hc.export(saved, tmp_path / "out")
    assert not (tmp_path / "out").exists()
