"""Work beside the rest."""

import os
import time

import pytest

from headcount.lab.aside import Aside


def test_calls_run_in_other_processes_and_results_keep_their_order():
    with Aside() as aside:
        assert aside.submit(os.getpid).result() != os.getpid()
        assert list(aside.map(abs, [-3, 2, -1])) == [3, 2, 1]


def test_an_error_inside_a_call_is_raised_here():
    with pytest.raises(ZeroDivisionError), Aside() as aside:
        aside.submit(divmod, 1, 0).result()


def test_long_work_ends_with_its_owner():
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="stop"), Aside() as aside:
        begun = aside.submit(time.sleep, 60)
        while not begun.running():
            time.sleep(0.01)
        raise RuntimeError("stop")
    assert time.monotonic() - started < 30
