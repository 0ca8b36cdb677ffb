"""What `plan` is asked for, by the memory that was found; and what is trained to verify it."""

import dataclasses

import numpy as np
import pytest

from headcount.diagnose.advice import advise, wish_of
from headcount.diagnose.kernel_tail import Tail, TailClass
from headcount.diagnose.records import (
    Addressing,
    Advice,
    Diagnosis,
    LagFound,
    MapEntry,
    Memory,
    Method,
    RecallFound,
)
from headcount.diagnose.samples import Setting
from headcount.diagnose.verify import ADVISED, OTHER, SMALLER, fresh, sizes, starts


def method(setting=Setting.PAIRED, alphabet=None):
    return Method(
        setting, alphabet is not None, 1000, 300, 1, 1000.0, 31, alphabet, 199, 0.05, {}, 0, ""
    )


def fixed(*lags, setting=Setting.PAIRED, alphabet=None, family="linear"):
    """Lags as (lag, weight); weight None: not linear."""
    made = tuple(LagFound(s, "x", 0.1, (0, 1), 0.005, family, (), w) for s, w in lags)
    return Diagnosis(Memory.FIXED, method(setting, alphabet), lags=made, addressing=Addressing.LAG)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (fixed((7, 0.5), (31, 0.5)), "lags=7+31,inputs=uniform,readout=linear:weights=1+1"),
        (fixed((7, 0.5), (31, -0.25)), "lags=7+31,inputs=uniform,readout=linear:weights=1+-0.5"),
        (fixed((1, 0.5), (3, 1.0), setting=Setting.SELF),
         "lags=2,inputs=uniform,readout=linear:weights=0.5+1"),
        (fixed((5, None), (12, None), family="product"),
         "lags=5+12,inputs=uniform,readout=product"),
        (fixed((0, None), (12, None), family="product"),
         "lags=12,inputs=uniform,readout=product:current=true"),
        (fixed((7, None), (31, None), alphabet=4),
         "lags=7+31,inputs=onehot:symbols=4,readout=lookup"),
        (fixed((7, None), (31, None), alphabet=128), "lags=7+31,inputs=onehot:symbols=128"),
    ],
)  # fmt: skip
def test_few_lags(found, name):
    assert wish_of(found, Memory.FIXED, False).name == f"fixed:{name}"


@pytest.mark.parametrize(("weights", "heads"), [((0.5, 0.5), 1), ((0.5, -0.5), 2)])
def test_one_head_adds_up_lags_of_one_sign(weights, heads):
    advice = advise(fixed(*zip((3, 7), weights, strict=True)))
    assert (advice.layers, advice.heads, advice.dot_product) == (1, heads, False)
    assert advice.claim["status"] == "proved and checked"


def essential(tail):
    kernel = tuple((lag, 0.5**lag * (-1) ** lag, 0.1) for lag in range(32))
    return Diagnosis(Memory.ESSENTIAL, method(), tail=tail, kernel=kernel)


def test_kernels():
    exp = Tail(TailClass.EXP, 0.1, (0.09, 0.11), 9.0, None)
    power = dataclasses.replace(exp, shape=TailClass.POWER, rate=1.2)
    neither = Tail(TailClass.NEITHER, None, None, 0.0, None)
    wish = wish_of(essential(exp), Memory.ESSENTIAL, False)
    assert (wish.name, wish.biases) == ("essential:kernel=exp:0.1,inputs=uniform", ("lin",))
    wish = wish_of(essential(power), Memory.ESSENTIAL, False)
    assert wish.target.kernel[0].numbers[:2] == (1.0, float(f"{2**-1.2:.4g}"))
    assert wish.biases == ("log1p",)
    assert wish_of(essential(neither), Memory.ESSENTIAL, False).biases == ("table",)


def with_advice(found, **values):
    usual = Advice(None, 1, 1, "table", "dp-free", None, False, None, None)
    return dataclasses.replace(found, advice=dataclasses.replace(usual, **values))


def test_noise_of_the_other_sign_asks_for_no_head():
    kernel = tuple((s, 0.5 * 0.7**s - 0.04 * (s == 9), 0.02) for s in range(12))
    found = Diagnosis(Memory.ESSENTIAL, method(), kernel=kernel, addressing=Addressing.LAG)
    values = wish_of(found, Memory.ESSENTIAL, False).target.kernel[0].numbers
    assert min(values) == 0 == values[9]
    clear = (*kernel[:9], (9, -0.2, 0.02), *kernel[10:])
    found = dataclasses.replace(found, kernel=clear)
    assert wish_of(found, Memory.ESSENTIAL, False).target.kernel[0].numbers[9] < 0


def test_a_head_less_is_smaller():
    advised, smaller, other = sizes(with_advice(fixed((3, 0.5), (7, -0.5)), heads=2))
    assert [advised.role, smaller.role, other.role] == [ADVISED, SMALLER, OTHER]
    assert (advised.heads, advised.starts) == (2, ((3,), (7,)))
    assert (smaller.heads, smaller.starts) == (1, ((3, 7),))
    assert other.bias == "lin"


def test_the_newest_element_alone_is_trained_without_a_head():
    found = fixed((1, 0.9), setting=Setting.SELF)
    found = dataclasses.replace(found, advice=advise(found))
    advised, smaller = sizes(found)[:2]
    assert (advised.layers, advised.heads, smaller.heads) == (0, 0, -1)
    x, y = np.zeros((4, 1, 1)), np.zeros(4)
    assert fresh(advised, x, y, 0).layers


def test_the_newest_element_alone_is_smaller_than_one_head():
    _, smaller, _ = sizes(with_advice(fixed((3, 0.5))))
    assert (smaller.layers, smaller.heads) == (0, 0)
    found = with_advice(fixed((1, 0.5), setting=Setting.SELF), heads=0)
    advised, smaller = sizes(found)
    assert (advised.layers, advised.heads) == (0, 0)
    assert smaller.heads < 0  # not even that


def test_adaptive_rivals():
    found = Diagnosis(Memory.ADAPTIVE, method(alphabet=4), addressing=Addressing.LAG)
    found = with_advice(found, dot_product=True, bias="peak", attention="peak-tmx")
    advised, smaller, _ = sizes(found)
    assert (advised.attention, advised.position, advised.bias) == ("dot", "learned", "table")
    assert (smaller.attention, smaller.position) == ("dp-free", "none")
    recall = dataclasses.replace(
        with_advice(found, dot_product=True, layers=2), addressing=Addressing.CONTENT
    )
    advised, smaller, _ = sizes(recall)
    assert (advised.layers, advised.position, smaller.layers) == (2, "none", 1)


@pytest.mark.parametrize(
    ("lags", "pivot", "layers"), [((2, 5, 5, 8), 0, 1), ((2, 5, 2, 8), 0, 2), ((2, 5, 8, 9), 3, 2)]
)
def test_a_value_names_the_lag_in_one_layer_where_each_has_an_interval(lags, pivot, layers):
    entries = tuple(MapEntry(1, f"quarter {k}", (s,), 0.01, pivot) for k, s in enumerate(lags))
    found = Diagnosis(Memory.ADAPTIVE, method(), map=entries, addressing=Addressing.LAG)
    advice = advise(found)
    assert (advice.layers, advice.heads, advice.dot_product) == (layers, 1, True)


def test_recall_by_a_longer_key_claims_nothing():
    rule = RecallFound(0, 2, 1, 0.5, 9.0)
    found = Diagnosis(
        Memory.ADAPTIVE, method(alphabet=16), recall=rule, addressing=Addressing.CONTENT
    )
    advice = advise(found)
    assert (advice.layers, advice.heads, advice.claim) == (2, 2, None)


def test_heads_begin_at_the_lags_of_a_model():
    found = fixed((1, None), (4, None), (9, None), setting=Setting.SELF, family="nonlinear")
    assert starts(found, 2) == ((3,), (8,))


def test_the_contract_of_json():
    tail = Tail(TailClass.EXP, 0.1, (0.09, 0.11), 9.0, None)
    entry = MapEntry(1, "a", (3,), 0.005)
    found = dataclasses.replace(fixed((3, 0.5)), tail=tail, map=(entry,))
    plain = found.to_json()
    names = "memory addressing lags map nesting tail clock variance models share n_needed advice"
    assert set(names.split()) <= set(plain)
    assert {"lag", "channel", "effect", "ci", "p", "family"} <= set(plain["lags"][0])
    assert {"class", "rate", "ci"} <= set(plain["tail"])
    assert (plain["tail"]["class"], plain["tail"]["ci"]) == ("exp", [0.09, 0.11])
