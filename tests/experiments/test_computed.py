"""What needs no training: begun together, told apart, the same as computed here."""

import math
import os
import sys
import time
from concurrent.futures import Future
from multiprocessing.spawn import get_preparation_data

import pytest

from headcount.core import source_code
from headcount.core.refs import Ref
from headcount.experiments import studies_of
from headcount.experiments.computed import Computations, Processes, numbers_of, script_left_alone
from headcount.experiments.errata import POINTS
from headcount.experiments.further.rates import Family, RateTable
from headcount.lab.run_studies import known_numbers
from headcount.lab.study import Profile

TABLE = RateTable(
    "exp",
    Family.ADAPTIVE,
    "lin",
    "heads",
    "error",
    (1.0, math.inf),
    (0.5, 0.1),
    (None, 0.2),
    (0.1, None),
    None,
    -1.0,
    Ref("headcount"),
)


class Here:
    """A pool without processes that notes what it was asked for."""

    def __init__(self):
        self.asked = []

    def submit(self, function, *arguments):
        self.asked.append((function.__name__, *arguments))
        done = Future()
        shown = {"every_evidence": tuple(point.id for point in POINTS), "rate": TABLE}
        name = function.__name__
        done.set_result(shown[name] if name in shown else function(*arguments))
        return done


def test_everything_begins_with_the_floors_and_the_longest_goes_first(tmp_path):
    pool, said = Here(), []
    store = tmp_path / "runs.sqlite"
    work = Computations(pool, ["2b", "rates"], Profile.SMOKE, None, store, said.append)
    found = work.numbers(studies_of(["2b"], Profile.SMOKE))
    kinds = [name for name, *_ in pool.asked]
    assert kinds == ["rate"] * (len(kinds) - 2) + ["every_evidence", "numbers_of"]
    assert len(kinds) > 3
    assert set(found) == {study.key for study in studies_of(["2b"], Profile.SMOKE)}
    assert work.errata() == tuple((point, point.id) for point in POINTS)
    assert work.rates() == (TABLE,) * (len(kinds) - 2)
    assert said == ["2b: what every arm could reach", "rates"]


def asked_for(store, profiles) -> list[int]:
    """How many calls each of these runs in turn makes; all find the same."""
    studies, pools = studies_of(["3b"], Profile.LAPTOP), [Here() for _ in profiles]
    found = [
        Computations(pool, ["3b"], profile, None, store, lambda _, now=False: None).existing(
            studies
        )
        for pool, profile in zip(pools, profiles, strict=True)
    ]
    assert all(each == found[0] for each in found)
    assert found[0][0].key == "3b-exists"
    return [len(pool.asked) for pool in pools]


def test_what_was_computed_is_kept_for_the_next_time(tmp_path, monkeypatch):
    """Under the hash of what it depends on: another profile is computed anew."""
    monkeypatch.setattr(source_code, "_began", lambda: 2**63)  # sources may have changed just now
    profiles = [Profile.LAPTOP, Profile.LAPTOP, Profile.FULL]
    assert asked_for(tmp_path / "runs.sqlite", profiles) == [1, 0, 1]


def test_other_code_computes_anew_and_code_that_changed_while_it_runs_keeps_nothing(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(source_code, "_began", lambda: 2**63)
    store = tmp_path / "runs.sqlite"
    assert asked_for(store, [Profile.LAPTOP]) == [1]
    with monkeypatch.context() as other:
        other.setattr(source_code, "_hash_of", lambda seen: "other")
        assert asked_for(store, [Profile.LAPTOP]) == [1]
    monkeypatch.setattr(source_code, "_began", lambda: 0)
    assert asked_for(store, [Profile.LAPTOP, Profile.LAPTOP]) == [1, 1]


def test_numbers_are_those_of_the_studies(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("to be or not to be " * 2000)
    assert numbers_of("1a", Profile.SMOKE, str(text)) == known_numbers(
        studies_of(["1a"], Profile.SMOKE, str(text))
    )


def test_without_rates_there_are_no_tables(tmp_path):
    store = tmp_path / "runs.sqlite"
    work = Computations(Here(), ["1a"], Profile.SMOKE, None, store, lambda _: None)
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


def test_processes_do_not_run_the_callers_script(monkeypatch):
    """A script that calls `reproduce` at its top level is not run again by every process."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__file__", "a_script.py", raising=False)
    with script_left_alone():
        told = get_preparation_data("a process")
    assert not [name for name in told if name.startswith("init_main")]
    assert main.__file__ == "a_script.py"
    assert "init_main_from_path" in get_preparation_data("x") or main.__spec__ is not None
