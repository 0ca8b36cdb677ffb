import math

import mpmath
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import kernels
from headcount.theory.balls import precision
from headcount.theory.fit import fewest_heads
from headcount.theory.fit.shaped_fit import fit_coefficients, fit_shaped, rotary_at
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem
from headcount.theory.rounding import Dtype, measured_in
from headcount.theory.shaped_curves import Peak, Rotary, Table, frequencies


def problem(kernel, bias, window=None, norm="l1"):
    return Problem(kernels.build(kernel), family(bias), Norm(norm), window)


def measured(asked, heads, **options):
    """A fit's heads and their errors."""
    found = fit_shaped(asked, heads, **options).head_sum
    return found, measure(asked, found)


@pytest.mark.parametrize("bias", ["peak", "table", "rope"])
@pytest.mark.parametrize("lag", [0, 7, 99])
def test_one_head_reaches_any_lag(bias, lag):
    heads, errors = measured(problem(f"lag:{lag}", bias, 256), 1)
    assert heads.heads == 1
    assert errors.l1 <= 1.01e-9
    assert heads.coefficient_sum == 1.0


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
    asked = problem(kernel, bias, 120)
    fit, errors = measured(asked, heads)
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for s in range(120):
            value = mpmath.fsum(
                mpmath.mpf(float(a)) * _curve(shape, s)
                for a, shape in zip(fit.coefficients, fit.curves, strict=True)
            )
            total += abs(asked.kernel.at(s, _Digits) - value)
    assert errors.l1 == pytest.approx(float(total), rel=1e-9)


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
    assert measured(problem("exp:0.1", "table", 300), 3)[0].heads == 1
    assert measured(problem("exp:0.1", "table", 300), 1)[1].relative.l1 < 1e-15
    mixed = problem("osc:0.05,0.3", "table", 300)
    assert measured(mixed, 2)[1].relative.l1 < 1e-15
    values = mixed.kernel.values(300)
    one = measured(mixed, 1)[1].l1
    assert one == pytest.approx(min(values[values > 0].sum(), -values[values < 0].sum()), rel=1e-9)


def test_zero_entries_are_switched_off():
    heads, errors = measured(problem("lag:3", "table"), 1)
    (table,) = heads.curves
    assert table.logits == (-math.inf, -math.inf, -math.inf, 0.0)
    assert errors.l1 == 0.0
    assert heads.family.parameters(table) == {"logits": [None, None, None, 0.0]}


def test_peaks_share_the_lags_of_a_sparse_kernel(tmp_path):
    path = tmp_path / "k.csv"
    values = np.zeros(60)
    values[[3, 30, 59]] = [1.0, -2.0, 0.5]
    path.write_text("\n".join(str(v) for v in values))
    heads, errors = measured(problem(str(path), "peak"), 5)
    assert heads.heads == 3
    assert errors.relative.l1 < 1.01e-9
    assert [s.centre for s in heads.curves] == [3.0, 30.0, 59.0]


def test_more_peaks_fit_better():
    errors = [measured(problem("osc:0.1,0.4", "peak", 150), h)[1].l1 for h in (1, 3, 6)]
    assert errors[2] < errors[1] / 3 < errors[0] / 3


def test_leak_sets_the_sharpness():
    soft, sharp = (measured(problem("lag:9", "peak"), 1, leak=e) for e in (1e-2, 1e-12))
    assert soft[0].curves[0].sharpness < sharp[0].curves[0].sharpness
    assert soft[1].l1 <= 1e-2
    assert sharp[1].l1 <= 1e-12


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


def test_fewest_heads_reach_the_tolerance_with_no_head_to_spare():
    asked = problem("osc:0.1,0.4", "peak", 100)
    heads = fewest_heads(asked, 0.1).head_sum
    assert measure(asked, heads).relative.l1 <= 0.1
    assert measured(asked, heads.heads - 1, leak=0.025)[1].relative.l1 > 0.1


def test_narrow_formats_keep_a_peak():
    asked = problem("lag:99", "peak")
    heads = fit_shaped(asked, 1).head_sum
    assert measured_in(asked, heads, Dtype.FLOAT32).l1 < 1e-6
    assert measured_in(asked, heads, Dtype.BFLOAT16).l1 < 1e-2


def test_rotary_heads_are_judged_on_the_window():
    _, errors = measured(problem("lag:3", "rope"), 1)
    assert not errors.tail.included
    assert errors.l1 == errors.window.l1


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        fit_shaped(problem("lag:3", "peak"), 0)
    with pytest.raises(InputError, match="nearest: 'peak'"):
        problem("lag:3", "peek")


def test_rope_needs_a_window():
    with pytest.raises(InputError, match="finite window"):
        fit_shaped(problem("exp:0.1", "rope"), 1)
