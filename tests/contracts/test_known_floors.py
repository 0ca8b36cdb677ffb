"""What every floor promises, over many memories and models: it never raises, it is reached by
weights that are really there, and it is never above the best constant.

Filters are compared with least squares on sequences, copies are built into the model itself, and
sums of decays are compared with least squares over a grid of rates.
"""

import dataclasses
import itertools

import equinox as eqx
import jax
import numpy as np
import pytest

from headcount.experiments.table_numbers import _copies, _filled
from headcount.memory.fixed import FixedMemory
from headcount.memory.named import targets, unnamed
from headcount.memory.read import At
from headcount.model.spec import ModelSpec
from headcount.studies.collection import COLLECTION
from headcount.studies.known_floors import floor_of, linear_kernel
from headcount.studies.learning_design import default_model
from headcount.train.run_spec import read_model
from tests.contracts.test_targets import EXAMPLES, needed

READS = ("", ",read=all", ",read=at:10")
RELU_SUM = {"kind": "fixed", "lags": [2, 5],
            "readout": {"kind": "relu-sum", "seed": None, "current": True}}  # fmt: skip
COPIED = (
    "fixed:lags=1+3",
    "fixed:lags=1+3,read=at:10",
    "fixed:lags=1+3,inputs=boolean:2",
    "fixed:lags=1+3,readout=linear(weights=1+2)",
    "fixed:lags=1+3,readout=linear(weights=1+-1)",
    "fixed:lags=1+3,readout=linear(weights=5+1+2)",
    "fixed:lags=1+3,readout=linear(weights=2+0+-3),inputs=gaussian:2",
    "fixed:lags=1+3,readout=linear(weights=2+0+0)",
    "fixed:lags=2+5+9,readout=parity",
    "fixed:lags=2+5,readout=parity,inputs=boolean:2",
    "fixed:lags=2+5,readout=parity(current=true)",
    "fixed:lags=2+5,readout=product",
    "fixed:lags=2+5,readout=product(current=true)",
    RELU_SUM,
    "fixed:lags=2+5,readout=teacher(neurons=4,seed=1,current=true),inputs=uniform",
    "fixed:lags=2,readout=triangle:4,inputs=uniform",
    "fixed:lags=2,readout=lookup(alphabet=-1+0+1),inputs=ternary",
    "fixed:lags=3,inputs=ar1(phi=0.9)",
)
UNKNOWN = (
    "fixed:lags=1+3,read=all",  # early positions see no lag: a softmax answers something
    "fixed:lags=1+3,readout=product,inputs=uniform",  # no network is exact
    "fixed:lags=2,readout=triangle:4,inputs=gaussian",  # exact on [-1, 1] only
)


def many():
    """(memory, length), each once."""
    texts = [(text, 0) for texts in EXAMPLES.values() for text in texts]
    return texts + [(task.text, task.length) for task in COLLECTION]


@pytest.mark.parametrize(("text", "length"), many())
def test_the_default_model_has_a_floor_or_a_reason(text, length):
    target = targets.build(text)
    length = length or max(needed(target) + 3, 16)
    model = default_model(target, length)
    if linear_kernel(target) is not None and model.get("ffn") == "none":
        length, model = 16, model | {"heads": 1}  # a fit of many heads takes seconds
    found = floor_of(target, model, length)
    assert found.why or found.approximation is not None
    if found.approximation is not None:
        y = np.asarray(target.sample(jax.random.key(5), 1000, length).y, float)
        assert 0 <= found.approximation <= found.known <= 1.2 * y.var()


def asked(text, length=16):
    """A memory and a model with room for its copies."""
    table = {"kind": "table", "window": length}
    model = {"attention": "dp-free", "bias": table, "heads": 3, "width": 16, "head_dim": 4}
    return targets.build(text), model | {"hidden": 64}


@pytest.mark.parametrize("text", COPIED, ids=str)
def test_weights_by_formula_stand_in_the_model_and_answer_the_memory(text):
    target, fields = asked(text)
    found = floor_of(target, fields, 16)
    assert found.approximation == pytest.approx(0, abs=1e-12)
    memory = _filled(unnamed(target), 0)
    made = memory.sample(jax.random.key(1), 500, 16)
    model = built(memory, read_model(fields), 16)
    missed = np.asarray(model(made.x, memory.read)) - np.asarray(made.y)
    assert np.mean(missed**2) <= 1e-10 * np.var(np.asarray(made.y))


@pytest.mark.parametrize("text", UNKNOWN)
def test_where_no_weights_are_known_there_is_no_floor(text):
    target, fields = asked(text)
    found = floor_of(target, fields, 16)
    assert found.approximation is None
    assert found.why


def built(memory: FixedMemory, spec: ModelSpec, length: int):
    """The model itself with the weights by formula: x_t and the copies side by side."""
    made, d = _copies(memory), memory.dim
    model = spec.build(jax.random.key(0), dim=d)
    layer, heads = model.layers[0], len(made.logits)
    lift, value, out = (
        np.zeros(each.shape, np.float32)
        for each in (model.embedding.weight, layer.attention.w_value, layer.attention.w_out)
    )
    lift[:d] = np.eye(d)
    value[:, :d, :d] = np.eye(d)
    for head in range(heads):
        out[head, d * (1 + head) : d * (2 + head), :d] = np.eye(d)
    table = np.zeros(layer.attention.bias.table.shape, np.float32)
    table[:heads] = made.tables(length)
    first = d * (1 + heads) - made.net.b.shape[1]  # x_t may not take part
    enter, offset, leave = (
        np.zeros(each.shape, np.float32)
        for each in (layer.ffn.w_in, layer.ffn.offset, layer.ffn.w_out)
    )
    m = made.net.neurons
    enter[:m, first : d * (1 + heads)], offset[:m], leave[0, :m] = (
        made.net.b,
        made.net.c,
        made.net.a,
    )
    return eqx.tree_at(
        lambda t: (t.embedding.weight, t.embedding.offset, t.layers[0].attention.w_value,
                   t.layers[0].attention.w_out, t.layers[0].attention.bias.table,
                   t.layers[0].ffn.w_in, t.layers[0].ffn.offset, t.layers[0].ffn.w_out),
        model,
        (lift, np.zeros_like(np.asarray(model.embedding.offset)), value, out, table, enter, offset,
         leave),
    )  # fmt: skip


def windows(target, count, length=16):
    """Lags of every read [rows, S] with zeros before the first token, and answers [rows]."""
    made = target.sample(jax.random.key(3), count, length)
    x, y = np.asarray(made.x, float)[:, :, 0], np.asarray(made.y, float)[..., 0]
    rows = target.read.rows(length)
    seen = [np.stack([x[:, t - s] if t >= s else 0 * x[:, 0] for s in range(length)], axis=1)
            for t in rows]  # fmt: skip
    return np.concatenate(seen), y.T.ravel()


LINEAR = (
    "essential:kernel=power:0.5",
    "essential:kernel=exp:0.2,inputs=gaussian",
    "fixed:lags=2+5,readout=linear(weights=3+1+-2),inputs=uniform",
    "fixed:lags=7",
)


@pytest.mark.parametrize(("text", "read"), list(itertools.product(LINEAR, READS)))
def test_the_floor_of_a_filter_is_that_of_least_squares(text, read):
    target = targets.build(text + read)
    x, y = windows(target, 3000)
    for taps in (3, 6, 16):
        found = floor_of(target, {"kind": "filter", "taps": taps}, 16)
        seen = np.concatenate([x[:, :taps], np.ones((len(x), 1))], axis=1)
        left = np.mean((seen @ np.linalg.lstsq(seen, y, rcond=None)[0] - y) ** 2)
        assert found.approximation == pytest.approx(left, rel=0.1, abs=1e-12 + 0.01 * y.var())
        assert found.approximation <= y.var() * 1.1


BARE, ADDED = {"kind": "heads", "heads": 1}, {"heads": 1}
DECAYING = (
    ("power:0.5", ADDED, ""),
    ("power:0.5", ADDED, ",read=at:10"),
    ("power:0.5", BARE, ""),  # lag 0 is not there, and a lin head sees it
    ("exp:0.3", BARE | {"bias": "log"}, ",read=at:10"),  # lag 0 is there, and no log head sees it
)


@pytest.mark.parametrize(("kernel", "model", "read"), DECAYING)
def test_the_floor_of_decays_is_that_of_a_grid_of_rates(kernel, model, read):
    target = targets.build(f"essential:kernel={kernel}{read}")
    if "kind" not in model:
        model = default_model(target, 16) | model
    found = floor_of(target, model, 16)
    lags = target.read.position if isinstance(target.read, At) else 16
    values = unnamed(target).kernel[0].values(lags)
    best = float((values**2).sum())
    for rate in np.linspace(0, 2, 401):
        head = np.exp(-rate * np.arange(lags))
        if model.get("bias") == "log":
            head = np.append(0.0, np.arange(1.0, lags) ** -rate)
        columns = [head] if "kind" in model else [head, np.eye(lags)[0]]
        basis = np.stack(columns, axis=1)
        w = np.linalg.lstsq(basis, values, rcond=None)[0]
        best = min(best, float(((basis @ w - values) ** 2).sum()))
    assert found.approximation == pytest.approx(best, rel=0.01)
    assert found.approximation <= best * (1 + 1e-9)


@pytest.mark.parametrize("model", [BARE, ADDED])
def test_a_softmax_head_is_another_kernel_at_every_position(model):
    target = targets.build("essential:kernel=power:0.5,read=all")
    fields = model if "kind" in model else default_model(target, 16) | model
    assert floor_of(target, fields, 16).approximation is None


def test_floors_are_in_the_units_of_the_risk():
    """Weights a thousand times as large: rounding costs a million times as much."""
    text = "fixed:lags=1+3,inputs=uniform,readout=linear(weights={})"
    small, large = (floor_of(*asked(text.format(w)), 16).precision for w in ("1+2.3", "1000+2300"))
    assert large == pytest.approx(1e6 * small, rel=10)
    assert large > 1e3 * small > 0


def test_heads_that_do_not_weigh_by_decays_have_no_floor():
    target = targets.build("essential:kernel=power:0.5")
    model = {"kind": "heads", "heads": 2}
    assert floor_of(target, model, 16).approximation > 0
    assert floor_of(target, model | {"normaliser": "sigmoid"}, 16).approximation is None


def test_a_construction_that_misses_is_none(monkeypatch):
    """The last word is the measurement, whatever the formula."""
    from headcount.experiments import table_numbers

    def wrong(memory):
        made = _copies(memory)
        return dataclasses.replace(made, net=dataclasses.replace(made.net, a=2 * made.net.a))

    target, fields = asked("fixed:lags=1+4,readout=parity")
    monkeypatch.setattr(table_numbers, "_copies", wrong)
    table_numbers._errors.cache_clear()
    found = floor_of(target, fields, 16)
    assert found.approximation is None
    assert "not exact" in found.why
    table_numbers._errors.cache_clear()
