"""What needs no training: begun together, told apart, the same as computed here."""

from concurrent.futures import Future

from headcount.lab.experiments import studies_of
from headcount.lab.experiments.study import Profile
from headcount.lab.reproduce import known_numbers
from headcount.lab.untrained import Untrained, numbers_of


class Here:
    """An aside without processes that notes what it was asked for."""

    def __init__(self):
        self.asked = []

    def submit(self, function, *arguments):
        self.asked.append((function.__name__, *arguments))
        done = Future()
        done.set_result(
            f"{function.__name__}" if function.__name__ != "numbers_of" else function(*arguments)
        )
        return done


def test_everything_begins_with_the_floors_and_the_longest_goes_first():
    aside, said = Here(), []
    work = Untrained(aside, ["2b", "rates"], Profile.SMOKE, None, said.append)
    found = work.numbers(studies_of(["2b"], Profile.SMOKE))
    kinds = [name for name, *_ in aside.asked]
    assert kinds == ["rate"] * (len(kinds) - 2) + ["every_evidence", "numbers_of"]
    assert len(kinds) > 3
    assert set(found) == {study.key for study in studies_of(["2b"], Profile.SMOKE)}
    assert work.errata() == "every_evidence"
    assert work.tables() == ("rate",) * (len(kinds) - 2)
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
    work = Untrained(Here(), ["1a"], Profile.SMOKE, None, lambda _: None)
    work.numbers(studies_of(["1a"], Profile.SMOKE))
    assert work.tables() == ()
