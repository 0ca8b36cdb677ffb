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
    code_numbers,
    promised,
    unreachable_numbers,
    walsh,
)


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


def test_floors_of_4b():
    light = functools.partial(kernel_numbers, experiment_4b.KERNEL, window=experiment_4b.LENGTH)
    assert light("log1p", 1).possible == pytest.approx(1.0e-7, rel=0.02)
    assert light("lin", 1).possible == 0
    assert light("log1p", 2).float32 < light("log1p", 1).float32
    assert pytest.approx(1 / (1 - np.exp(-10))) == experiment_4b.ENERGY


@pytest.mark.parametrize(
    ("heads", "most"), [(2, 0.213), pytest.param(8, 1e-6, marks=pytest.mark.slow)]
)
def test_floors_of_4a(heads, most):
    assert pytest.approx(7.484, abs=1e-3) == experiment_4a.ENERGY
    assert 0 < kernel_numbers(experiment_4a.KERNEL, "lin", heads, 1000).possible < most


@pytest.mark.slow
def test_floors_of_many_heads():
    light = functools.partial(kernel_numbers, experiment_4b.KERNEL, window=experiment_4b.LENGTH)
    assert light("log1p", 16).possible < 1e-15
    # fewer heads are among more
    assert light("log1p", 16).float32 <= light("log1p", 2).float32


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
