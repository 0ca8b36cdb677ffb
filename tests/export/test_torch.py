"""Every registered part and every construction in PyTorch, to 1e-5 of the largest answer."""

import importlib.util
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest

import headcount as hc
from headcount.core.claims import Precision
from headcount.core.errors import HeadcountError
from headcount.export import export
from headcount.memory.read import Everywhere
from headcount.model import reference
from tests.construct.test_cases import everything, made, sequences
from tests.contracts.test_models import cases, inputs, name, unique

torch = pytest.importorskip("torch")
RELATIVE = 1e-5


def loaded(folder):
    """The exported file, imported as a user would."""
    spec = importlib.util.spec_from_file_location("exported_model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.load()


def agree(found, wanted, allowed=RELATIVE):
    wanted = np.asarray(wanted, np.float64)
    found = found.detach().double().numpy()
    off = np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())
    assert off <= allowed, off


def built(case):
    case = dict(case)
    vocabulary = case.pop("vocabulary", None)
    spec = hc.ModelSpec(heads=2, width=8, hidden=5, **case)
    dim = 0 if vocabulary else 3
    return spec.build(jax.random.key(0), dim=dim, vocabulary=vocabulary, outputs=2), vocabulary


@pytest.mark.parametrize("case", unique(cases()), ids=name)
def test_every_part_gives_our_answers(case, tmp_path):
    model, vocabulary = built(case)
    _, theirs = loaded(export(model, tmp_path / "out"))
    x = np.asarray(inputs(vocabulary)[0])
    answers = theirs(torch.tensor(x))
    if case.get("ffn", "").startswith("precision"):  # rounding may fall on either side of a step
        theirs = theirs.double()
        x = x.astype(np.float64)
        answers = theirs(torch.tensor(x))
    agree(answers, reference.forward(model, x, Everywhere()))


@pytest.mark.parametrize("kind", hc.baselines.names())
def test_every_baseline_gives_our_answers(kind, tmp_path):
    texts = {"heads": ("heads:heads=3,bias=log1p", 2), "filter": ("filter:taps=3", 3)}
    text, outputs = texts.get(kind, (f"{kind}:width=4", 3))
    model = hc.baselines.build(text, 2, None, outputs, jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(2, 9, 2)).astype(np.float32)
    _, theirs = loaded(export(model, tmp_path / "out"))
    agree(theirs(torch.tensor(x)), model(x, Everywhere()))
    agree(theirs(torch.tensor(x), rows=[-1]), model(x, hc.Last()))


@everything
def test_every_construction_gives_our_answers(index, tmp_path):
    """In float64 the same numbers; in float32 to 1e-5, or to what the construction's own proof
    allows rounding where large coefficients cancel.
    """
    found = made(index)
    _, theirs = loaded(export(found, tmp_path / "out"))
    x = sequences(found)
    rows = found.target.read.rows(x.shape[1]).tolist()
    wanted = reference.forward(found.model, x, found.target.read)
    fed = torch.tensor(x)
    with torch.no_grad():
        narrow = theirs(fed, rows=rows)
        wide = theirs.double()(fed.double() if fed.is_floating_point() else fed, rows=rows)
    agree(wide, wanted, 1e-9)
    agree(narrow, wanted, RELATIVE + Precision.FLOAT32.unit * found.promised.amplification)
    assert set(theirs.spaces) == {promise.space for promise in found.draft.promises}


@pytest.fixture(scope="module")
def lag_two(tmp_path_factory):
    """A construction with names, exported."""
    found = hc.construct("fixed:lags=2", bias="peak", tol=1e-3, length=12)
    return found, export(found, tmp_path_factory.mktemp("lag") / "out")


def test_three_lines_in_the_folder_itself(lag_two):
    code = "import torch\nfrom model import load\nmodel = load()\nprint(model(torch.ones(1, 5, 1)))"
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=lag_two[1])
    assert done.returncode == 0, done.stderr
    assert "tensor" in done.stdout


def test_attention_by_head_and_the_stream_by_name(lag_two):
    _, folder = lag_two
    module, model = loaded(folder)
    model.requires_grad_(False)
    x = torch.arange(8.0).reshape(1, 8, 1)
    answers, cache = module.run_with_cache(model, x)
    pattern = cache["layers.0.attention.hook_pattern"]
    assert pattern.shape == (1, 1, 8, 8)
    assert int(pattern[0, 0, 7].argmax()) == 5, "the head of lag 2 looks two back"
    assert float(pattern[0, 0].triu(1).abs().max()) == 0
    slot = cache["layers.0.hook_mid"][0, :, model.spaces["memory_1"]]
    torch.testing.assert_close(slot[2:, 0], x[0, :-2, 0])
    assert not any(m._forward_hooks for m in model.modules()), "hooks are taken away again"
    handle = model.layers[0].attention.hook_result.register_forward_hook(lambda _, __, out: 0 * out)
    assert float((model(x) - answers).abs().max()) > 1, "a hook may switch a head off"
    handle.remove()
    done = subprocess.run(
        [sys.executable, "-W", "error", "look_inside.py"],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "at lag 2" in done.stdout
    assert "memory_1" in done.stdout


def test_a_model_trained_in_pytorch_comes_back(tmp_path):
    spec = hc.ModelSpec(heads=2, width=4, hidden=3, attention="dp-free", bias="log1p")
    folder = export(spec.build(jax.random.key(0), dim=1), tmp_path / "out")
    module, model = loaded(folder)
    x = torch.randn(16, 6, 1, generator=torch.Generator().manual_seed(0))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        loss = ((model(x, rows=[-1])[:, 0] - x[:, -2]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    module.save(model, tmp_path / "trained.safetensors")
    for weights in (model, model.state_dict(), tmp_path / "trained.safetensors"):
        back = hc.import_torch(weights, folder)
        agree(model(x), back(np.asarray(x), Everywhere()))


def test_onnx_runtime_agrees_or_nothing_is_written(tmp_path):
    for package in ("onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    model, _ = built({"attention": "dp-free", "bias": "log1p"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = export(model, tmp_path / "out", "onnx")
        assert (folder / "model.onnx").stat().st_size > 1000
        gru = hc.baselines.build("gru:width=4", 2, None, 3, jax.random.key(0))
        with pytest.raises(HeadcountError):
            export(gru, tmp_path / "gru", "onnx")
    assert not (tmp_path / "gru").exists()
