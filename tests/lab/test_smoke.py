"""The smoke run's numbers are checked against each other, and a wrong one stops it."""

import dataclasses
import math

import numpy as np
import pytest

from headcount.core.errors import CheckFailed
from headcount.lab import smoke
from headcount.theory.kernel_fit import fit_kernel

PAIR = smoke.Pair("e^-5s", "exp:5", "log1p", 1, math.inf)


@pytest.fixture(scope="module")
def fit():
    return fit_kernel(PAIR.kernel, bias=PAIR.bias, heads=1, window=smoke.LENGTH)


def test_a_row_holds_together(fit):
    row = smoke._checked(PAIR, fit, seed=0)
    assert 0 < row.lower_bound <= row.possible
    assert row.certified
    assert row.float32 == pytest.approx(row.possible, rel=1e-2)
    assert row.bfloat16 > row.float32
    # Random signs: the mean squared error is the squared l2 error of the kernel.
    assert row.mse == pytest.approx(fit.error.l2**2, rel=0.5)
    assert "not measured" in row.learned


def test_heads_that_are_not_the_fitted_ones_stop_the_run(fit):
    wrong = dataclasses.replace(fit, coefficients=tuple(float(a) * 1.01 for a in fit.coefficients))
    with pytest.raises(CheckFailed, match="ball arithmetic says"):
        smoke._checked(PAIR, wrong, seed=0)


def test_the_summary_is_plain(fit):
    row = smoke._checked(PAIR, fit, seed=0)
    summary = smoke.summary([row], started=0.0)
    assert summary["rows"][0]["kernel"] == "exp:5"
    assert np.isfinite(summary["seconds"])
