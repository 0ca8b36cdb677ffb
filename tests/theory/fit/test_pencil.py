"""The matrix pencil finds the rates of a sum of exponentials from its values."""

import numpy as np
import pytest

from headcount.theory.fit.pencil import pencil_rates

LAGS = np.arange(400)


def test_rates_of_an_exact_sum():
    rates = np.array([0.01, 0.1, 0.7])
    values = np.exp(-np.outer(LAGS, rates)) @ np.array([1.0, -2.0, 3.0])
    assert pencil_rates(values, 3) == pytest.approx(rates, rel=1e-6)


def test_no_more_rates_than_the_rank():
    assert pencil_rates(np.exp(-0.2 * LAGS), 5) == pytest.approx([0.2], rel=1e-9)


def test_complex_nodes_become_decaying_ones():
    found = pencil_rates(np.exp(-0.05 * LAGS) * np.cos(0.3 * LAGS), 2)
    assert found == pytest.approx([0.05], rel=1e-3)


def test_growth_is_cut_off():
    assert (pencil_rates(np.exp(0.01 * LAGS), 1) > 0).all()


@pytest.mark.parametrize(
    ("values", "heads"), [(np.zeros(50), 3), (np.ones(1), 3), (np.ones(50), 0)]
)
def test_nothing_to_find(values, heads):
    assert len(pencil_rates(values, heads)) == 0
