"""The ready plan for OpenWebText: it reads, its arms are equal where it says so, and it refuses
a missing corpus in one line.
"""

from pathlib import Path

import pytest

from headcount.core.errors import InputError
from headcount.lab.run_studies import parameters
from headcount.lab.study import Arm
from headcount.lab.sweep.sweep_plan import SweepPlan
from headcount.train.run_spec import RunSpec

PLAN = Path(__file__).parents[2] / "studies" / "openwebtext.toml"


def test_the_plan_is_complete_and_its_arms_are_equal(tmp_path):
    for i in range(12):
        (tmp_path / f"{i}.txt").write_text(f"text {i} " * 200)
    plan = SweepPlan.read(PLAN)
    values = plan.to_plain()
    values["baseline"]["memory"]["path"] = str(tmp_path)
    specs = SweepPlan.from_values(values).specs(RunSpec.from_values)
    assert len(specs) == 6 * 5
    base, deep, wide, dp, free, triple = (
        parameters(Arm("", spec.to_plain())) for spec in specs[::5]
    )
    assert base < deep
    assert abs(wide / deep - 1) < 0.05
    assert abs(free / dp - 1) < 0.05
    assert triple > 1.5 * dp


def test_without_the_corpus_it_is_refused():
    with pytest.raises(InputError, match="corpus openwebtext"):
        SweepPlan.read(PLAN).specs(RunSpec.from_values)
