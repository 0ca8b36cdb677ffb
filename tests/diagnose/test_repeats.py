"""Symbols that repeat themselves: said so, as one lag, and with an architecture."""

import numpy as np

from headcount.diagnose import diagnose
from headcount.diagnose.records import Memory
from headcount.diagnose.repeats import period_of
from headcount.diagnose.words import sentence


def test_a_period_is_found_only_where_it_holds_everywhere():
    turn = np.random.default_rng(0).integers(0, 5, 37)
    whole = np.tile(turn, 4)
    assert period_of(whole) == 37
    whole[-1] = (whole[-1] + 1) % 5
    assert period_of(whole) is None
    assert period_of(np.tile(turn, 2)) is None  # twice is no habit


def test_a_repeated_text_is_told_as_its_period():
    turn = np.unique(list("the cat sat on the mat "), return_inverse=True)[1]
    found = diagnose(np.tile(turn, 30), learner=False, advise=False)
    assert (found.memory, found.lag_numbers, found.period) == (Memory.FIXED, (23,), 23)
    told = sentence(found)
    assert told == "The sequence repeats itself: the next element is the one 23 before."
