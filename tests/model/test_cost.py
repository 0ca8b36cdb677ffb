"""Hand counts. A multiply-add is two operations."""

import jax
import numpy as np
import pytest

from headcount.memory.read import Everywhere, Last
from headcount.model.baselines import baselines
from headcount.model.cost import cost, count_parameters
from headcount.model.spec import ModelSpec


def build(**spec):
    return ModelSpec(**{"heads": 2, "width": 4, "hidden": 3, **spec}).build(
        jax.random.key(0), dim=1
    )


def test_parameters_of_the_papers_layer():
    # embedding 4+4, rates 2, values 2x2x4, outputs 2x4x2, FFN 3x4 + 3 + 1x3
    assert count_parameters(build(attention="dp-free")) == 8 + 2 + 16 + 16 + 18
    # a dot product adds queries and keys 2x2x4 each
    assert count_parameters(build()) == 60 + 32


def test_fixed_slopes_are_no_parameters():
    assert count_parameters(build(attention="dp-free", bias="alibi")) == 58


def test_one_read_of_contracted_heads():
    model = build(attention="dp-free")
    expected = (
        2 * 1 * 4  # embedding at the one row
        # two heads, ten lags: bias, exp, divide, and a multiply-add of the one feature
        + 2 * 1 * 10 * (3 + 2 * 1)
        + 2 * 1 * 2 * 1 * 4  # what was gathered, mapped to the stream
        + 2 * 2 * 2 * 4 * 1  # W_V lift, once
        + 4  # residual
        + 2 * (12 + 3)
        + 1  # FFN
    )
    assert cost(model, 10, Last()).flops == expected


def test_dot_product_counts_every_pair():
    model = build()
    expected = (
        2 * 10 * 1 * 4  # embedding everywhere
        + 2 * 4 * 2 * (2 * (10 + 10) + 2 * 10)  # queries, keys, values
        + 2 * 10 * 10 * (2 * 2 + 3 + 2 * 2)  # scores, softmax, weighted sum
        + 2 * 10 * 2 * 2 * 4  # W_O
        + 10 * 4
        + 10 * (2 * 15 + 1)
    )
    assert cost(model, 10, Everywhere()).flops == expected


def test_contracted_reads_grow_linearly_and_dot_products_quadratically():
    free, dot = build(attention="dp-free"), build()
    assert cost(free, 20000, Last()).flops / cost(free, 10000, Last()).flops == pytest.approx(
        2, rel=0.01
    )
    assert cost(dot, 20000, Everywhere()).flops / cost(
        dot, 10000, Everywhere()
    ).flops == pytest.approx(4, rel=0.01)


def test_state_is_a_recurrence_for_lin_and_a_cache_for_dot():
    assert cost(build(attention="dp-free"), 100, Last()).state == 2 * (2 + 1)
    assert cost(build(attention="dp-free", bias="log"), 100, Last()).state == 100 * 2 * 2
    assert cost(build(), 100, Last()).state == 100 * 2 * (2 + 2)


@pytest.mark.parametrize(("length", "seen"), [(10, 10), (100, 16)])
def test_a_window_keeps_the_tokens_that_it_sees(length, seen):
    window = {"bias": {"kind": "table", "window": 16}}
    assert cost(build(**window), length, Last()).state == seen * 2 * (2 + 2)
    assert cost(build(attention="dp-free", **window), length, Last()).state == seen * 2 * 2
    # TMX asks the table at a lag of its own: all tokens count
    assert cost(build(attention="tmx", **window), length, Last()).state >= length * 2 * 2


@pytest.mark.parametrize(
    ("text", "parameters", "state"),
    [
        ("gru:width=4", 4 + 4 + 2 * 48 + 12 + 4, 4),
        ("lstm:width=4", 4 + 4 + 2 * 64 + 16 + 4, 8),
        ("ssm:width=4,states=2,hidden=3", 4 + 4 + 4 * 8 + 4 + 12 + 3 + 3, 16),
        ("convolution:width=4,layers=2,size=3", 4 + 4 + 2 * (48 + 4) + 4, (2 + 6) * 4),
        ("gated:width=4,keys=3,values=2,hidden=5,layers=1", 8 + 88 + 3 + 8 + 45 + 4, 3 * 2 + 4),
        ("heads:heads=3", 3 + 3 + 3, 3 * (1 + 1)),
        ("heads:heads=3,bias=log1p", 3 + 3 + 3, 50 * 3),
    ],
)
def test_baselines_by_hand(text, parameters, state):
    model = baselines.build(text, 1, None, 1, jax.random.key(0))
    found = cost(model, 50, Last())
    assert (found.parameters, found.state) == (parameters, state)
    assert cost(model, 100, Last()).flops / found.flops == pytest.approx(2, rel=0.05)
    assert np.isfinite(found.flops)


def test_one_read_of_bare_heads():
    model = baselines.build("heads:heads=3", 2, None, 2, jax.random.key(0))
    expected = (
        # three heads, ten lags: bias, exp, divide, and a multiply-add of both features
        3 * 10 * (3 + 2 * 2)
        + 3 * 2 * 2 * 2  # W_O W_V, once
        + 3 * 2 * 2 * 2  # what was gathered, mapped
    )
    assert cost(model, 10, Last()).flops == expected
