"""Verdicts on weights, from numbers that are known without training."""

import pytest

from headcount.lab.judge.existence import Can, Cannot, Existence
from headcount.lab.judge.hypothesis import Kind
from headcount.lab.judge.verdict import Outcome
from headcount.lab.numbers import Numbers

CASES = {
    "reached": (Numbers(possible=1e-3, note="found"), Outcome.SUPPORTED, Outcome.REFUTED),
    "barred": (Numbers(possible=0.5, lower=0.4), Outcome.REFUTED, Outcome.SUPPORTED),
    "between": (Numbers(possible=0.5, lower=0.01), Outcome.UNDECIDED, Outcome.UNDECIDED),
    "unknown": (Numbers(), Outcome.UNDECIDED, Outcome.UNDECIDED),
    "barred for a smaller class only": (
        Numbers(possible=0.5, lower=0.4, lower_for="linear readouts"),
        Outcome.UNDECIDED,
        Outcome.UNDECIDED,
    ),
    "only the constant answer is known": (
        Numbers(possible=0.05, constant=True),
        Outcome.UNDECIDED,
        Outcome.UNDECIDED,
    ),
    "reached in exact arithmetic, not in float32": (
        Numbers(possible=1e-3, float32=0.5),
        Outcome.UNDECIDED,
        Outcome.UNDECIDED,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_can_and_cannot(name):
    numbers, can, cannot = CASES[name]
    for reach, outcome in ((Can, can), (Cannot, cannot)):
        verdict = Existence("x", "A claim.", (reach("the model", lambda: numbers, 0.1),)).decide()
        assert verdict.outcome is outcome
        assert (verdict.kind, verdict.seeds, verdict.power) == (Kind.EXISTS, 0, None)
        assert verdict.sentence.startswith(outcome.capitalize())


def test_every_part_must_hold():
    good, bad, open_ = (CASES[n][0] for n in ("reached", "barred", "between"))

    def outcome(*numbers):
        parts = tuple(Can(str(i), lambda n=n: n, 0.1) for i, n in enumerate(numbers))
        return Existence("x", "A claim.", parts).decide().outcome

    assert outcome(good, good) is Outcome.SUPPORTED
    assert outcome(good, open_) is Outcome.UNDECIDED
    assert outcome(good, open_, bad) is Outcome.REFUTED
