"""The main job as a function: values are returned, files are written, nothing is half done."""

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.core.errors import InputError

GOLDEN = Path(__file__).parent / "golden" / "smoke_verdicts.json"


@pytest.fixture(scope="module")
def rates(tmp_path_factory):
    """A reproduction that trains nothing."""
    said = []
    folder = tmp_path_factory.mktemp("out") / "rates"
    done = hc.reproduce(["Rates"], folder=folder, say=lambda line, now=False: said.append(line))
    return folder, done, said


def test_what_was_found_is_returned_and_written(rates):
    folder, done, said = rates
    assert isinstance(done, hc.Reproduction)
    assert (done.verdicts, done.outcomes, done.page) == ((), (), folder / "report.html")
    assert done.rates
    assert all(table.measured for table in done.rates)
    assert {path.name for path in folder.iterdir()} >= {"report.html", "verdicts.json", "arms.csv"}
    stored = json.loads((folder / "verdicts.json").read_text())
    assert stored["verdicts"] == done.to_json()["verdicts"] == []
    assert "0 training runs; profile smoke" in said[0]
    assert "headcount reproduce rates --profile smoke" in done.page.read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"profile": "huge"}, "unknown profile 'huge'"),
        ({"names": ["9z"]}, "unknown experiment '9z'"),
        ({"workers": 0}, "0 workers"),
        ({"corpus": "nowhere"}, "corpus nowhere"),
    ],
)
def test_what_cannot_be_is_refused_before_the_folder_is_made(tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        hc.reproduce(**{"names": ["1a"], "folder": tmp_path / "out", **change})
    assert not (tmp_path / "out").exists()


def _close(found, wanted, where=""):
    """Words are equal; numbers are those of another machine's last digits."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted), where
        for key in wanted:
            _close(found[key], wanted[key], f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, pair in enumerate(zip(found, wanted, strict=True)):
            _close(*pair, f"{where}[{i}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=0.02, abs=1e-12), where
    elif not where.endswith("sentence"):  # it repeats the numbers
        assert found == wanted, where


def test_the_comparison_sees_another_word_and_another_number():
    wanted = json.loads(GOLDEN.read_text())
    _close(wanted, wanted)
    for key, value in (("verdict", "supported?"), ("seeds", 4), ("margin", 0.4)):
        changed = json.loads(GOLDEN.read_text())
        changed["verdicts"][0][key] = value
        with pytest.raises(AssertionError):
            _close(changed, wanted)


@pytest.mark.slow
def test_smoke_verdicts_are_those_stored(tmp_path):
    done = hc.reproduce(folder=tmp_path / "smoke")
    written = json.loads((tmp_path / "smoke" / "verdicts.json").read_text())
    _close(written, json.loads(GOLDEN.read_text()))
    assert [row["verdict"] for row in written["verdicts"]] == [
        verdict.outcome.text for verdict in done.verdicts
    ]
