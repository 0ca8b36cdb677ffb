"""Every registered part of a model keeps the same promises, whatever it is.

For each case: equal to the independent float64 reference at every position and at one; causal;
finite gradients; works in float32 and bfloat16; saved and loaded bit for bit, with a `run.py` that
answers the same. One compiled function a case, because compiling is what takes time. Quick cases
hold every registered part, and each pair of parts that meets in code of its own (`covering`); one
part at a time is slow.
"""

import functools
import itertools
import runpy

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.registry import Registry
from headcount.memory.read import At, Everywhere
from headcount.model import attention as attention_module
from headcount.model import reference
from headcount.model.biases import biases
from headcount.model.embedding import positions
from headcount.model.ffn import ffns
from headcount.model.normalisers import normalisers
from headcount.model.norms import norms
from headcount.model.save import load, save
from headcount.model.scores import scores
from headcount.model.spec import ModelSpec

N, CUT = 11, 6  # length; position after which the future is changed
OPTIONS = {
    "bias": {
        "table": "table:window=8",
        "t5": "t5:buckets=6,farthest=9",
        "fire": "fire:hidden=4,threshold=5",
        "peak": "peak:reach=6",
        "lin": "lin:high=2",
    },
    "normaliser": {"softmax-tail": "softmax-tail:horizon=9"},
    "position": {"learned": "learned:longest=11"},
}


def text(registry: Registry, name: str) -> str:
    return OPTIONS.get(registry.noun, {}).get(name, name)


def cases():
    dense = {"attention": "dp-free"}
    for bias in biases.names():
        for normaliser in ("softmax", "none"):
            yield {**dense, "bias": text(biases, bias), "normaliser": normaliser}
        yield {"attention": "dot", "bias": text(biases, bias)}
    for normaliser in normalisers.names():
        for bias in ("lin", "log", "peak"):
            yield {**dense, "bias": text(biases, bias), "normaliser": text(normalisers, normaliser)}
        yield {"attention": "dot", "bias": "log1p", "normaliser": text(normalisers, normaliser)}
    for score in scores.names():
        for bias in ("lin", "log", "table"):
            yield {"attention": score, "bias": text(biases, bias), "normaliser": "softmax-sink"}
    yield {"attention": "tmx", "bias": "lin", "normaliser": "none"}
    for norm in norms.names():
        yield {"norm": norm, "layers": 2, "readout": "linear"}
        yield {"norm": norm, "attention": "dp-free"}
    for ffn in ffns.names():
        yield {"ffn": ffn, "layers": 2, "attention": "dp-free", "bias": "log1p"}
    yield {"ffn": "precision:rounding=log"}
    for position in positions.names():
        yield {"position": text(positions, position), "attention": "dp-free", "bias": "log"}
        yield {"position": text(positions, position), "vocabulary": 5, "attention": "dp-free"}
    yield {"vocabulary": 5}
    yield {"vocabulary": 40, "attention": "dp-free", "bias": "log1p"}


def name(case: dict) -> str:
    return "-".join(str(v) for v in case.values())


def unique(cases):
    return list({name(case): case for case in cases}.values())


def along(cases, *others):
    """Cases that also try parts which do not meet theirs: so many more for the same price."""
    cases = list(cases)
    return [case | (others[i] if i < len(others) else {}) for i, case in enumerate(cases)]


def covering():
    """Few cases that hold every part, and every pair of parts that meets in code of its own."""
    kinds = [text(normalisers, normaliser) for normaliser in normalisers.names()]
    curves = [text(biases, bias) for bias in biases.names()]
    turn = itertools.cycle(kinds)
    free = [
        {"attention": "dp-free", "bias": bias} for bias in curves if bias != OPTIONS["bias"]["lin"]
    ]
    yield from along(
        [{**case, "normaliser": next(turn)} for case in free],
        *({"ffn": ffn} for ffn in ffns.names() if ffn != "precision"),
        *({"position": text(positions, position)} for position in positions.names()),
        {"position": text(positions, "learned"), "vocabulary": 5},
        {"vocabulary": 40},
    )
    for normaliser in kinds:
        yield {"attention": "dp-free", "bias": OPTIONS["bias"]["lin"], "normaliser": normaliser}
    dots = [{"attention": "dot", "bias": bias, "normaliser": next(turn)} for bias in curves]
    yield from along(
        # two layers of exponentials that nothing divides overflow: those stay single
        sorted(dots, key=lambda case: case["normaliser"] == "none"),
        *({"norm": norm, "layers": 2, "readout": "linear"} for norm in norms.names()),
        {"vocabulary": 5},
    )
    for score in ("tmx", "peak-tmx"):
        for bias in ("lin", "log", "table"):
            normaliser = "none" if (score, bias) == ("tmx", "lin") else "softmax-sink"
            yield {"attention": score, "bias": text(biases, bias), "normaliser": normaliser}
    yield {"ffn": "precision", "attention": "dp-free", "bias": "log1p"}
    yield {"ffn": "precision:rounding=log"}


def parts(case: dict) -> set:
    """What a case tries: each of its parts; bias, normaliser and tokens beside its score; and its
    normaliser with lin heads (a recurrence) or with others (a convolution)."""
    whole = {"attention": "dot", "bias": "none", "normaliser": "softmax", **case}
    score, bias, normaliser = (whole[field] for field in ("attention", "bias", "normaliser"))
    bias = bias.removesuffix(":high=2")
    return {
        *({**case, "bias": bias}.items()),
        ("bias", score, bias),
        ("normaliser", score, normaliser),
        ("tokens", score, case.get("vocabulary")),
        *([("path", normaliser, bias.startswith("lin"))] if score == "dp-free" else []),
    }


def marked(cases: list[dict]) -> list:
    """The covering cases, then all others, which are slow."""
    quick = {name(case): case for case in covering()}
    return [
        *(pytest.param(case, id=key) for key, case in quick.items()),
        *(
            pytest.param(case, id=name(case), marks=pytest.mark.slow)
            for case in cases
            if name(case) not in quick
        ),
    ]


def test_the_quick_cases_try_what_all_cases_try():
    def tried(cases):
        return set().union(*map(parts, cases))

    assert tried(cases()) - tried(covering()) == set()


@functools.cache
def everything():
    """Outputs everywhere and at one position, and gradients, compiled once a structure."""

    @eqx.filter_jit
    def run(model, x):
        def loss(model):
            y = model(x, Everywhere())
            return (y**2).sum(), y

        (_, y), grads = eqx.filter_value_and_grad(loss, has_aux=True)(model)
        return y, model(x, At(CUT)), grads

    return run


def inputs(vocabulary):
    if vocabulary:
        x = jax.random.randint(jax.random.key(1), (2, N), -1, vocabulary)
        return x, x.at[:, CUT:].set((x[:, CUT:] + 1) % vocabulary)
    x = jax.random.normal(jax.random.key(1), (2, N, 3))
    return x, x.at[:, CUT:].add(1.0)


@pytest.fixture(autouse=True)
def fast_paths(monkeypatch):
    """Short sequences, but the paths of long ones."""
    monkeypatch.setattr(attention_module, "DENSE_ROWS", 4)
    everything.cache_clear()


@pytest.mark.parametrize("case", marked(unique(cases())))
def test_contract(case, x64, tmp_path):
    case = dict(case)
    vocabulary = case.pop("vocabulary", None)
    model = ModelSpec(heads=2, width=8, hidden=5, **case).build(
        jax.random.key(0), dim=0 if vocabulary else 3, vocabulary=vocabulary, outputs=2
    )
    x, other = inputs(vocabulary)
    y, at, grads = everything()(model, x)
    changed, _, _ = everything()(model, other)
    exact = reference.forward(model, np.asarray(x), Everywhere())
    assert y.dtype == jnp.float64
    np.testing.assert_allclose(y, exact, atol=1e-9, err_msg="differs from the float64 reference")
    np.testing.assert_allclose(
        at, exact[:, CUT - 1 : CUT], atol=1e-9, err_msg="one position differs from all positions"
    )
    np.testing.assert_array_equal(
        np.round(changed[:, :CUT] - y[:, :CUT], 9), 0, err_msg="the future changed the past"
    )
    assert all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(grads))

    loaded = load(save(model, tmp_path / "model"))
    plain = runpy.run_path(str(tmp_path / "model" / "run.py"))["answers"](np.asarray(x))
    np.testing.assert_allclose(plain, exact, atol=1e-9, err_msg="run.py differs")
    assert jax.tree.structure(loaded) == jax.tree.structure(model)
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(model), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def narrow():
    """One in four of the covering cases, and others."""
    quick = list(covering())[::4]
    named = {name(case) for case in quick}
    others = [
        case
        for case in unique(cases())
        if case.get("attention") != "dot" or case.get("bias") in (None, "lin", "rope")
    ][::3]
    return [
        *(pytest.param(case, id=name(case)) for case in quick),
        *(
            pytest.param(case, id=name(case), marks=pytest.mark.slow)
            for case in others
            if name(case) not in named
        ),
    ]


@pytest.mark.parametrize("case", narrow())
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_smaller_floats_stay_in_their_type_and_near_the_reference(case, dtype):
    case = dict(case)
    vocabulary = case.pop("vocabulary", None)
    model = (
        ModelSpec(heads=2, width=8, hidden=5, **case)
        .build(jax.random.key(0), dim=0 if vocabulary else 3, vocabulary=vocabulary)
        .astype(dtype)
    )
    x, _ = inputs(vocabulary)
    y = eqx.filter_jit(lambda m, x: m(x, Everywhere()))(model, x)
    assert y.dtype == jnp.dtype(dtype)
    if "precision" in str(case):  # rounding may fall on either side
        assert bool(jnp.isfinite(y).all())
        return
    exact = reference.forward(model, np.asarray(x), Everywhere())
    tolerance = 2e-5 if dtype == "float32" else 0.08
    np.testing.assert_allclose(
        y.astype(jnp.float32), exact, atol=tolerance * max(1.0, np.abs(exact).max())
    )
