import math

import mpmath
import numpy as np
import pytest

from headcount.memory.kernels import kernels
from headcount.theory.bump import bump_maximum, numerator
from headcount.theory.heads import Lin, family
from headcount.theory.problem import Norm, Problem
from headcount.theory.promised import (
    _exponential_constant,
    _power_constant,
    heads_promised,
    lag_lemma,
    promised,
)

LAGS = (1, 5, 10, 20, 50, 100, 952)

# docs/theory.md#constants: certified independently
SUP_DERIVATIVES = (
    0.367879441,
    0.798429752,
    7.74970494,
    186.399921,
    8315.89007,
    5.96357779e5,
    8.14747535e7,
    1.45482562e10,
    3.30090117e12,
    9.29172414e14,
    3.18040363e17,
)


@pytest.mark.parametrize(("k", "expected"), list(enumerate(SUP_DERIVATIVES)))
def test_bump_maxima_agree_with_the_published_ones(k, expected):
    assert bump_maximum(k) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("k", [1, 4, 9, 13])
def test_bump_maxima_are_suprema(k):
    """A dense sample comes close to the supremum from below, and never exceeds it."""
    x = np.linspace(0, 0.999, 40_001)[1:]
    with mpmath.workdps(40):
        coefficients = [int(c) for c in numerator(k).coeffs()][::-1]
    p, w = (
        np.polyval(np.array(coefficients, dtype=np.longdouble), x.astype(np.longdouble)),
        1 - x.astype(np.longdouble) ** 2,
    )
    sizes = np.abs(p) * np.exp(-1 / w - 2 * k * np.log(w))
    assert sizes.max() <= bump_maximum(k) * (1 + 1e-6)
    assert sizes.max() >= bump_maximum(k) * (1 - 1e-4)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_numerator_is_the_derivative_of_the_bump(k):
    with mpmath.workdps(40):
        x = mpmath.mpf("0.37")
        derivative = mpmath.diff(lambda z: mpmath.exp(-1 / (1 - z * z)), x, k)
        polynomial = mpmath.fsum(int(c) * x**i for i, c in enumerate(numerator(k).coeffs()))
        assert (
            abs(derivative - polynomial * (1 - x * x) ** (-2 * k) * mpmath.exp(-1 / (1 - x * x)))
            < 1e-20
        )


def test_constants_of_the_paper():
    lin = [math.exp(lag_lemma("lin", 0).log_constant(n)) for n in range(1, 6)]
    assert lin == pytest.approx([2.19e4, 2.14e7, 5.17e10, 2.32e14, 1.67e18], rel=5e-3)
    # log, uniformly over T, as the paper bounds the gap: T^-a - (T+1)^-a >= a (2T)^{-1-a}
    zeta = float(mpmath.zeta(1.01))
    log = [math.e * bump_maximum(n) * (2**1.01 / 0.01) ** n * zeta for n in range(1, 6)]
    assert log == pytest.approx([4.40e4, 8.59e7, 4.16e11, 3.74e15, 5.40e19], rel=5e-3)
    for n in range(1, 6):  # ours keeps the gap as it is, which can only be smaller
        assert math.exp(lag_lemma("log", 7).log_constant(n)) <= log[n - 1] * 7 ** (1.01 * (n + 1))


ROWS = {
    "lin": (lambda T: lag_lemma("lin", T), (7026, 7386, 7862, 8888, 12740, 23210, 4.4e8)),
    "log": (lambda T: lag_lemma("log", T), (9997, 53730, 1.19e5, 2.69e5, 7.9e5, 1.78e6, 2.4e7)),
    "same proof": (
        lambda T: lag_lemma("lin", T, math.log(2) / T, math.log(2) / T),
        (109, 661, 1522, 3544, 10880, 24890, 3.7e5),
    ),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("i", range(len(LAGS)))
def test_heads_for_error_one_tenth(row, i):
    lemma, expected = ROWS[row]
    tolerance = 0.01 if expected[i] >= 1e5 else 2e-4
    assert heads_promised(lemma(LAGS[i]), 0.1) == pytest.approx(expected[i], rel=tolerance, abs=1)


def bound(kernel, bias, heads, norm="l1", budget=math.inf, window=None):
    problem = Problem(kernels.build(kernel), family(bias), Norm(norm), window, budget)
    return promised(problem, heads, 1.0)


def test_heads_promised_is_where_the_bound_crosses():
    heads = heads_promised(lag_lemma("lin", 5), 0.1)
    assert bound("lag:5", "lin", heads).value <= 0.1
    assert bound("lag:5", "lin", heads - 2).value > 0.1


def test_few_heads_are_vacuous():
    result = bound("lag:5", "lin", 8)
    assert result.applies
    assert result.vacuous
    assert result.value > 1
    assert not bound("lag:5", "lin", 100_000).vacuous


@pytest.mark.parametrize(
    ("kernel", "bias", "word"),
    [
        ("power:0.5", "lin", "not summable"),
        ("power:0.5", "log", "not summable"),
        ("lag:0", "log", "invisible"),
        ("lag:0", "lin", "at least 1"),
        ("power:3", "lin", "exponential decay"),
        ("power:1.5", "log", "2.03"),
        ("exp:0.01", "lin", "1/99"),
    ],
)
def test_reasons_when_it_does_not_apply(kernel, bias, word):
    result = bound(kernel, bias, 10**6, window=1024 if kernel == "power:0.5" else None)
    assert not result.applies
    assert not result.vacuous
    assert result.value is None
    assert any(word in reason for reason in result.reasons)


def test_a_budget_is_outside_the_theorem():
    assert not bound("lag:3", "lin", 10**6, budget=10.0).applies


def test_every_refusal_is_listed():
    assert len(bound("lag:0", "log", 4, budget=10.0).reasons) == 2


@pytest.mark.parametrize(
    ("kernel", "bias"),
    [
        ("exp:1", "lin"),
        ("osc:0.5,0.3", "lin"),
        ("power:3", "log"),
        ("exp:1", "log"),
        ("mexican-hat:4,2", "lin"),
        ("morlet:4,2", "log"),
        ("window:6", "lin"),
        ("window:6", "log1p"),
        ("power:3", "log1p"),
        ("exp:1", "log1p"),
    ],
)
def test_it_applies_and_falls_with_heads(kernel, bias):
    few, many = bound(kernel, bias, 10**8), bound(kernel, bias, 10**11)
    assert few.applies
    assert many.value < few.value / 900
    assert many.value < 1


@pytest.mark.parametrize(("kernel", "rate"), [("exp:0.4", 0.4), ("osc:0.3,1", 0.3)])
def test_exponential_constant_bounds_the_bumps(kernel, rate):
    """sup |f^(n)| of the sum of half-width bumps, times the sum of e^{-g s}, by its definition."""
    values = np.abs(kernels.build(kernel).values(200))
    T, a, g = np.arange(200), 0.005, 0.01 * rate
    for n in (1, 2, 5):
        sup = np.max(
            math.e
            * values
            * np.exp(g * T)
            * bump_maximum(n)
            * (0.5 * np.exp(-a * T) * -np.expm1(-a)) ** -n
        )
        assert sup / -math.expm1(-g) <= math.exp(
            _exponential_constant(kernels.build(kernel), n, Norm.L1)
        ) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("kernel", "shift"),
    [
        ("power:4.5", 0),
        ("power:4.5", 1),
        ("exp:0.3", 0),
        ("exp:0.3", 1),
        ("window:9", 0),
        ("mexican-hat:6,2", 1),
    ],
)
def test_power_constant_bounds_the_bumps(kernel, shift):
    built = kernels.build(kernel)
    values = np.abs(built.values(4000))[1 - shift :]
    u = np.arange(1, len(values) + 1, dtype=float)
    for n in (1, 2):
        beta = 4.5 if kernel.startswith("power") else (n + 1) / 0.99
        g = 1e-4 * beta
        gap = u**-0.01 * -np.expm1(-0.01 * np.log1p(1 / u))
        sup = np.max(math.e * values * u ** (1 + g) * bump_maximum(n) * (gap / 2) ** -n)
        assert sup * float(mpmath.zeta(1 + g)) <= math.exp(
            _power_constant(built, n, shift, Norm.L1)
        ) * (1 + 1e-9)


def test_weaker_norms_have_smaller_bounds():
    l1, l2, sup = (bound("lag:3", "lin", 10**5, norm).value for norm in ("l1", "l2", "sup"))
    assert sup < l2 < l1


def test_overflowing_bounds_keep_their_logarithm():
    result = promised(Problem(kernels.build("lag:200000"), Lin()), 4, 1.0)
    assert result.value is None
    assert result.vacuous
    assert result.log10_value > 308
    assert result.to_json()["source"].startswith("Wang and E 2024, Theorem 3.1")
