"""The checker accepts what was proved and refuses everything else."""

import dataclasses

import pytest

from headcount.memory.kernels import ArrayKernel, Exponential, Lag, Power, Window
from headcount.theory.bounds import check, lower_bound
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

CASES = {
    "dual-l1": (Problem(Lag(2), family("lin"), window=64, budget=30.0), None),
    "dual-l2": (
        Problem(Exponential(0.1), family("log"), norm=Norm.L2, window=64, budget=30.0),
        None,
    ),
    "dual-sup": (Problem(Lag(2), family("log1p"), norm=Norm.SUP, window=64, budget=30.0), None),
    "chebyshev": (Problem(Lag(40), family("log"), budget=1e3), None),
    "theorem-a": (Problem(ArrayKernel((0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, -2.0)), family("log1p")), 2),
    "theorem-a-sup": (Problem(Lag(6), family("log"), norm=Norm.SUP), 3),
    "block": (Problem(Window(7), family("log")), 3),
    "zeros": (Problem(Power(1.5), family("lin"), window=300), 3),
    "zeros-l2": (Problem(Power(1.5), family("lin"), norm=Norm.L2, window=300), 3),
    "zeros-sup": (Problem(Power(1.5), family("lin"), norm=Norm.SUP, window=300), 3),
}


@pytest.fixture(scope="module")
def bounds():
    return {
        name: (problem, lower_bound(problem, heads)) for name, (problem, heads) in CASES.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_accepts(bounds, name):
    problem, bound = bounds[name]
    assert bound.value > 0
    assert bound.certified
    assert check(problem, bound)


@pytest.mark.parametrize("name", CASES)
def test_refuses_a_larger_value(bounds, name):
    problem, bound = bounds[name]
    assert not check(problem, dataclasses.replace(bound, value=bound.value * (1 + 1e-4) + 1e-9))


@pytest.mark.parametrize("name", CASES)
def test_refuses_another_norm_kernel_or_claim(bounds, name):
    problem, bound = bounds[name]
    other = {Norm.L1: Norm.L2, Norm.L2: Norm.SUP, Norm.SUP: Norm.L2}[problem.norm]
    assert not check(dataclasses.replace(problem, norm=other), bound)
    assert not check(dataclasses.replace(problem, kernel=Exponential(3.0)), bound)
    assert not check(problem, dataclasses.replace(bound, certified=False))
    assert not check(problem, dataclasses.replace(bound, certificate={"kind": "faith"}))
    assert not check(problem, dataclasses.replace(bound, certificate={}))


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][1] is None])
def test_refuses_a_larger_budget_or_a_claim_about_heads(bounds, name):
    problem, bound = bounds[name]
    assert not check(dataclasses.replace(problem, budget=problem.budget * 2), bound)
    assert not check(problem, dataclasses.replace(bound, heads=3))
    if bound.method == "dual":  # the same numbers do not prove the bound for more budget
        assert not check(
            dataclasses.replace(problem, budget=problem.budget * 2),
            dataclasses.replace(bound, budget=problem.budget * 2),
        )


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][1] is not None])
def test_refuses_more_heads(bounds, name):
    problem, bound = bounds[name]
    many = 12
    assert not check(problem, dataclasses.replace(bound, heads=many))
    assert not check(
        problem,
        dataclasses.replace(bound, heads=many, certificate={**bound.certificate, "heads": many}),
    )


def test_refuses_a_changed_dual_vector(bounds):
    problem, bound = bounds["dual-l1"]
    y = list(bound.certificate["y"])
    y[5] = -y[5] + 0.25
    assert not check(
        problem, dataclasses.replace(bound, certificate={**bound.certificate, "y": tuple(y)})
    )
    y[5] = float("nan")
    assert not check(
        problem, dataclasses.replace(bound, certificate={**bound.certificate, "y": tuple(y)})
    )
    assert not check(
        problem,
        dataclasses.replace(
            bound, certificate={**bound.certificate, "lags": bound.certificate["lags"][:-1]}
        ),
    )


def test_refuses_slower_rates_than_were_proved():
    problem = Problem(Power(0.5), family("log"), window=100, budget=10.0)
    bound = lower_bound(problem)
    assert check(problem, bound)
    assert not check(problem, dataclasses.replace(bound, lowest_rate=0.25))


def test_refuses_changed_blocks(bounds):
    problem, bound = bounds["zeros"]
    start, stop, sign = bound.certificate["blocks"][0]
    twice = ((start, stop, sign), (start, stop, -sign), *bound.certificate["blocks"][1:])
    assert not check(
        problem, dataclasses.replace(bound, certificate={**bound.certificate, "blocks": twice})
    )
    moved = (bound.certificate["coefficients"][0] * 1.5, *bound.certificate["coefficients"][1:])
    assert not check(
        problem,
        dataclasses.replace(bound, certificate={**bound.certificate, "coefficients": moved}),
    )


def test_refuses_overlapping_windows(bounds):
    problem, bound = bounds["theorem-a"]
    assert bound.certificate["places"] == (4, 10)
    assert not check(
        problem, dataclasses.replace(bound, heads=3, certificate={**bound.certificate, "heads": 3})
    )
    assert not check(
        problem,
        dataclasses.replace(bound, value=2.0, certificate={**bound.certificate, "places": (1, 10)}),
    )


USE_LAG_ZERO = {
    "dual": (Problem(Lag(2), family("lin"), window=64, budget=30.0), None),
    "chebyshev": (Problem(Lag(40), family("log1p"), budget=1e3), None),
    "theorem-a": (Problem(Lag(4), family("lin")), 4),
    "theorem-a-differences": (Problem(Window(6), family("log1p")), 5),
    "zero-counting": (Problem(Exponential(0.3), family("log1p"), window=300), 1),
}


@pytest.mark.parametrize("method", USE_LAG_ZERO)
def test_refuses_a_proof_by_lag_zero_where_the_residual_gives_it(method):
    problem, heads = USE_LAG_ZERO[method]
    bound = lower_bound(problem, heads)
    assert bound.method == method
    assert bound.value > 0
    assert check(problem, bound)
    free = dataclasses.replace(problem, residual=True)
    assert not check(free, bound)
    own = lower_bound(free, heads)
    assert check(free, own)
    assert not check(free, dataclasses.replace(own, value=own.value * (1 + 1e-4) + 1e-9))
