import numpy as np
import pytest

import headcount as hc
from headcount.train.what_was_learned import what_was_learned


@pytest.fixture(scope="module")
def made():
    return hc.construct("fixed:lags=3,readout=linear", bias="peak", tol=1e-3, length=16)


def test_the_lag_of_a_construction_is_found(made):
    found = what_was_learned(made.target, made.model, 16)
    assert found.lags_found == found.wanted == (3,)
    assert found.heads[0].peak == 3
    np.testing.assert_allclose(found.answer[3], 1, atol=1e-3)
    lines = found.sentences(0.004, 8)
    assert lines[0] == "The answer looks most at lag 3; the memory reads 3."
    assert "(learned)" in lines[-1]
    assert "(not learned)" in found.sentences(0.9, 8)[-1]
    assert found.to_json()["heads"][0]["peak_lag"] == 3


def test_many_heads_are_cut(made):
    found = what_was_learned(made.target, made.model, 16)
    assert "1 more heads" in found.sentences(None, 0)[-1]
