import json

import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json
from headcount.memory.named import targets
from headcount.train.run_plan import shape_key
from headcount.train.run_spec import RunSpec, TrainSpec

BASE = {
    "memory": "fixed:lags=1+3",
    "model": {"heads": 2, "width": 4, "hidden": 8, "attention": "dp-free"},
    "train": {"steps": 50, "batch": 4, "length": 8, "log": 5},
}


def changed(**changes):
    values = {**BASE, "train": {**BASE["train"]}, "model": {**BASE["model"]}}
    for name, value in changes.items():
        level, _, field = name.partition("__")
        if field:
            values[level] = {**values[level], field: value}
        else:
            values[level] = value
    return RunSpec.from_values(values)


def test_round_trip_through_json_keeps_the_identity():
    for spec in (
        changed(),
        changed(model="gru:width=8"),
        changed(memory="exp-4a", seed=7),
        changed(memory=targets.build("recall")),
    ):
        again = RunSpec.from_values(json.loads(canonical_json(spec)))
        assert again.content_hash == spec.content_hash
        assert again.target() == spec.target()


def test_text_mapping_and_object_are_the_same_memory():
    ways = ["fixed:lags=1+3", {"kind": "fixed", "lags": [1, 3]}, targets.build("fixed:lags=1+3")]
    assert len({changed(memory=way).content_hash for way in ways}) == 1


def test_a_corpus_enters_with_its_hash():
    spec = changed(memory="stdlib:megabytes=0.2")
    assert len(spec.memory.options["sha256"]) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 3},
        {"train__lr": 0.5},
        {"train__steps": 70},
        {"train__limit": 3.0},
        {"train__optimiser": {"b1": 0.8, "eps": 1e-6}},
        {"train__schedule": {"warmup": 3, "final": 0.1}},
        {"model__bias": "lin:low=0.1,high=3,spacing=log"},
    ],
)
def test_these_share_a_program(change):
    assert shape_key(changed(**change)) == shape_key(changed())
    assert changed(**change).content_hash != changed().content_hash


@pytest.mark.parametrize(
    "change",
    [
        {"memory": "fixed:lags=1+4"},
        {"model__heads": 4},
        {"model__bias": "log"},
        {"model__normaliser": "none"},
        {"train__batch": 5},
        {"train__length": 9},
        {"train__log": 6},
        {"train__schedule": {"shape": "cosine"}},
        {"train__optimiser": {"weight_decay": 0.1}},
        {"train__optimiser": {"method": "sgd"}},
        {"train__precision": "float64"},
        {"train__data": {"samples": 20}},
        {"train__evaluation": {"length": 16}},
    ],
)
def test_these_do_not(change):
    assert shape_key(changed(**change)) != shape_key(changed())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory": "fxied:lags=1"}, "nearest: 'fixed'"),
        ({"memory": 3}, "memory 3"),
        ({"model__hedas": 3}, "nearest: 'heads'"),
        ({"model": "gruu"}, "nearest: 'gru'"),
        ({"model": 3}, "model 3"),
        ({"train__lr": -1}, "lr is -1"),
        ({"train__lr": float("nan")}, "lr is nan"),
        ({"train__stpes": 1}, "nearest: 'steps'"),
        ({"train__loss": "cross"}, "loss is 'cross'"),
        ({"train__data": {"epochs": 3, "samples": 10}}, "steps 50 and epochs 3"),
        ({"train__data": {"patience": 3, "samples": 10}}, "without validation"),
        ({"train__log": 0}, "log"),
        ({"train__precision": "float16"}, "precision"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**32}, "seed is"),
    ],
)
def test_refused_when_made(change, words):
    with pytest.raises(InputError, match=words):
        changed(**change)


def test_all_faults_at_once():
    with pytest.raises(InputError) as caught:
        TrainSpec(lrr=1, batch=0, loss="x")
    for words in ("lrr", "batch", "loss"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train__length": 3}, "at least 4"),
        ({"train__evaluation": {"length": 2}}, "at least 4"),
        ({"train__loss": "cross-entropy"}, "real answers"),
        ({"memory": "recall", "train__length": 24, "train__loss": "squared"}, "labels"),
        ({"memory": "recall", "train__length": 24, "train__loss": "population"}, "labels"),
        ({"train__data": {"validation": 0.2}}, "validation split of fresh data"),
        ({"train__data": {"samples": 2, "validation": 0.9}}, "at least one for training"),
        ({"train": {"length": 8, "data": {"epochs": 3}}}, "3 epochs of fresh data"),
        ({"train__log": [10, 60]}, "log points \\[60\\]"),
    ],
)
def test_impossible_combinations_are_refused_before_any_work(change, words):
    with pytest.raises(InputError, match=words):
        shape_key(changed(**change))
