import math

import mpmath
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import kernels
from headcount.theory.balls import precision
from headcount.theory.families import Lin
from headcount.theory.problem import Norm, Problem
from headcount.theory.rounding import Dtype
from headcount.theory.shaped import fit_coefficients, fit_shaped, rotary_at
from headcount.theory.shaped_fit import fewest_shaped, rounded_shaped
from headcount.theory.shaped_heads import Peak, Rotary, Table, frequencies


def problem(kernel, window=None, norm="l1"):
    return Problem(kernels.build(kernel), Lin(), Norm(norm), window)


@pytest.mark.parametrize("bias", ["peak", "table", "rope"])
@pytest.mark.parametrize("lag", [0, 7, 99])
def test_one_head_reaches_any_lag(bias, lag):
    fit = fit_shaped(problem(f"lag:{lag}", 256), bias, 1)
    assert fit.heads == 1
    assert fit.errors.l1 <= 1.01e-9
    assert fit.coefficient_sum == 1.0


@pytest.mark.parametrize(
    ("kernel", "bias", "heads"),
    [
        ("osc:0.1,0.4", "peak", 5),
        ("exp:0.2", "rope", 1),
        ("osc:0.1,0.4", "rope", 2),
        ("exp:0.2", "table", 1),
    ],
)
def test_errors_agree_with_mpmath(kernel, bias, heads):
    asked = problem(kernel, 120)
    fit = fit_shaped(asked, bias, heads)
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for s in range(120):
            value = mpmath.fsum(
                mpmath.mpf(a) * _curve(shape, s)
                for a, shape in zip(fit.coefficients, fit.shapes, strict=True)
            )
            total += abs(asked.kernel.at(s, _Digits) - value)
    assert fit.errors.l1 == pytest.approx(float(total), rel=1e-9)


class _Digits:
    convert, exp, cos = staticmethod(mpmath.mpf), staticmethod(mpmath.exp), staticmethod(mpmath.cos)


def _curve(shape, s):
    if isinstance(shape, Peak):
        return mpmath.exp(-mpmath.mpf(shape.sharpness) * (s - mpmath.mpf(shape.centre)) ** 2)
    if isinstance(shape, Table):
        z = shape.logits[s] if s < len(shape.logits) else -math.inf
        return mpmath.mpf(0) if math.isinf(z) else mpmath.exp(mpmath.mpf(z))
    parts = zip(shape.amplitudes, frequencies(shape.dims, shape.base), shape.phases, strict=True)
    logit = mpmath.fsum(
        mpmath.mpf(r) * mpmath.cos(mpmath.mpf(float(t)) * s + mpmath.mpf(f)) for r, t, f in parts
    )
    return mpmath.exp(logit - mpmath.mpf(shape.offset))


def test_a_table_draws_one_sign_with_one_head_and_both_with_two():
    assert fit_shaped(problem("exp:0.1", 300), "table", 3).heads == 1
    assert fit_shaped(problem("exp:0.1", 300), "table", 1).errors.relative.l1 < 1e-15
    mixed = problem("osc:0.05,0.3", 300)
    assert fit_shaped(mixed, "table", 2).errors.relative.l1 < 1e-15
    values = mixed.kernel.values(300)
    one = fit_shaped(mixed, "table", 1).errors.l1
    assert one == pytest.approx(min(values[values > 0].sum(), -values[values < 0].sum()), rel=1e-9)


def test_zero_entries_are_switched_off():
    fit = fit_shaped(problem("lag:3"), "table", 1)
    assert fit.shapes[0].logits == (-math.inf, -math.inf, -math.inf, 0.0)
    assert fit.errors.l1 == 0.0
    assert fit.shapes[0].parameters() == {"logits": [None, None, None, 0.0]}


def test_peaks_share_the_lags_of_a_sparse_kernel(tmp_path):
    path = tmp_path / "k.csv"
    values = np.zeros(60)
    values[[3, 30, 59]] = [1.0, -2.0, 0.5]
    path.write_text("\n".join(str(v) for v in values))
    fit = fit_shaped(problem(str(path)), "peak", 5)
    assert fit.heads == 3
    assert fit.errors.relative.l1 < 1.01e-9
    assert [s.centre for s in fit.shapes] == [3.0, 30.0, 59.0]


def test_more_peaks_fit_better():
    errors = [fit_shaped(problem("osc:0.1,0.4", 150), "peak", h).errors.l1 for h in (1, 3, 6)]
    assert errors[2] < errors[1] / 3 < errors[0] / 3


def test_leak_sets_the_sharpness():
    soft, sharp = (fit_shaped(problem("lag:9"), "peak", 1, leak=e) for e in (1e-2, 1e-12))
    assert soft.shapes[0].sharpness < sharp.shapes[0].sharpness
    assert soft.errors.l1 <= 1e-2
    assert sharp.errors.l1 <= 1e-12


@pytest.mark.parametrize(("lag", "length"), [(0, 64), (500, 1024), (952, 1024)])
def test_rotary_amplitudes_are_aligned_and_as_small_as_can_be(lag, length):
    head = rotary_at(lag, length, 1e-3, 64)
    values = head.values(length)
    assert values[lag] == pytest.approx(1.0, rel=1e-9)
    assert np.delete(values, lag).sum() == pytest.approx(1e-3, rel=1e-6)
    weaker = Rotary(tuple(0.9 * r for r in head.amplitudes), head.phases, 0.9 * head.offset)
    assert np.delete(weaker.values(length), lag).sum() > 1e-3


def test_rotary_frequencies_are_the_standard_ones():
    assert frequencies(4) == pytest.approx([1.0, 0.01])
    with pytest.raises(InputError, match="even"):
        frequencies(3)


def test_tails_bound_the_curves():
    with precision(100):
        peak = Peak(5.0, 0.01)
        assert float(peak.tail(20).upper()) >= peak.values(3000)[20:].sum()
        assert float(peak.tail(20).upper()) <= 4 * peak.values(3000)[20:].sum()
        assert float(Table((0.0, 0.0, 0.0)).tail(1).mid()) == 2.0


@pytest.mark.parametrize("norm", ["l1", "l2", "sup"])
def test_coefficients_are_optimal_in_their_norm(norm):
    rng = np.random.default_rng(1)
    columns, target = rng.normal(size=(30, 3)), rng.normal(size=30)
    order = {"l1": 1, "l2": 2, "sup": np.inf}[norm]
    best = fit_coefficients(columns, target, Norm(norm))
    value = np.linalg.norm(target - columns @ best, order)
    for _ in range(50):
        assert (
            value
            <= np.linalg.norm(target - columns @ (best + 0.01 * rng.normal(size=3)), order) + 1e-12
        )


def test_fewest_shaped_reaches_the_tolerance_with_no_head_to_spare():
    asked = problem("osc:0.1,0.4", 100)
    fit = fewest_shaped(asked, "peak", 0.1)
    assert fit.errors.relative.l1 <= 0.1
    assert fit_shaped(asked, "peak", fit.heads - 1, leak=0.025).errors.relative.l1 > 0.1


def test_narrow_formats_keep_a_peak():
    asked = problem("lag:99")
    fit = fit_shaped(asked, "peak", 1)
    assert rounded_shaped(asked, fit, Dtype.FLOAT32).error.l1 < 1e-6
    assert rounded_shaped(asked, fit, Dtype.BFLOAT16).error.l1 < 1e-2


@pytest.mark.parametrize(
    ("bias", "heads", "word"), [("peak", 0, "at least 1"), ("peek", 1, "nearest: 'peak'")]
)
def test_bad_requests_are_refused(bias, heads, word):
    with pytest.raises(InputError, match=word):
        fit_shaped(problem("lag:3"), bias, heads)


def test_rope_needs_a_window():
    with pytest.raises(InputError, match="finite window"):
        fit_shaped(problem("exp:0.1"), "rope", 1)
