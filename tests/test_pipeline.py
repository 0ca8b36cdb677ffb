"""The main job as a function: values are returned, files are written, nothing is half done."""

import json

import pytest

import headcount as hc
from headcount.core.errors import InputError
from headcount.experiments import EXPERIMENTS, computed
from headcount.experiments.computed import POINTS
from headcount.experiments.further.rates import rate_names


def evidence() -> tuple[str, ...]:
    """In place of the numbers of the errata, which tests/experiments/test_errata.py computes."""
    return tuple(f"evidence of {point.id}" for point in POINTS)


@pytest.fixture(scope="module")
def rates(tmp_path_factory):
    """A reproduction that trains nothing, with the quickest of its tables."""
    said = []
    folder = tmp_path_factory.mktemp("out") / "rates"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(computed, "every_evidence", evidence)
        patch.setattr(computed, "rate_names", lambda profile: rate_names(profile)[-1:])
        done = hc.reproduce(
            ["Rates"], "smoke", folder, say=lambda line, now=False: said.append(line)
        )
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
    ("names", "profile", "words"),
    [
        (["depth"], "smoke", "rates would be lost"),
        (["rates"], "laptop", "expected a folder of profile laptop"),
    ],
)
def test_a_finished_report_is_not_replaced_by_less_or_by_another_profile(
    rates, names, profile, words
):
    folder, *_ = rates
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=words):
        hc.reproduce(names, profile, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"profile": "huge"}, "unknown profile 'huge'"),
        ({"names": ["9z"]}, "unknown experiment '9z'"),
        ({"workers": 0}, "0 workers"),
        ({"corpus": "nowhere"}, "corpus nowhere"),
        ({"corpus": ".", "profile": "laptop"}, "runs no text"),
        ({"replication": -1}, "replication -1"),
        ({"replication": 10**7}, "replication 10000000"),
        ({"replication": 1, "names": ["4b"], "profile": "smoke"}, "does not judge"),
    ],
)
def test_what_cannot_be_is_refused_before_the_folder_is_made(tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        hc.reproduce(**{"names": ["1a"], "folder": tmp_path / "out", **change})
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_smoke_judges_nothing_and_writes_everything(tmp_path):
    names = [*EXPERIMENTS, "rates"]  # without names a smoke run has no tables of rates
    done = hc.reproduce(names, profile="smoke", folder=tmp_path / "smoke")
    assert [table.name for table in done.rates]
    assert all(table.measured for table in done.rates)
    assert not any(verdict.outcome.decided for verdict in done.verdicts)
    assert {outcome.study.id for outcome in done.outcomes} == set(EXPERIMENTS)
    again = hc.reproduce(names, profile="smoke", folder=tmp_path / "smoke")
    assert again.to_json()["verdicts"] == done.to_json()["verdicts"]
    assert again.seconds < done.seconds


def test_a_replication_repeats_what_is_judged():
    """Maps of readings and of learning rates are shown once; a check asked for by name is run."""
    from headcount.experiments import studies_of
    from headcount.lab.study import Profile

    once = studies_of(EXPERIMENTS, Profile.FULL)
    again = studies_of(EXPERIMENTS, Profile.FULL, replication=1)
    assert {study.key for study in again} == {study.key for study in once if study.claims}
    assert not {s for study in again for s in study.seeds} & {s for st in once for s in st.seeds}
    assert studies_of(["depth"], Profile.FULL, replication=1)
