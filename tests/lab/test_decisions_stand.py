"""What a look decided stands: more seeds, run for another claim, do not change it."""

import dataclasses

import pytest

from headcount.lab.judge.verdict import Outcome
from headcount.lab.run_studies import FAMILY, run_studies
from headcount.lab.sweep.local_engine import LocalEngine
from tests.lab.test_run_studies import HYPOTHESIS, STUDY


@pytest.mark.slow
def test_a_claim_that_shares_its_arms_with_an_open_one_keeps_its_look(tmp_path):
    """The further claim is decided with 6 seeds; the main one asks for 12 of the same arms."""
    beside = dataclasses.replace(HYPOTHESIS, further=True, name="beside")
    both = dataclasses.replace(STUDY, hypotheses=(HYPOTHESIS, beside))
    made = run_studies([both], tmp_path / "runs.sqlite", engine=LocalEngine(1))
    main, early = made.outcomes[0].verdicts
    assert (main.outcome, main.seeds) == (Outcome.SUPPORTED, 12)
    assert (early.outcome, early.seeds) == (Outcome.SUPPORTED, 6)
    assert len(made.outcomes[0].arms[0].learned[0].losses) == 12


def test_further_claims_count_also_where_they_are_not_run(tmp_path):
    beside = dataclasses.replace(HYPOTHESIS, further=True, name="beside")
    one = dataclasses.replace(STUDY, hypotheses=(beside,), seeds=STUDY.seeds[:6])
    p = [
        run_studies([one], tmp_path / "runs.sqlite", engine=LocalEngine(1), families={"t": size})
        .outcomes[0]
        .verdicts[0]
        .p
        for size in (1, 3)
    ]
    assert p[1] == pytest.approx(3 * p[0])
    assert FAMILY == 16
