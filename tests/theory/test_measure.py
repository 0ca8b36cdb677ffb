import math
import time

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

from headcount.memory.kernels import kernels
from headcount.theory.balls import precision
from headcount.theory.closed_forms import chebyshev_bump, interpolation
from headcount.theory.crossings import Term, crossings
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin, Log, family
from headcount.theory.measure import measure, norm_of, round_up
from headcount.theory.problem import Norm, Problem
from headcount.theory.tails import tail_balls

from .reference import Digits, norm, residuals


def problem_and_heads(kernel, bias, rates, coefficients, window=None):
    problem = Problem(kernels.build(kernel), family(bias), window=window)
    return problem, HeadSum.of(
        problem.family, np.array(rates, dtype=float), np.array(coefficients, dtype=float)
    )


WINDOWED = [
    ("power:0.5", "lin", [0.003, 0.05, 0.7], [0.1, 0.3, 0.6], 300),
    ("exp:0.1", "log", [1.2, 3.0, 7.0], [5.0, -9.0, 4.5], 200),
    ("osc:0.05,0.3", "log1p", [1.5, 2.5], [2.0, -1.5], 100),
]


@pytest.mark.parametrize(("kernel", "bias", "rates", "coefficients", "window"), WINDOWED)
@pytest.mark.parametrize("which", ["l1", "l2", "sup"])
def test_window_errors_agree_with_60_digits(kernel, bias, rates, coefficients, window, which):
    problem, heads = problem_and_heads(kernel, bias, rates, coefficients, window)
    errors = measure(problem, heads)
    first = problem.first_lag
    expected = norm(
        residuals(problem.kernel, bias, heads.rates, heads.coefficients, first, window), which
    )
    assert errors[which] == pytest.approx(float(expected), rel=1e-12)
    size = norm([problem.kernel.at(s, Digits) for s in range(first, window)], which)
    assert errors.relative[which] == pytest.approx(float(expected / size), rel=1e-12)
    assert not errors.tail.included


# the heads' tail beyond 1024 lags counts; 2500 lags one by one, then closed forms of a tail of one
# sign
ENDLESS = [
    ("lag:1", "lin", [math.log(5), math.inf], [5.0, -5.0]),
    ("lag:2", "lin", [1e-3, 0.01, 2.0], [0.5, -0.7, 3.0]),
    ("osc:0.05,0.3", "lin", [0.02, 0.4], [1.0, -0.3]),
    ("lag:2", "log", [1.3, 3.0, 9.0], [2.0, -30.0, 20.0]),
    ("lag:3", "log1p", [1.5, 1.51, 9.0], [2.0, -2.1, 0.3]),
]


def endless(bias, rate, start):
    """sum_{s >= start} of one curve."""
    if bias == "lin":
        return mpmath.exp(-mpmath.mpf(rate) * start) / (1 - mpmath.exp(-mpmath.mpf(rate)))
    return mpmath.zeta(mpmath.mpf(rate), start if bias == "log" else start + 1)


@pytest.mark.parametrize(("kernel", "bias", "rates", "coefficients"), ENDLESS)
def test_tail_is_included_and_exact(kernel, bias, rates, coefficients):
    problem, heads = problem_and_heads(kernel, bias, rates, coefficients)
    errors = measure(problem, heads)
    assert errors.tail.included
    assert errors.tail.exact
    length = 2500
    values = residuals(
        problem.kernel, bias, heads.rates, heads.coefficients, problem.first_lag, length
    )
    with mpmath.workdps(60):
        pairs = zip(heads.coefficients, heads.rates, strict=True)
        rest = abs(mpmath.fsum(mpmath.mpf(float(a)) * endless(bias, b, length) for a, b in pairs))
    assert errors.l1 == pytest.approx(float(norm(values, "l1") + rest), rel=1e-7)
    assert errors.sup == pytest.approx(float(norm(values, "sup")), rel=1e-12)


def test_tail_changes_sign_beyond_the_window():
    # log heads whose sum crosses zero near s = (3/2)^{1/0.1} ... far beyond lag 1024
    problem, heads = problem_and_heads("lag:1", "log", [1.2, 1.3], [1.0, -2.5])
    crossing = 2.5 ** (1 / 0.1)
    assert crossing > 5000
    errors = measure(problem, heads)
    with mpmath.workdps(40):
        last = math.floor(crossing)

        def tail(n):
            return mpmath.zeta(mpmath.mpf(1.2), n) - mpmath.mpf(2.5) * mpmath.zeta(
                mpmath.mpf(1.3), n
            )

        expected = abs(1 - (1 - 2.5)) + abs(tail(2) - tail(last + 1)) + abs(tail(last + 1))
    assert errors.tail.exact
    assert errors.l1 == pytest.approx(float(expected), rel=1e-8)


def test_crossings_are_all_found():
    with precision(200):
        # (y-.9)(y-.5)(y-.2) in y = e^{-x}: zeros at x = -log of these
        roots = [0.9, 0.5, 0.2]
        a, b, c = roots
        weights = [-a * b * c, a * b + b * c + a * c, -(a + b + c), 1.0]
        terms = [Term(arb(w), Lin(), 1.0 + k) for k, w in enumerate(weights)]
        partial = [sum((t.coefficient for t in terms[: k + 1]), arb(0)) for k in range(4)]
        # zeros at x = 0.105, 0.693, 1.609: the first lag behind each
        assert crossings(terms, partial, 0) == [1, 1, 2]


def test_exact_fits_measure_zero():
    assert measure(*problem_and_heads("exp:0.1", "lin", [0.1], [1.0])).l1 == 0
    assert measure(*problem_and_heads("power:1.5", "log", [1.5], [1.0])).sup == 0
    assert measure(*problem_and_heads("lag:0", "lin", [math.inf], [1.0])).l2 == 0
    assert measure(*problem_and_heads("lag:1", "log", [math.inf], [1.0])).l1 == 0


def test_a_rate_off_by_one_ulp_is_seen():
    errors = measure(*problem_and_heads("exp:0.1", "lin", [math.nextafter(0.1, 1)], [1.0]))
    assert 0 < errors.l1 < 1e-13


def test_huge_cancelling_coefficients_are_measured_right():
    heads = interpolation(20, 24, math.log(2))
    errors = measure(Problem(kernels.build("lag:20"), Lin()), heads)
    assert float(heads.coefficient_sum) > 1e80
    with mpmath.workdps(120):
        rates = [mpmath.mpf(b) for b in heads.rates]
        exact = [mpmath.mpf(int(a.p)) / int(a.q) for a in heads.coefficients]
        drawn = [
            mpmath.fsum(a * mpmath.exp(-b * s) for a, b in zip(exact, rates, strict=True))
            for s in range(120)
        ]
        l1 = mpmath.fsum(abs((s == 20) - value) for s, value in enumerate(drawn))
    assert errors.l1 == pytest.approx(float(l1), rel=1e-9)
    assert errors.l1 < 0.011


def test_unsummable_heads_have_infinite_l1_but_finite_sup():
    errors = measure(*problem_and_heads("lag:2", "log", [0.9, 3.0], [1.0, 1.0]))
    assert math.isinf(errors.l1)
    assert errors.sup == pytest.approx(2.0)
    assert "slowly" in errors.tail.reason


def test_crossing_family_tail_of_a_power_law_by_lin_heads():
    problem, heads = problem_and_heads("power:2.5", "lin", [0.02, 0.5], [0.01, 1.0])
    errors = measure(problem, heads)
    values = residuals(
        problem.kernel, "lin", heads.rates, heads.coefficients, problem.first_lag, 3000
    )
    assert errors.tail.exact
    assert errors.l1 == pytest.approx(
        float(norm(values, "l1")) + float(mpmath.zeta(2.5, 3000)), rel=1e-7
    )


def test_tail_bounds_hold_for_random_sums():
    rng = np.random.default_rng(3)
    for _ in range(20):
        rates = np.sort(rng.uniform(0.02, 0.5, 4))
        weights = rng.normal(size=4)
        with precision(120):
            balls = tail_balls(
                [Term(arb(float(w)), Lin(), float(b)) for w, b in zip(weights, rates, strict=True)],
                0.0,
                10,
            )
            values = np.exp(-np.outer(np.arange(10, 3000), rates)) @ weights
            assert round_up(balls.l1) == pytest.approx(np.abs(values).sum(), rel=1e-7)
            assert round_up(balls.l2_squared) == pytest.approx((values**2).sum(), rel=1e-9)
            assert round_up(balls.sup) >= np.abs(values).max() * (1 - 1e-12)


def test_round_up_never_rounds_down():
    with precision(200):
        third = arb(1) / 3
        assert arb(round_up(third)) >= third
        assert round_up(arb("inf")) == math.inf
        assert round_up(arb(0)) == 0.0


def test_norm_can_be_asked_for_by_enum_or_text():
    errors = measure(*problem_and_heads("lag:1", "lin", [1.0], [0.5]))
    assert errors[Norm.L2] == errors["l2"] == errors.l2


def test_typical_size_is_fast():
    rng = np.random.default_rng(0)
    problem = Problem(kernels.build("power:0.5"), Lin(), window=1024)
    heads = HeadSum.of(Lin(), np.geomspace(1e-3, 3, 16), rng.normal(size=16))
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        measure(problem, heads)
        best = min(best, time.perf_counter() - start)
    assert best < 0.3


def test_zero_coefficients_are_ignored():
    problem = Problem(kernels.build("lag:2"), Log())
    assert measure(problem, HeadSum(Log(), (0.5,), (fmpq(0),))).l1 == 1.0


def test_bump_with_tail_oscillating_far_out():
    bump = chebyshev_bump(Log(), 3, 21, 0.5, 0.5)
    errors = measure(Problem(kernels.build("lag:3"), Log()), bump)
    assert errors.tail.exact
    assert errors.l1 >= errors.window.l1


def test_norm_of():
    residual = np.array([3.0, -4.0])
    assert [norm_of(residual, norm) for norm in (Norm.L1, Norm.L2, Norm.SUP)] == [7.0, 5.0, 4.0]
