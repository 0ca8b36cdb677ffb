"""Wrong types and values from Python: every public function refuses them with an `InputError`."""

import dataclasses
import inspect
import json
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import headcount as hc
from headcount.core.arguments import checked, fits, in_words
from headcount.core.claims import Claim, Scope, Sense, Status
from headcount.core.registry import Registry

DATA = ("canonical_json", "content_hash")  # take any value and say themselves what they cannot hold
# made by us and handed out: results, and tuples of arrays
HANDED_OUT = {
    "Batch", "Construction", "Cost", "Diagnosis", "Evaluated", "KernelFit", "MemoryProfile",
    "Plan", "Record", "Ref", "Registry", "Reproduction", "Run", "Summary", "ZooProfile",
}  # fmt: skip
WEIGHTS = {"Attention", "Layer", "LinearEmbedding", "TokenEmbedding", "Transformer"}


@pytest.mark.parametrize("name", hc.__all__)
def test_every_public_function_and_class_checks_its_arguments(name):
    value = getattr(hc, name)
    if name in ("plot", "study"):  # modules of functions
        made = [f for f in vars(value).values() if isinstance(f, types.FunctionType)]
        own = [f for f in made if not f.__name__.startswith("_") and f.__doc__]
        assert own
        assert all(f.checks_arguments for f in own if f.__module__.startswith("headcount.stud"))
        assert name == "study" or value.four_numbers.checks_arguments
    elif isinstance(value, types.ModuleType):  # a folder that is a verb
        value = inspect.unwrap(type(value).__call__, stop=lambda f: hasattr(f, "checks_arguments"))
        assert value.checks_arguments
    elif isinstance(value, types.FunctionType):
        assert name in DATA or value.checks_arguments
    elif isinstance(value, type) and not inspect.isabstract(value):
        registered = any(
            entry.part is value for r in Registry.by_base.values() for entry in r.entries()
        )
        assert (
            name in HANDED_OUT | WEIGHTS
            or registered
            or issubclass(value, (hc.Spec, Exception))
            or value.__init__.checks_arguments
        )


CLAIM = Claim("lag:3", Scope(), Sense.AT_LEAST, 0.5, Status.PROVED, "test", hc.Ref("headcount"), {})


def model():
    return hc.ModelSpec(width=4, hidden=4).build(jax.random.key(0), vocabulary=5, outputs=5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hc.fit_kernel("lag:4", heads=2, budget="1e4"), "budget is '1e4'; expected a real"),
        (lambda: hc.fit_kernel("lag:4", heads=2, certify="no"), "True or False"),
        (lambda: hc.fit_kernel("lag:4", heads=2, progress=3), "a function"),
        (lambda: hc.fit_kernel("lag:4", haeds=2), "haeds.*nearest: 'heads'"),
        (lambda: hc.fit_kernel(), "missing a required argument"),
        (lambda: hc.bound(4.1, "fixed:lags=2"), "theorem is 4.1; expected text"),
        (lambda: hc.bound("3.1", "fixed:lags=2", heads="3"), "heads is '3'"),
        (lambda: hc.bound("3.1", 7), "target is 7"),
        (lambda: hc.construct("fixed:lags=2", heads=1.5), "heads is 1.5"),
        (lambda: hc.construct("fixed:lags=2", tol=float("nan")), "tol is nan"),
        (lambda: hc.construct(["fixed"]), "target is"),
        (lambda: hc.plan("fixed:lags=2", tol=None), "tol is None"),
        (lambda: hc.plan("fixed:lags=2", length=2.0), "length is 2.0"),
        (lambda: hc.train("exp-4b", {"width": 4}, seed="1"), "seed is '1'"),
        (lambda: hc.train("exp-4b", {"width": 4}, spec=[1]), "spec is"),
        (lambda: hc.load(3), "folder is 3"),
        (lambda: hc.save(3, "x"), "model is 3"),
        (lambda: hc.save(model(), 7), "folder is 7"),
        (lambda: hc.cost(model(), 4, "last"), "read is 'last'"),
        (lambda: hc.count_parameters([1]), "model is"),
        (lambda: hc.results(5), "path is 5"),
        (lambda: hc.status(None), "path is None"),
        (lambda: hc.sweep(3), "plan is 3"),
        (lambda: hc.sweep([], fail_fast="no"), "fail_fast is 'no'"),
        (lambda: hc.reproduce("4a"), "names is '4a'"),
        (lambda: hc.reproduce(["4a"], workers="2"), "workers is '2'"),
        (lambda: hc.Seeds(True), "root is True"),
        (lambda: hc.Seeds(0, 1), "too many positional"),
        (lambda: hc.Store(4), "path is 4"),
        (lambda: hc.LocalEngine(workers="2"), "workers is '2'"),
        (lambda: hc.At("3.5"), "position"),
        (lambda: hc.At(True), "no truth value"),
        (lambda: hc.At(1, position=1), "at most once"),
        (lambda: hc.FixedMemory(lags=(2.5,)), "fractional part"),
        (lambda: hc.FixedMemory(lags=(3, True)), "no truth value"),
        (lambda: hc.FixedMemory(lags=3, readout="liner"), "nearest: 'linear'"),
        (lambda: hc.FixedMemory(lags=(10**40,)), "below 2\\*\\*63"),
        (lambda: hc.EssentialMemory(kernel="exq:1"), "nearest: 'exp'"),
        (lambda: hc.EssentialMemory(kernel=7), "kernel 7"),
        (lambda: hc.AdaptiveMemory(lag_functions=3), "lag-function 3"),
        (lambda: hc.TrainSpec(log=True), "no truth value"),
        (lambda: hc.TrainSpec(batch=10**30), "below 2\\*\\*63"),
        (lambda: hc.RunSpec(memory="exp-4b", seed=True), "no truth value"),
        (lambda: hc.RunSpec(memory="exp-4b", model="gru:width=0"), "greater than or equal to 1"),
        (lambda: hc.ModelSpec.from_values({3: 4}), "names as keys"),
        (lambda: hc.ModelSpec(7), "1 values that have no name"),
        (lambda: hc.Attention(), "missing a required argument"),
        (lambda: hc.Transformer(1, 2, 3, 4, 5), "too many positional"),
        (lambda: hc.Layer(haeds=2), "missing|haeds"),
        (lambda: hc.TokenEmbedding(None), "missing"),
        (lambda: hc.LinearEmbedding(weigth=1), "nearest: 'weight'"),
        (lambda: hc.biases[["lin"]], "a name"),
        (lambda: hc.biases.register(7, formula="x", ref=hc.Ref("headcount")), "name is 7"),
        (lambda: hc.ModelSpec(bias={"kind": "rope", "base": float("inf")}), "finite"),
        (lambda: hc.ModelSpec(position="sinusoidal:base=-2"), "greater than 0"),
        (lambda: model()(jnp.array([[0, 77]]), hc.Last()), "tokens from 0 to 77"),
        (lambda: model()(jnp.array([[0, -2]]), hc.Last()), "tokens from -2 to 0"),
        (lambda: model()(jnp.array([[0, 1]]), "first"), "read 'first'"),
        (lambda: model()([[0, 1]], hc.Last()), "make it an array"),
        (lambda: model()(jnp.zeros((0, 3), int), hc.Last()), r"tokens of shape \[0, 3\]"),
        (lambda: hc.ModelSpec().build(jax.random.key(0), dim=10**14), "at least .* of memory"),
        (lambda: hc.kernels.build("exp:1").values(True), "length is True"),
        (lambda: hc.kernels.build("exp:1").values(10**14), "at least .* of memory"),
        (lambda: CLAIM.answers(3), "a question 3"),
        (lambda: hc.canonical_json(object()), "cannot be written"),
        (lambda: hc.content_hash((lambda held: held.append(held) or held)([])), "holds itself"),
        (lambda: hc.targets.build("fixed:lags=1,readout=" + "triangle(of=" * 40), "deep"),
        (lambda: hc.targets.build(f"fixed:lags={'8' * 6000}"), "maximum size"),
    ],
)  # fmt: skip
def test_refused(call, words):
    with pytest.raises(hc.InputError, match=words) as caught:
        call()
    assert len(str(caught.value)) < 7000
    assert "\n" not in str(caught.value)


def test_a_part_made_by_its_class_reads_what_its_text_reads():
    assert hc.EssentialMemory(kernel="exp:1") == hc.targets.build("essential:kernel=exp:1")
    assert hc.FixedMemory(lags=np.array([2, 5])).lags == (2, 5)


def test_containers_are_looked_into():
    assert fits((1, 2), tuple[int, ...])
    assert not fits((1, "2"), tuple[int, ...])
    assert fits((1, "2"), tuple[int, str])
    assert not fits((1,), tuple[int, str])
    assert fits({"a": 1}, dict[str, int])
    assert not fits({1: 1}, dict[str, int])
    assert not fits("ab", list[str])
    assert in_words(tuple[int, ...]) == "a tuple, each a whole number"

    @checked
    def rest(*values: int, **named: str) -> int:
        return len(values) + len(named)

    assert rest(1, 2, a="b") == 3


@pytest.fixture
def folder(tmp_path):
    return hc.save(model(), tmp_path / "model")


def change(folder, edit):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    edit(config["model"])
    path.write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda m: m["layers"][0].update(residual="yes"), "residual.*True or False"),
        (lambda m: m["layers"][0].update(residual=1), "True or False"),
        (lambda m: m.update(layers=3), "layers.*is 3"),
        (lambda m: m["layers"].append("relu"), "layers"),
        (
            lambda m: m["layers"][0].update(ffn=m["layers"][0]["attention"]["normaliser"]),
            "ffn of Layer",
        ),
        (lambda m: m["layers"][0]["attention"]["bias"].update(positive=[]), "unknown"),
        (lambda m: m["layers"][0].update(part="layer/relu"), "unknown part"),
        (lambda m: m.update(layers=[]), "do not fit together|weights that the config"),
    ],
)
def test_a_config_of_wrong_types_is_refused(folder, edit, words):
    change(folder, edit)
    with pytest.raises(hc.InputError, match=words):
        hc.load(folder)


def test_deep_json_is_refused(folder):
    (folder / "config.json").write_text('{"format": 1, "model": ' + "[" * 50_000)
    with pytest.raises(hc.InputError, match="not JSON"):
        hc.load(folder)
    (folder / "config.json").write_text('{"format": 1, "model": ' + "[" * 900 + "]" * 900 + "}")
    with pytest.raises(hc.InputError):
        hc.load(folder)


def test_weights_of_an_unknown_type_or_shape_are_refused(folder):
    path = folder / "model.safetensors"
    header = json.dumps({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    whole = path.read_bytes()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"ab")
    with pytest.raises(hc.InputError, match="cannot read"):
        hc.load(folder)
    path.write_bytes(whole)
    arrays = safetensors.numpy.load_file(path)
    name = next(key for key in arrays if key.endswith("w_value"))
    arrays[name] = np.zeros((1, 3, 3), np.float32)
    safetensors.numpy.save_file(arrays, path)
    spot = name.split(".")

    def edit(config):
        for step in spot[:-1]:
            config = config[int(step) if step.isdigit() else step]
        config[spot[-1]]["array"][1] = [1, 3, 3]

    change(folder, edit)
    with pytest.raises(hc.InputError, match="do not fit together"):
        hc.load(folder)


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        hc.FixedMemory(lags=(1,)).lags = (2,)
