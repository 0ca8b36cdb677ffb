"""Time left: known shapes by what they took, others by their work."""

import pytest

from headcount.lab.sweep.engine import Job
from headcount.lab.sweep.progress import Pace


def job(id, key):
    return Job(id, None, key)


def test_nothing_is_foretold_before_anything_is_known():
    assert Pace().left([job("a", "x")], 1) is None


def test_a_shape_that_was_seen_counts_as_it_took():
    pace = Pace()
    pace.learn(job("a", "x"), 3.0)
    pace.learn(job("b", "x"), 5.0)
    assert pace.left([job("c", "x"), job("d", "x")], 2) == pytest.approx(4.0)


def test_long_runs_first_do_not_foretell_hours():
    foretold = {"long": 50.0, "short": 0.1}
    pace = Pace(lambda job: foretold[job.key])
    pace.learn(job("a", "long"), run=100.0, compiling=4.0)
    left = pace.left([job(f"s{i}", "short") for i in range(1000)], 1)
    # twice as long as foretold, and one compilation
    assert left == pytest.approx(1000 * 2 * 0.1 + 4.0)
