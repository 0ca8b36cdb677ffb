"""Figures that must come out of the full profile, each from one trained seed of the registered
runs. Minutes: `make test-slow`.
"""

import pytest

from headcount.experiments import studies_of
from headcount.lab.run_studies import planned
from headcount.lab.study import Profile, Variant
from headcount.train.run import train

pytestmark = pytest.mark.slow
ARMS = {
    ("4a", Variant.AS_MEANT, "log-1"): ("eval_loss", 0.0, 1e-5),  # the paper: < 1e-5
    # the paper: < 1e-7; the tuned run ends between 1e-12 and 1e-4 from seed to seed, and is judged
    # undecided (docs/experiments.md)
    ("4b", Variant.AS_MEANT, "lin-1"): ("eval_loss", 0.0, 1e-4),
    ("3b", Variant.AS_MEANT, "recall-dp"): ("accuracy", 0.99, 1.0),
    # about 0.6 when tuned, so that "below 0.6" is undecided (docs/experiments.md)
    ("3b", Variant.AS_MEANT, "recall-dp-free"): ("accuracy", 0.0, 0.7),
    ("3b", Variant.AS_MEANT, "recall-dp-free-3x"): ("accuracy", 0.0, 0.6),
    # one head could be exact and does not learn it; four learn it (docs/experiments.md: 7e-5, 3e-7)
    ("2b", Variant.AS_MEANT, "heads-1-m-16"): ("relative_loss", 1e-5, 1e-3),
    ("2b", Variant.AS_MEANT, "heads-4-m-16"): ("relative_loss", 0.0, 1e-5),
}


@pytest.mark.parametrize(("id", "variant", "name"), ARMS)
def test_a_registered_run_of_the_full_profile(id, variant, name):
    column, least, most = ARMS[id, variant, name]
    study = next(study for study in studies_of([id], Profile.FULL) if study.variant is variant)
    # the first seed of the first cell: rates from U(0, 1)
    run = next(run for run in planned(study) if run.arm == name)
    final = train(run.spec.target(), run.spec.model, run.spec.train, run.seed).record.final
    assert least <= final[column] <= most


def test_one_learning_rate_gives_the_papers_figure_for_64_lin_heads():
    """0.19, of bare heads with rates kept positive by softplus."""
    study = next(s for s in studies_of(["4a"], Profile.FULL) if s.variant is Variant.AS_WRITTEN)
    run = next(
        run
        for run in planned(study)
        if (run.arm, run.cell) == ("lin-64 bare, softplus", "lr 0.0003")
    )
    final = train(run.spec.target(), run.spec.model, run.spec.train, run.seed).record.final
    assert 0.05 <= final["eval_loss"] <= 0.5
