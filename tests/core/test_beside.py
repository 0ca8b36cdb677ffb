"""Work beside other work."""

import sys
import threading

import pytest

from headcount.core.beside import QUICK_TURNS, Beside, quick_turns


def test_the_answer_is_that_of_the_function():
    assert Beside(divmod, 7, 3).answer() == (2, 1)


def test_both_sides_run_at_once():
    """Each waits for the other; one after the other would never end."""
    met = threading.Barrier(2, timeout=30)
    other = Beside(met.wait)
    met.wait()
    other.answer()


def test_what_the_function_raises_is_raised_where_it_is_asked_for():
    failing = Beside(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        failing.answer()


def test_turns_are_quick_inside_and_as_before_afterwards():
    before = sys.getswitchinterval()
    with pytest.raises(KeyError), quick_turns():
        assert sys.getswitchinterval() == pytest.approx(QUICK_TURNS, rel=0.1)
        raise KeyError
    assert sys.getswitchinterval() == before
