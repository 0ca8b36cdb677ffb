"""Work beside other work."""

import sys
import threading
import time

import pytest

from headcount.core.beside import QUICK_TURNS, Apart, Beside, quick_turns


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


def test_another_process_answers_as_this_one_would():
    assert Apart("math").ask(divmod, 7, 3).answer() == (2, 1)


def test_its_printing_does_not_reach_the_answer():
    assert Apart("math").ask(print, "loud").answer() is None


def test_what_fails_there_is_done_here_and_raises_its_own_words():
    with pytest.raises(ValueError, match="seven"):
        Apart("math").ask(int, "seven").answer()
    assert Apart("no_such_module").ask(divmod, 7, 3).answer() == (2, 1)


def test_without_a_process_the_work_is_done_here(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert Apart("math").ask(divmod, 7, 3).answer() == (2, 1)


def test_an_answer_no_longer_wanted_ends_the_process():
    other = Apart("math")
    asked = other.ask(time.sleep, 600)
    other.leave()
    with pytest.raises(KeyboardInterrupt):
        asked.answer()
    Apart("math").leave()  # never asked
