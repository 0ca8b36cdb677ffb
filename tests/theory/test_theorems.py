"""The theorems as numbers: constants against docs/theory.md#constants, assumptions that fail, and
known limits.
"""

import math

import pytest

import headcount as hc
from headcount.core.errors import InputError
from headcount.theory.promised import lag_lemma
from headcount.theory.theorems import THEOREMS, bound
from headcount.theory.theorems.rate import log_norm, shared, split


def failing(found):
    return {a.name for a in found.assumptions if not a.holds}


def test_lag_ten_with_the_heads_of_the_table():
    """7,862 lin heads bring E_Attn to 0.1 for lag 10 (docs/theory.md#constants)."""
    found = bound("3.1", "fixed:lags=10", "lin", 7862, 10**9)
    assert math.exp(found.log_attention) == pytest.approx(0.1, rel=1e-3)
    assert found.applies
    assert not found.vacuous
    assert found.value == pytest.approx(math.exp(found.log_attention) * found.lipschitz + found.ffn)


def test_few_heads_are_vacuous_and_huge_values_keep_their_logarithm():
    found = bound("3.1", "fixed:lags=900", "lin", 4, 16)
    assert found.vacuous
    assert found.log10_value > 2
    assert bound("3.1", "fixed:lags=99999", "lin", 1, 16).value is None


def test_readout_error_has_the_explicit_constant():
    """4 R ||f||_B sqrt((D'+1)/m), D' = 2, ||f||_B <= 2 for a linear readout of one slot."""
    found = bound("3.1", "fixed:lags=1", "log", 10**7, 100)
    assert found.ffn == pytest.approx(4 * found.radius * 2 * math.sqrt(3 / 100))


def test_each_theorem_refuses_other_families():
    for theorem, wrong in [
        ("3.1", "prop42"),
        ("5.1", "fixed:lags=1"),
        ("4.1", "fixed:lags=1"),
        ("4.4", "essential:kernel=exp:0.5"),
        ("4.2", "fixed:lags=2"),
    ]:
        found = bound(theorem, wrong)
        assert not found.applies
        assert found.value is None
        assert found.to_json()["value"] is None


def test_decay_class_of_theorem_5_1():
    assert failing(bound("5.1", "essential:kernel=power:1.5", "log", 100, 100)) == {"decay class"}
    assert failing(bound("5.1", "essential:kernel=power:3", "lin", 100, 100)) == {"decay class"}
    assert bound("5.1", "essential:kernel=power:3.5", "log", 100, 100).applies
    assert bound("5.1", "essential:kernel=exp:0.5", "lin", 100, 100).applies


def test_nested_lags_need_heads_and_widths():
    few = bound("4.4", "adaptive-boolean", "lin", 64, 10)
    assert {"width for exact lags"} <= failing(few)
    assert any(name.startswith("head condition") for name in failing(few))
    many = bound("4.4", "adaptive-boolean", "lin", 10_000, few.width_needed)
    assert many.applies
    assert many.layers == 3


def test_proposition_4_2_both_halves():
    found = bound("4.2", "prop42", "lin", 20_000, 1)
    assert found.value < 1e-3
    assert found.lower["value"] == 1.0
    assert failing(bound("4.2", "prop42", "log", 10, 1)) == {"bias"}


def test_more_heads_never_hurt_and_more_width_never_hurts():
    values = [
        bound("3.1", "fixed:lags=2+5", "lin", h, 100).log_attention for h in (100, 1000, 10_000)
    ]
    assert values == sorted(values, reverse=True)
    errors = [bound("3.1", "fixed:lags=2+5", "lin", 10**5, m).ffn for m in (10, 100, 1000)]
    assert errors == sorted(errors, reverse=True)


def test_shares_add_up_and_are_near_the_optimum():
    logs = [lag_lemma("lin", T).log_constant(2) for T in (1, 40)]
    for heads in (2, 3, 17, 1000):
        assert sum(split(logs, 2, heads)) == heads
    counts = split(logs, 2, 1000)
    best = min(
        range(1, 1000),
        key=lambda h: (
            math.exp(2 * (logs[0] - 2 * math.log(h)))
            + math.exp(2 * (logs[1] - 2 * math.log(1000 - h)))
        ),
    )
    assert counts[0] == pytest.approx(best, abs=2)


def test_one_memory_takes_all_heads():
    log_error, n, counts, constants = shared([lag_lemma("lin", 3)], 5000)
    assert counts == (5000,)
    assert log_error == pytest.approx(constants[0] * math.log(10) - n * math.log(5000))


def test_log_norm_is_the_norm():
    assert math.exp(log_norm([math.log(3.0), math.log(4.0)])) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"heads": 0}, "at least 1"), ({"width": 0}, "neuron"), ({"bias": "peak"}, "peak")],
)
def test_bad_sizes(options, words):
    with pytest.raises(InputError, match=words):
        bound("3.1", "fixed:lags=1", **options)


def test_unknown_theorem_names_the_known_ones():
    with pytest.raises(InputError, match=r"3\.1"):
        hc.bound("3.2", "fixed:lags=1")
    assert set(THEOREMS) == {"3.1", "4.1", "4.2", "4.3", "4.4", "4.5", "5.1"}
