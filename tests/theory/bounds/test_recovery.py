"""Any readout: pairs of sequences that heads confuse; the checker refuses everything else."""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.claims import (
    BALL,
    FIELDS,
    SIGNS,
    Claim,
    Lags,
    Norm,
    Precision,
    Readout,
    Scope,
    Sense,
    Status,
    Tokens,
)
from headcount.core.errors import InputError
from headcount.memory.kernels import ArrayKernel, Exponential, Lag, Oscillating, Power, Window
from headcount.theory.bounds import check
from headcount.theory.bounds.check_pairs import check_pair
from headcount.theory.bounds.recovery import (
    pair_claim,
    recovery_at_rates,
    recovery_claim,
    sequences,
)
from headcount.theory.heads import family
from headcount.theory.problem import Problem

FLOAT32, BFLOAT16 = Precision.FLOAT32.unit, Precision.BFLOAT16.unit
RATES = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0)


def lag(T: int, bias: str = "lin", window: int | None = 64) -> Problem:
    return Problem(Lag(T), family(bias), window=window)


CASES = {
    "pair-lin": lambda: recovery_claim(lag(4), resolution=FLOAT32),
    "pair-log": lambda: recovery_claim(lag(2, "log"), resolution=BFLOAT16, radius=2.5),
    "pair-log1p": lambda: recovery_claim(lag(2, "log1p"), resolution=FLOAT32),
    "pair-osc": lambda: recovery_claim(
        Problem(Oscillating(0.05, 0.3), family("lin"), window=400), resolution=FLOAT32
    ),
    "chebyshev": lambda: recovery_claim(lag(40), resolution=FLOAT32, radius=2.5),
    "theorem-a": lambda: recovery_claim(lag(5, window=None), heads=4, radius=0.3),
    "block": lambda: recovery_claim(Problem(Window(7), family("log")), heads=3),
    "zeros": lambda: recovery_claim(Problem(Power(1.5), family("lin"), window=300), heads=3),
    "at-rates": lambda: recovery_at_rates(lag(3), RATES),
    "at-rates-coarse": lambda: recovery_at_rates(lag(3), RATES, resolution=BFLOAT16 / 64),
}


@pytest.fixture(scope="module")
def claims():
    return {name: make() for name, make in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_accepts_what_is_proved_and_no_more(claims, name):
    claim = claims[name]
    assert claim.value > 0
    assert claim.scope.readout is Readout.ANY
    assert claim.scope.tokens.letters is None
    assert 0 not in claim.scope.lags
    assert check(claim)
    assert not check(dataclasses.replace(claim, value=claim.value * (1 + 1e-4)))
    assert not check(dataclasses.replace(claim, value=math.inf))
    for change in (
        {"subject": Exponential(3.0)},
        {"subject": "lag:3"},
        {"sense": Sense.AT_MOST},
        {"status": Status.MEASURED},
        {"evidence": {}},
    ):
        assert not check(dataclasses.replace(claim, **change)), change


def wider(scope: Scope) -> dict:
    """One value for each field that says more than this scope."""
    return {
        "bias": None,
        "lowest_rate": -0.5,
        "heads": None if scope.heads is not None else 10**6,
        "layers": 2,
        "dot_product": True,
        "readout": Readout.ANY,
        "precision": Precision.FLOAT32,
        "rates": None if scope.rates is not None else (9.5,),
        "norm": Norm.SUP,
        "lags": Lags(scope.lags.first, scope.lags.stop // 2),
        "tokens": Tokens(None, scope.tokens.radius * 0.99),
        "resolution": scope.resolution / 2,
    }


# Heads of any number and all rates already; readouts of any kind; weights without limit; value
# ranks, positions and neurons are not limited.
WIDEST = {"weight", "readout", "state", "reads", "neurons", "normalised"}


@pytest.mark.parametrize("name", CASES)
def test_refuses_a_wider_scope_in_every_field(claims, name):
    claim = claims[name]
    assert set(wider(claim.scope)) | WIDEST == set(FIELDS)
    seen = set()
    for field, value in wider(claim.scope).items():
        if field in WIDEST or value == getattr(claim.scope, field):
            continue
        if field == "rates" and claim.scope.rates is None:
            continue
        if field == "heads" and claim.scope.heads is None:
            continue
        scope = dataclasses.replace(claim.scope, **{field: value})
        if name == "chebyshev" and field == "resolution":  # far beyond what it needs
            scope = dataclasses.replace(claim.scope, resolution=1e-60)
        assert not check(dataclasses.replace(claim, scope=scope)), field
        seen.add(field)
    assert {"bias", "lowest_rate", "layers", "dot_product", "precision", "norm", "tokens"} <= seen
    on_signs = dataclasses.replace(claim.scope, tokens=SIGNS)
    assert not check(dataclasses.replace(claim, scope=on_signs))
    limited = dataclasses.replace(claim.scope, weight=3.0)
    assert not check(dataclasses.replace(claim, scope=limited))


@pytest.mark.parametrize("name", ["pair-lin", "pair-log", "at-rates", "at-rates-coarse"])
def test_refuses_a_changed_pair(claims, name):
    claim = claims[name]
    y = list(claim.evidence["y"])
    repaired = claim.evidence.get("pivots", ())  # there the checker mends the outputs itself
    place = next(k for k, s in enumerate(claim.evidence["lags"]) if s not in repaired)
    for value in (y[place] + 0.5 if y[place] < 0 else y[place] - 0.5, 1.5, math.nan):
        changed = (*y[:place], value, *y[place + 1 :])
        forged = {**claim.evidence, "y": changed}
        assert not check(dataclasses.replace(claim, value=claim.value, evidence=forged))
    grown = {**claim.evidence, "y": tuple(v * 1.001 for v in y)}
    assert not check(dataclasses.replace(claim, value=claim.value * 1.001, evidence=grown))
    at_zero = {**claim.evidence, "lags": (0, *claim.evidence["lags"][1:])}
    assert not check(dataclasses.replace(claim, evidence=at_zero))


def test_a_linear_bound_with_a_budget_is_no_bound_of_every_readout():
    """The weights of a readout that is any function have no limit."""
    claim = recovery_claim(lag(4), resolution=FLOAT32)
    linear = dataclasses.replace(claim.scope, readout=Readout.LINEAR)
    assert not check(dataclasses.replace(claim, scope=linear))


def test_softmax_heads_confuse_the_pair():
    """Both sequences through normalised heads of many rates, in float64: outputs within the
    resolution of 0, answers 2E apart."""
    for bias in ("lin", "log", "log1p"):
        problem = lag(4, bias)
        claim = recovery_claim(problem, resolution=FLOAT32)
        here, there = (np.array(x)[::-1, 0] for x in sequences(claim.evidence))  # by lag
        rates = np.concatenate([np.geomspace(1e-4, 40, 300), [0.0]])
        weights = problem.decay.columns(rates, np.arange(len(here), dtype=float))
        weights /= weights.sum(axis=0)
        assert np.abs(here @ weights).max() <= FLOAT32
        assert np.abs(there @ weights).max() <= FLOAT32
        assert here[4] - there[4] >= 2 * claim.value
        assert np.abs(here).max() <= 1


def test_known_values():
    # beside a free x_t lag T needs T lin heads: no FFN helps
    assert recovery_claim(lag(5, window=None), heads=4).value == 1.0
    assert recovery_claim(lag(5, window=None), heads=5).value == 0.0
    # eta c_T >= 1: lag 40 is no better than 0 in float32
    assert recovery_claim(lag(40), resolution=FLOAT32).value == 1.0
    assert recovery_claim(lag(4), resolution=FLOAT32).value == pytest.approx(0.0914, abs=1e-3)
    # the bound grows with the resolution, and scales with the tokens
    values = [recovery_claim(lag(3), resolution=eta).value for eta in (1e-9, 1e-6, 1e-3, 0.1)]
    assert values == sorted(values)
    assert recovery_claim(lag(3), resolution=1e-3, radius=4.0).value == pytest.approx(4 * values[2])


def test_one_curve_is_its_own_head():
    """Exact outputs of the right head leave nothing; known to eta they leave eta a."""
    problem = Problem(Exponential(0.5), family("lin"), window=40)
    assert recovery_at_rates(problem, (0.5,)).value < 1e-8
    coarse = recovery_at_rates(problem, (0.5,), resolution=1e-3)
    assert coarse.value == pytest.approx(1e-3, rel=1e-6)


def test_a_function_of_the_memory():
    claim = recovery_claim(lag(5), resolution=FLOAT32)
    size = pair_claim("size", lambda x: abs(x[-6][0]), claim)
    assert size.value == pytest.approx(claim.value / 2)  # ±d have one size; 1/2 ± d/2 do not
    assert check_pair(size, lambda x: abs(x[-6][0]))
    assert not check_pair(size, lambda x: abs(x[-2][0]))
    assert not check_pair(dataclasses.replace(size, value=size.value * 1.001), lambda x: x[-6][0])
    half = pair_claim("gate", lambda x: float(x[-6][0] > 0), claim)
    assert half.value == 0.5


def test_check_pair_refuses_a_wider_scope():
    answer = lambda x: float(np.tanh(3 * x[-6][0]))  # noqa: E731
    claim = pair_claim("tanh", answer, recovery_claim(lag(5), resolution=FLOAT32))
    assert check_pair(claim, answer)
    refused = set()
    for field, value in wider(claim.scope).items():
        if field in WIDEST or value == getattr(claim.scope, field) or field in ("heads", "rates"):
            continue
        scope = dataclasses.replace(claim.scope, **{field: value})
        if field == "tokens":
            scope = dataclasses.replace(scope, tokens=SIGNS)
        assert not check_pair(dataclasses.replace(claim, scope=scope), answer), field
        refused.add(field)
    assert {"bias", "layers", "dot_product", "precision", "lags", "resolution"} <= refused
    assert not check_pair(dataclasses.replace(claim, status=Status.FOUND), answer)
    assert not check_pair(dataclasses.replace(claim, evidence={"kind": "pair"}), answer)
    far = {**claim.evidence, "shift": 1.5}
    assert not check_pair(dataclasses.replace(claim, evidence=far), answer)


def test_check_pair_looks_at_the_sequences_that_are_answered():
    """A larger pair, which the heads do see, is no evidence; rounding is no way past it either."""
    answer = lambda x: x[-2][0]  # noqa: E731
    for radius in (1.0, 0.7, 3.0):
        found = recovery_at_rates(lag(1, window=6), (0.3, 1.0), FLOAT32, radius)
        claim = pair_claim("lag 1", answer, found)
        assert claim.value == pytest.approx(found.value, rel=1e-5)
        assert check_pair(claim, answer)
        d = claim.evidence["y"]
        for forged in ([1.00001 * v for v in d], [math.copysign(1.0, v) for v in d]):
            seen = {**claim.evidence, "y": tuple(forged)}
            assert not check_pair(dataclasses.replace(claim, evidence=seen), answer)
    lone = {**claim.evidence, "y": (1.0,) + (0.0,) * (len(d) - 1), "shift": 0.0}
    assert not check_pair(dataclasses.replace(claim, value=3.0, evidence=lone), answer)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: recovery_claim(lag(3), resolution=-1.0), "resolution"),
        (lambda: recovery_claim(lag(3), resolution=2.0), "resolution"),
        (lambda: recovery_claim(lag(3), resolution=1e-300), "resolution"),
        (lambda: recovery_claim(lag(3), radius=0.0), "radius"),
        (lambda: recovery_at_rates(lag(3), ()), "rates"),
        (lambda: recovery_at_rates(lag(3), (-1.0,)), "rate"),
        (lambda: pair_claim("x", lambda x: 0.0, recovery_at_rates(lag(3), (1.0,))), "exact"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_questions_that_it_answers():
    """A claim for float32's resolution speaks for coarser ones, not for a computed model."""
    claim = recovery_claim(lag(5), resolution=FLOAT32)
    assert isinstance(claim, Claim)
    asked = Scope(bias="lin", readout=Readout.ANY, tokens=BALL, resolution=BFLOAT16)
    assert claim.excludes(asked, 0.4)
    assert not claim.excludes(dataclasses.replace(asked, resolution=0.0), 0.4)
    assert not claim.excludes(dataclasses.replace(asked, precision=Precision.FLOAT32), 0.4)
    assert not claim.excludes(dataclasses.replace(asked, tokens=SIGNS), 0.4)
    assert not claim.excludes(dataclasses.replace(asked, layers=2), 0.4)


def test_a_zero_kernel_and_short_windows_are_served():
    assert recovery_claim(lag(1, window=2), resolution=FLOAT32).value >= FLOAT32 * (1 - 1e-6)
    nothing = Problem(ArrayKernel((1.0,)), family("lin"), window=8)  # x_t alone, which is free
    assert recovery_claim(nothing, resolution=FLOAT32).value == 0.0
