import json
import runpy
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import targets
from headcount.memory.read import Everywhere, Last
from headcount.memory.target import short_sequence
from headcount.model.base import AbstractModel
from headcount.model.baselines import baselines
from headcount.model.biases.decaying import Positive
from headcount.model.card import with_section
from headcount.model.reference import forward
from headcount.model.save import load, save
from headcount.model.spec import ModelSpec


@pytest.fixture
def folder(tmp_path):
    model = ModelSpec(
        heads=2,
        width=4,
        hidden=3,
        ffn="precision:rounding=log",
        bias="t5",
        normaliser="softmax-tail",
    ).build(jax.random.key(0), dim=1)
    return save(model, tmp_path / "model", note="A test.")


def test_the_folder_holds_four_readable_files(folder):
    assert sorted(p.name for p in folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "run.py",
    ]
    assert {p.stat().st_mode & 0o777 for p in folder.iterdir()} == {0o644}
    assert "A test." in (folder / "README.md").read_text()
    assert (
        json.loads((folder / "config.json").read_text())["model"]["layers"][0]["attention"]["bias"][
            "part"
        ]
        == "bias/t5"
    )


@pytest.mark.parametrize("name", baselines.names())
def test_baselines_survive_saving(name, tmp_path):
    text, outputs = (
        ("heads:heads=3,bias=log1p(positive=softplus)", 2)
        if name == "heads"
        else (name if name == "filter" else f"{name}:width=4", 3)
    )
    model = baselines.build(text, 2, None, outputs, jax.random.key(0))
    loaded = load(save(model, tmp_path / "m"))
    x = jax.random.normal(jax.random.key(1), (2, 9, 2))
    jax.tree.map(np.testing.assert_array_equal, loaded, model)
    # compiled whole, once for both: step by step, every operation would be compiled by itself
    answers = eqx.filter_jit(lambda model: (model(x, Last()), model(x, Everywhere())))
    last, everywhere = answers(model)
    np.testing.assert_allclose(answers(loaded)[0], last, rtol=1e-5, atol=1e-6)
    again = runpy.run_path(str(tmp_path / "m" / "run.py"))["answers"](np.asarray(x))
    np.testing.assert_allclose(again, everywhere, rtol=2e-5, atol=4e-6)


@pytest.mark.parametrize("kind", ["lin", "log", "log1p"])
@pytest.mark.parametrize("positive", Positive)
def test_how_rates_are_stored_survives(kind, positive, tmp_path):
    spec = ModelSpec(
        heads=2, width=4, hidden=3, attention="dp-free", bias={"kind": kind, "positive": positive}
    )
    model = spec.build(jax.random.key(0), dim=1)
    loaded = load(save(model, tmp_path / "m"))
    assert loaded.layers[0].attention.bias.positive is positive
    x = jax.random.normal(jax.random.key(1), (2, 9, 1))
    np.testing.assert_array_equal(loaded(x, Last()), model(x, Last()))


def test_a_field_that_came_later_takes_its_default(tmp_path):
    model = ModelSpec(heads=2, width=4, hidden=3, attention="dp-free", bias="log1p").build(
        jax.random.key(0), dim=1
    )
    folder = save(model, tmp_path / "m")
    _edit(folder, lambda c: c["model"]["layers"][0]["attention"]["bias"].pop("positive"))
    loaded = load(folder)
    assert loaded.layers[0].attention.bias.positive is Positive.ABS
    x = jax.random.normal(jax.random.key(1), (2, 9, 1))
    np.testing.assert_array_equal(loaded(x, Last()), model(x, Last()))


def test_bfloat16_survives(tmp_path):
    model = ModelSpec(width=4, hidden=3).build(jax.random.key(0), dim=1).astype(jnp.bfloat16)
    assert load(save(model, tmp_path / "m")).embedding.weight.dtype == jnp.bfloat16
    x = np.ones((1, 5, 1))
    again = runpy.run_path(str(tmp_path / "m" / "run.py"))["answers"](x)
    np.testing.assert_allclose(again, forward(model, x, Everywhere()), atol=1e-12)


def test_run_py_needs_numpy_alone(folder, tmp_path):
    """From the command line, in a process that may not import us or safetensors."""
    np.save(tmp_path / "x.npy", np.ones((1, 5, 1)))
    block = "import sys; sys.modules.update(dict.fromkeys(['headcount', 'jax', 'safetensors']));"
    code = f"{block} sys.argv = ['run.py', 'x.npy', 'y.npy']; import runpy;"
    code += f"runpy.run_path({str(folder / 'run.py')!r}, run_name='__main__')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    wanted = forward(load(folder), np.ones((1, 5, 1)), Everywhere())
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), wanted, atol=1e-12)


def test_the_card_explains_before_its_numbers(tmp_path):
    model = ModelSpec(heads=1, width=8, bias="lin", attention="dp-free").build(
        jax.random.key(0), dim=1
    )
    note = 'Made for a test.\n\n```json\n{"error": 0}\n```'
    text = (save(model, tmp_path / "m", note, length=20) / "README.md").read_text()
    places = ["Made for a test.", "## What it computes", "## Use", "## The numbers", '{"error": 0}']
    assert sorted(places, key=text.index) == places
    assert "that position 20 sees" in text
    longer = with_section(text, "## In PyTorch")
    assert longer.index("## Use") < longer.index("## In PyTorch") < longer.index("## The numbers")


def test_run_py_tries_a_sequence_of_the_memory(tmp_path, capsys, monkeypatch):
    target = targets.build("recall:pairs=2,symbols=3")
    model = ModelSpec(heads=1, width=4).build(
        jax.random.key(0), vocabulary=target.vocabulary, outputs=6
    )
    folder = save(model, tmp_path / "m", example=short_sequence(target, 8))
    found = runpy.run_path(str(folder / "run.py"))["example"]()
    assert found.shape == (1, 8)
    assert (found[0, ::2] < 3).all(), "keys"
    assert (found[0, 1::2] >= 3).all(), "values"
    monkeypatch.setattr(sys, "argv", ["run.py"])
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    assert "a sequence of the memory, 8 tokens" in capsys.readouterr().out


@pytest.mark.parametrize("example", [[float("nan")], [[1.0, 2.0]], ["exit()"], [None]])
def test_an_example_is_tokens_of_the_model(example, tmp_path):
    model = ModelSpec(width=4).build(jax.random.key(0), dim=1)
    with pytest.raises(InputError, match="that the model does not take"):
        save(model, tmp_path / "m", example=example)
    with pytest.raises(InputError, match="length -1"):
        save(model, tmp_path / "m", length=-1)
    assert not (tmp_path / "m").exists()


def test_run_py_prints_a_line_per_token(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py"])
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert all(" token " in line and " answer " in line and len(line) < 80 for line in lines)


def test_the_card_tells_the_formula_and_every_head(folder):
    text = (folder / "README.md").read_text()
    assert "- bias/t5: `b_h[bucket(s)]" in text
    assert "layer 1, head 2: weighs tokens by content" in text
    assert "python run.py" in text


def test_a_far_lag_is_seen_by_the_card_and_by_run_py(tmp_path, capsys, monkeypatch):
    """A head that looks 300 steps back shows nothing in a short sequence."""
    spec = ModelSpec(attention="dp-free", bias="peak:reach=9,rate=50", width=4, ffn="none", heads=1)
    model = spec.build(jax.random.key(0), dim=1)
    model = eqx.tree_at(lambda m: m.layers[0].attention.bias.centre, model, jnp.array([300.0]))
    folder = save(model, tmp_path / "m")
    assert "weighs lag 300 most" in (folder / "README.md").read_text()
    monkeypatch.setattr(sys, "argv", ["run.py"])
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    assert "a random sequence, 308 tokens" in capsys.readouterr().out


def test_a_dot_product_of_zero_weights_is_told_by_its_lags(tmp_path):
    """The previous-token head of an induction circuit has a dot product that does nothing."""
    spec = ModelSpec(attention="dot", bias="peak:reach=9,rate=50", width=4, ffn="none", heads=2)
    model = spec.build(jax.random.key(0), dim=1)
    score = model.layers[0].attention.score
    query = score.w_query.at[0].set(0.0)
    key = score.w_key.at[0].set(0.0)
    model = eqx.tree_at(
        lambda m: (m.layers[0].attention.score.w_query, m.layers[0].attention.score.w_key),
        model,
        (query, key),
    )
    text = (save(model, tmp_path / "m") / "README.md").read_text()
    assert "layer 1, head 1: weighs lag" in text
    assert "layer 1, head 2: weighs tokens by content" in text


def _edit(folder, change):
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["model"].update(layer=1), "unknown key 'layer' \\(nearest: 'layers'\\)"),
        (lambda c: c["model"]["layers"][0].pop("ffn"), "no key 'ffn'"),
        (
            lambda c: c["model"]["layers"][0]["attention"]["bias"].update(part="bias/t6"),
            "unknown bias 't6'",
        ),
        (lambda c: c["model"].update(part="Transfomer"), "unknown part 'Transfomer'"),
        (
            lambda c: c["model"]["embedding"]["weight"].update(array=["float32", [5, 1]]),
            "as config.json says",
        ),
        (lambda c: c["model"]["embedding"].update(weight=None), "weight of LinearEmbedding"),
        (lambda c: c["model"]["layers"][0]["ffn"].update(rounding="lag"), "unknown rounding 'lag'"),
        (lambda c: c.update(format=2), "format 2"),
        (lambda c: c.update(model=c["model"]["layers"][0]["ffn"]), "."),
        (lambda c: c.update(model=[]), "."),
    ],
)
def test_a_wrong_config_is_refused(folder, change, message):
    _edit(folder, change)
    with pytest.raises(InputError, match=message):
        load(folder)


def test_broken_files_are_refused(folder):
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"\xff" * 40, whole[:8]):
        weights.write_bytes(broken)
        with pytest.raises(InputError, match="whole safetensors file"):
            load(folder)
    weights.unlink()
    with pytest.raises(InputError, match="cannot read"):
        load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        load(folder)


def test_a_float64_model_needs_float64_to_load(tmp_path):
    with jax.enable_x64(True):
        folder = save(ModelSpec(width=4, hidden=2).build(jax.random.key(0), dim=1), tmp_path / "m")
    with pytest.raises(InputError, match="enable_x64"):
        load(folder)


def test_what_is_not_registered_is_not_saved_and_leaves_nothing(tmp_path):
    class Stranger(AbstractModel):
        tokens = (None, 1)
        outputs = 1

        def __call__(self, x, read):
            return x

    with pytest.raises(InputError, match="register"):
        save(Stranger(), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
