"""Numbers of an arm: what counts as its floor."""

import math

from headcount.experiments.sparse_floors import unreachable_numbers
from headcount.lab.numbers import Numbers


def test_the_floor_is_what_float32_holds():
    assert Numbers(possible=1e-31, float32=1e-13).floor == 1e-13
    assert Numbers(possible=0.3, float32=0.2).floor == 0.3
    assert Numbers(possible=0.3).floor == Numbers(possible=0.3, float32=math.inf).floor == 0.3
    assert Numbers(float32=0.2).floor is None


def test_the_constant_answer_is_no_floor():
    assert Numbers(possible=1.0, constant=True).floor is None
    far = unreachable_numbers("fixed:lags=48", "lin", 8, 64)
    assert far.constant
    assert far.floor is None
    assert far.lower_for == "sum|a| <= 1e+09, a linear readout"
