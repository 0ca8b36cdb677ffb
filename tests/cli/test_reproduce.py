"""`headcount reproduce` as a user meets it: the folder, the corpus, a selection without
training.
"""

import json

import pytest

from tests.command import run, run_alone


@pytest.fixture(scope="module")
def rates(tmp_path_factory):
    """A reproduction that trains nothing."""
    place = tmp_path_factory.mktemp("rates")
    return place, run_alone("reproduce", "Rates", "--profile", "smoke", "--json", folder=place)


@pytest.mark.slow  # `tests/test_pipeline.py` makes the same from Python
def test_rates_alone(rates):
    place, done = rates
    assert done.code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["verdicts"], told["profile"]) == ([], "smoke")
    folder = place / "reproduction-smoke-rates"  # a selection has a folder of its own
    assert (place / told["report"]).samefile(folder / "report.html")
    assert json.loads((folder / "verdicts.json").read_text())["experiments"] == ["rates"]
    again = run_alone("reproduce", "rates", "--profile", "smoke", "--json", folder=place)
    assert json.loads(again.stdout)["seconds"] < told["seconds"]  # tables are kept in the store
    assert "Fitted slopes" in (folder / "report.html").read_text()
    assert list((folder / "figures").glob("rates-*.svg"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("depth", "--profile", "smoke"), "rates would be lost"),
        (("rates", "--profile", "laptop"), "expected a folder of profile laptop"),
    ],
)
def test_a_finished_report_is_not_replaced_by_less_or_by_another_profile(rates, arguments, words):
    place, _ = rates
    folder = place / "reproduction-smoke-rates"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = run("reproduce", *arguments, "-o", folder.name, folder=place)
    assert done.code == 2
    assert words in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("texts", "words"),
    [({}, "0 usable texts"), ({"a": "to be", "b": "or not"}, "expected more than a window")],
)
def test_a_corpus_that_is_too_small_is_refused_before_anything_runs(texts, words, tmp_path):
    (tmp_path / "texts").mkdir()
    for name, text in texts.items():
        (tmp_path / "texts" / name).write_text(text)
    done = run("reproduce", "1a", "--profile", "full", "--corpus", "texts", folder=tmp_path)
    assert done.code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert [path.name for path in tmp_path.iterdir()] == ["texts"]
