"""What needs no training: begun together, told apart, the same as computed here."""

import os
import time
from concurrent.futures import Future

import pytest

from headcount.experiments import studies_of
from headcount.experiments.computed import Computations, Processes, numbers_of
from headcount.experiments.errata import POINTS
from headcount.lab.run_studies import known_numbers
from headcount.lab.study import Profile


class Here:
    """A pool without processes that notes what it was asked for."""

    def __init__(self):
        self.asked = []

    def submit(self, function, *arguments):
        self.asked.append((function.__name__, *arguments))
        done = Future()
        shown = {"every_evidence": tuple(point.id for point in POINTS), "rate": "rate"}
        name = function.__name__
        done.set_result(shown[name] if name in shown else function(*arguments))
        return done


def test_everything_begins_with_the_floors_and_the_longest_goes_first():
    pool, said = Here(), []
    work = Computations(pool, ["2b", "rates"], Profile.SMOKE, None, said.append)
    found = work.numbers(studies_of(["2b"], Profile.SMOKE))
    kinds = [name for name, *_ in pool.asked]
    assert kinds == ["rate"] * (len(kinds) - 2) + ["every_evidence", "numbers_of"]
    assert len(kinds) > 3
    assert set(found) == {study.key for study in studies_of(["2b"], Profile.SMOKE)}
    assert work.errata() == tuple((point, point.id) for point in POINTS)
    assert work.rates() == ("rate",) * (len(kinds) - 2)
    assert said == ["2b: what every arm could reach", "rates"]


def test_numbers_are_those_of_the_studies_and_a_corpus_goes_to_those_that_read_it(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("to be or not to be " * 2000)
    assert numbers_of("1a", Profile.SMOKE, str(text)) == known_numbers(
        studies_of(["1a"], Profile.SMOKE, str(text))
    )
    # the corpus is not its own
    assert numbers_of("3a", Profile.SMOKE, str(text)) == known_numbers(
        studies_of(["3a"], Profile.SMOKE)
    )


def test_without_rates_there_are_no_tables():
    work = Computations(Here(), ["1a"], Profile.SMOKE, None, lambda _: None)
    work.numbers(studies_of(["1a"], Profile.SMOKE))
    assert work.rates() == ()


def test_calls_run_in_other_processes_and_results_keep_their_order():
    with Processes() as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
        assert list(pool.map(abs, [-3, 2, -1])) == [3, 2, 1]


def test_an_error_inside_a_call_is_raised_here():
    with pytest.raises(ZeroDivisionError), Processes() as pool:
        pool.submit(divmod, 1, 0).result()


def test_long_work_ends_with_its_owner():
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="stop"), Processes() as pool:
        begun = pool.submit(time.sleep, 60)
        while not begun.running():
            time.sleep(0.01)
        raise RuntimeError("stop")
    assert time.monotonic() - started < 30
