"""Floors of the toy experiments equal known figures, and bound what they claim to bound."""

import dataclasses
import functools

import numpy as np
import pytest

from headcount.core.claims import Claim, Lags, Norm, Readout, Scope, Sense, Status
from headcount.core.refs import Ref
from headcount.experiments.floors import kernel_numbers, loss_bound
from headcount.experiments.paper import (
    experiment_1b,
    experiment_2b,
    experiment_3b,
    experiment_4a,
    experiment_4b,
)
from headcount.experiments.sparse_floors import (
    affine_floor,
    affine_numbers,
    built_numbers,
    code_numbers,
    promised,
    unreachable_numbers,
    walsh,
)
from headcount.experiments.triangle_floors import (
    VARIANCE,
    follower,
    lower,
    possible,
    triangle_numbers,
)
from headcount.memory.readouts import Triangle


@pytest.mark.parametrize(("heads", "floor"), [(1, 1.87), (2, 0.212), (4, 1.7e-3)])
def test_floors_of_a_smooth_kernel(heads, floor):
    numbers = experiment_2b.smooth_numbers(heads, linear=True)
    assert numbers.possible * experiment_2b.ENERGY == pytest.approx(floor, rel=5e-3)
    assert 0 < numbers.lower < numbers.possible
    assert numbers.float32 == pytest.approx(numbers.possible, rel=1e-3)


def test_neurons_do_not_change_what_four_heads_can_do():
    linear, neurons = (experiment_2b.smooth_numbers(4, linear) for linear in (True, False))
    assert neurons.possible == linear.possible
    assert neurons.lower is None


def test_floors_of_4a_and_4b():
    assert kernel_numbers(experiment_4a.KERNEL, "lin", 8, 1000).possible < 1e-6
    light = functools.partial(kernel_numbers, experiment_4b.KERNEL, window=experiment_4b.LENGTH)
    assert light("log1p", 1).possible == pytest.approx(1.0e-7, rel=0.02)
    assert light("lin", 1).possible == 0
    assert light("log1p", 16).possible < 1e-15
    # fewer heads are among more
    assert light("log1p", 16).float32 <= light("log1p", 2).float32 < light("log1p", 1).float32
    assert pytest.approx(7.484, abs=1e-3) == experiment_4a.ENERGY
    assert pytest.approx(1 / (1 - np.exp(-10))) == experiment_4b.ENERGY


KNOWN = {
    ("positions", "lin"): (2.93, 2.90),
    ("positions", "log"): (2.95, 2.94),
    ("lags", "lin"): (2.83, 2.71),
    ("lags", "log"): (2.90, 2.86),
}


@pytest.mark.parametrize(("reading", "bias"), KNOWN)
def test_far_signs_have_certified_floors(reading, bias):
    for budget, known in zip((1e3, 1e9), KNOWN[reading, bias], strict=True):
        target = f"exp-2b:reading={reading}"
        floor = affine_floor(target, bias, budget)
        assert floor.holds_for == f"sum|a| <= {budget:.6g}"  # any heads, any rates, all such lags
        assert floor.value == pytest.approx(known, abs=0.01)
        any_readout = affine_floor(target, bias, budget, readout=Readout.ANY)
        assert any_readout.holds_for == f"{floor.holds_for}, a linear readout"


def test_numbers_of_an_unreachable_arm():
    numbers = unreachable_numbers("exp-2b:reading=lags", "lin", 64, 2)
    assert numbers.possible == pytest.approx(3)
    assert 2.7 < numbers.lower < 3
    assert "affine" in numbers.note
    assert numbers.lower_for == "sum|a| <= 1e+09, a linear readout"
    assert "vacuous" in numbers.promised_text
    assert promised("exp-2b:reading=positions", "lin", 64, 2)[0] > 1e10


@pytest.mark.parametrize(
    ("arm", "limit"),  # limits: what training reached
    [
        ("lin-64-lags", 2.8703),
        ("lin-1-lags", 2.96),
        ("log-64-lags", 2.9449),
        ("log-1-positions", 2.99100),
        ("log-64-positions", 2.9725),
    ],
)
def test_linear_arms_on_far_signs_have_weights(arm, limit):
    """The constant answer, 3, is no floor; nor are heads that decay fast enough for infinitely
    many lags, where there are 1000.
    """
    bias, heads, reading = arm.split("-")
    numbers = affine_numbers(f"exp-2b:reading={reading}", bias, int(heads), 2)
    assert numbers.lower <= numbers.possible <= limit
    assert numbers.possible <= numbers.float32 * (1 + 1e-6)
    # rounded probabilities leave the class, which may help a little
    assert numbers.float32 <= numbers.bfloat16 * 1.005 <= 3.02
    assert (numbers.constant, numbers.lower_for) == (False, "sum|a| <= 1e+09")
    assert numbers.floor >= numbers.possible


def test_walsh_of_known_functions():
    assert walsh("exp-2b:reading=lags").coefficients == (1, 1, 1)
    assert walsh("exp-2b:reading=lags").rest == 0
    teacher = walsh("exp-1b:reading=lags")
    assert 0 < teacher.rest < teacher.variance
    assert walsh("exp-2a").rest == pytest.approx(0, abs=1e-12)  # one sign: affine


@pytest.mark.parametrize("bias", ["lin", "log"])
def test_one_head_codes_two_signs(bias):
    numbers = code_numbers("exp-1b-repaired", bias, 4, 80, 16)
    assert numbers.possible < 1e-20
    assert numbers.float32 < 1e-6
    assert numbers.float32 < numbers.bfloat16 < 1e-2
    assert code_numbers("exp-1b-repaired", bias, 4, 3, 16).possible is None


def test_the_theorem_of_one_layer_promises_nothing_for_two():
    one, two = (experiment_1b.near_numbers("log", layers) for layers in (1, 2))
    assert "Theorem 3.1" in one.promised_text
    assert one.promised_text != two.promised_text
    assert (two.promised, two.promised_text) == (None, "none: Theorem 3.1 is about one layer")
    assert two.possible < 1e-20


def test_recall_is_solved_only_where_the_construction_fits():
    fits = experiment_3b._solved(experiment_3b.RECALL)
    too_wide = experiment_3b._solved(experiment_3b.RecallSize(pairs=6, symbols=12))
    assert fits.possible == 0
    assert "recall" in fits.certificate
    assert (too_wide.possible, too_wide.certificate) == (None, "none")
    assert "needs 2 layers, a stream of 72" in too_wide.note
    assert "the arm has 2 layers, a stream of 48" in too_wide.note


@pytest.mark.parametrize("m", [4, 8, 16, 32, 64, 65])
def test_triangle_network_reaches_what_is_said(m):
    u = (np.arange(2**16) + 0.5) / 2**15 - 1  # midpoints
    wave = np.array([Triangle(32).reference(np.array([[0.0], [v]]))[0] for v in u[:: 2**6]])
    net = follower(32, m)
    assert net.neurons <= m
    assert np.mean((net(u[:: 2**6, None]) - wave) ** 2) == pytest.approx(possible(32, m), abs=2e-3)


def test_triangle_floor_lies_between_a_simple_bound_and_the_network():
    for m in (8, 16, 32, 48, 62):
        # V of slope 64 within 1/64 of a knot: 64^2 (1/64)^3 / 6, density 1/2
        simple = (63 - m) / 768
        assert simple < lower(32, m) < possible(32, m) <= VARIANCE
    assert lower(32, 63) == 0
    assert lower(32, 16, grid=16) >= lower(32, 16) - 1e-9  # a finer grid is sharper
    assert triangle_numbers(32, 8).lower == lower(32, 8)


@pytest.mark.parametrize("m", [2, 4, 16, 64, 65])
def test_triangle_network_survives_rounding(m):
    """Corners at multiples of 1/64 and slopes that are powers of two: both formats hold the
    weights exactly.
    """
    numbers = triangle_numbers(32, m)
    assert numbers.float32 == pytest.approx(numbers.possible, rel=1e-5, abs=1e-12)
    assert numbers.bfloat16 == pytest.approx(numbers.possible, rel=1e-5, abs=1e-12)


def test_a_construction_in_bfloat16():
    numbers = built_numbers("exp-2b:reading=lags,position=100", "table", 3, 2, 100)
    assert numbers.possible <= numbers.float32 <= numbers.bfloat16 < 1e-2


def test_triangle_floor_holds_against_fitted_functions():
    """Least squares on random breakpoints never beats the bound."""
    u = (np.arange(4096) + 0.5) / 2048 - 1
    wave = 1 - 2 * np.abs(2 * (2 * (u + 1) % 1) - 1)  # 4 teeth
    generator = np.random.default_rng(0)
    for m in (1, 2, 3, 5):
        best = np.inf
        for _ in range(300):
            knots = np.sort(generator.choice(np.arange(1, 16), m, replace=False)) / 8 - 1
            columns = np.concatenate(
                [np.ones((len(u), 1)), u[:, None], np.maximum(u[:, None] - knots, 0)], axis=1
            )
            fit = np.linalg.lstsq(columns, wave, rcond=None)[0]
            best = min(best, float(np.mean((columns @ fit - wave) ** 2)))
        assert lower(4, m) <= best + 1e-4
        assert best < VARIANCE


ASKED = Scope(bias="lin", heads=4, norm=Norm.L2, lags=Lags(1, 100))


@pytest.mark.parametrize(
    ("scope", "status", "wanted"),
    [
        (ASKED, Status.PROVED, (2.5, "")),
        (dataclasses.replace(ASKED, heads=None, lags=Lags(1, 50)), Status.PROVED, (2.5, "")),
        (dataclasses.replace(ASKED, weight=1e3), Status.PROVED, (2.5, "sum|a| <= 1000")),
        (dataclasses.replace(ASKED, lowest_rate=1.0), Status.PROVED, (2.5, "rates >= 1")),
        (dataclasses.replace(ASKED, lags=Lags(1)), Status.PROVED, None),  # counts more errors
        (ASKED, Status.CONJECTURED, None),
    ],
)
def test_a_bound_is_a_floor_only_where_its_scope_reaches_the_arm(scope, status, wanted):
    claim = Claim("k", scope, Sense.AT_LEAST, 0.5, status, "dual", Ref("headcount"))
    found = loss_bound(claim, ASKED, variance=2.0, rest=2.0)
    assert (found and (found.value, found.holds_for)) == wanted
