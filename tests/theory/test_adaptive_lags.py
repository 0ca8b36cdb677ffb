import mpmath
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.theory.adaptive_lags import adaptive_errors, fit_adaptive
from headcount.theory.heads import Lin, Log, Log1p


def slow_error(fit, B, length):
    """sum over s < length of |1{s=B} - sum_h c_h curve|, 200 digits, from the coefficients that
    move with B.
    """
    with mpmath.workdps(200):
        c = [mpmath.mpf(int(x.p)) / int(x.q) for x in fit.coefficients]
        rates = [mpmath.mpf(b) for b in fit.head_sum.rates]
        total = mpmath.mpf(0)
        for s in range(fit.first, length):
            distance = (
                mpmath.mpf(s - B) if fit.family.name == "lin" else mpmath.log(mpmath.mpf(s) / B)
            )
            curves = [mpmath.exp(-b * distance) for b in rates]
            total += abs((s == B) - mpmath.fsum(x * y for x, y in zip(c, curves, strict=True)))
        return float(total)


@pytest.mark.parametrize(("T", "heads"), [(0, 3), (1, 9), (2, 12), (3, 5)])
def test_lin_every_shift_is_measured(T, heads):
    fit = fit_adaptive(T, Lin(), heads)
    assert len(fit.errors) == T + 1
    for B, error in enumerate(fit.errors):
        assert error == pytest.approx(slow_error(fit, B, 150), rel=1e-6, abs=1e-12)
    assert fit.error < 0.1
    assert fit.error - fit.errors[T] <= 1e-12


def test_lin_needs_more_heads_than_lags():
    fit = fit_adaptive(4, Lin(), 4)  # Theorem A: nothing beats zero
    assert fit.error == 1.0
    assert fit.method == "zero"


@pytest.mark.parametrize(("T", "heads", "at_most"), [(1, 2, 1e-6), (2, 5, 1e-3), (3, 9, 0.02)])
def test_log_every_scale_is_measured(T, heads, at_most):
    fit = fit_adaptive(T, Log(), heads)
    assert len(fit.errors) == T
    for B, error in zip(range(1, T + 1), fit.errors, strict=True):
        assert slow_error(fit, B, 200) <= error * (1 + 1e-9) + 1e-15
    assert fit.errors[-1] == pytest.approx(slow_error(fit, T, 200), rel=0.1)
    assert fit.error <= at_most


def test_log_bump_serves_all_scales():
    fit = fit_adaptive(2, Log(), 25)
    assert fit.method == "Chebyshev bump (A)"
    assert fit.error < 0.1


def test_a_budget_is_kept():
    fit = fit_adaptive(2, Log(), 5, budget=100.0)
    assert fit.head_sum.coefficient_sum <= 100 * (1 + 1e-6)
    assert fit.error > fit_adaptive(2, Log(), 5).error


def test_lin_under_a_budget_is_the_fixed_problem():
    fit = fit_adaptive(1, Lin(), 2, budget=10.0)
    assert fit.method == "fixed problem at lag T"
    assert fit.error == pytest.approx(0.25, rel=1e-6)  # 5 (0.2^s - 0^s)
    assert fit.errors[0] <= fit.errors[1]


def test_zero_heads_measure_one():
    fit = fit_adaptive(4, Lin(), 4)
    assert adaptive_errors(4, fit.head_sum) == (1.0,) * 5


def test_json_is_plain():
    made = fit_adaptive(1, Lin(), 3).to_json()
    assert made["heads"] == len(made["rates"]) == len(made["coefficients"]) == 3
    assert made["error"] == max(made["errors"])
    assert all(np.isfinite(c) for c in made["coefficients"])


@pytest.mark.parametrize(
    ("T", "family", "heads", "word"),
    [(0, Log(), 3, "at least 1"), (2, Lin(), 0, "at least 1"), (2, Log1p(), 3, "lin or log")],
)
def test_bad_requests_are_refused(T, family, heads, word):
    with pytest.raises(InputError, match=word):
        fit_adaptive(T, family, heads)
