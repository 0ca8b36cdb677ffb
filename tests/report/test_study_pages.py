"""The pages of studies, from made-up results: every number of the result is on its page."""

import json

import numpy as np
import pytest

from headcount.lab.study import Profile
from headcount.model.cost import Cost
from headcount.report import finite_sample_page, rivals_page, robustness_page, zoo_page
from headcount.report.study_page import caveat, write_page
from headcount.studies.collection import by_name
from headcount.studies.contenders import Measure
from headcount.studies.decomposition import Floor, RiskPoint
from headcount.studies.decomposition import Measured as Mean
from headcount.studies.enough_effort import Change, EnoughEffort
from headcount.studies.finite_sample import FiniteSample
from headcount.studies.learning_design import Effort
from headcount.studies.mad_tasks import PREDICTIONS, Measured, Part, Predictions, Removal
from headcount.studies.probes import BASE, PROBES, VARIANTS
from headcount.studies.rivals import Rival, Rivals
from headcount.studies.robustness import Cell, Robustness, judged
from headcount.studies.sample_planner import SamplesNeeded
from headcount.studies.trials import Learned
from headcount.studies.zoo import ZooProfile, ZooRow
from headcount.theory.sample_bounds import hoeffding, lag_samples
from headcount.theory.sample_claims import Quantity

GOOD, BAD = Learned((1e-3,) * 5), Learned((0.4,) * 5)


def finite():
    risks = {30: 0.3, 300: 0.03}
    curve = tuple(
        RiskPoint(n, {}, r + 0.01 * np.arange(5), np.full(5, 0.01), Floor(0.004, 0.0), n)
        for n, r in risks.items()
    )
    bounds = [(None, lag_samples(0.3, 64))]
    for n in risks:
        held = hoeffding(0.2, n, 1.0)
        bounds.append((n, held.about(Quantity.CLIPPED_RISK, clip=0.5, measured=0.19, constant=0.4)))
    effort = EnoughEffort(Effort(1e-2, 200), (Change(0, Mean(1e-3), 2e-3),))
    needed = SamplesNeeded(0.05, 250.0, 200.0, 320.0, dominant="estimation")
    return FiniteSample("lag", {}, Profile.SMOKE, "n", 0.0, False, effort, curve, tuple(bounds),
                        needed, (), 1.0)  # fmt: skip


def rivals():
    return Rivals(
        Measure.PARAMETERS,
        Profile.SMOKE,
        tuple(
            Rival(by_name(memory), model, Cost(10, 10, 10), left, Floor(0.0, 0.0), None, 0.5)
            for memory in ("lag-5", "exp-fast")
            for model, left in (("gru", GOOD), ("ssm", BAD))
        ),
    )


def robustness():
    probe = next(p for p in PROBES if p.insight == "4a")
    sgd = next(v for v in VARIANTS if v.name == "sgd")
    losses = np.full((2, 8), 0.01)
    cells = [Cell(probe, (BASE,), np.full(8, 1.0), losses),
             Cell(probe, (sgd,), np.full(8, -1.0), losses)]  # fmt: skip
    return Robustness(Profile.SMOKE, tuple(judged(cells)), (("4a", "bias", "rope", "no dots"),))


def zoo():
    rows = (ZooRow(by_name("lag-5"), GOOD, None, 2, 100, floor=Floor(0.0, 0.0)),
            ZooRow(by_name("recall"), Learned(()), None, refused="real tokens"))  # fmt: skip
    return ZooProfile("gru", rows, Profile.SMOKE)


def mad():
    good, bad = (Learned((0.1,) * 5, (right,) * 5) for right in (1.0, 0.5))
    lesser = (Removal(Part.LAYER, bad), Removal(Part.DOT, bad))
    return Predictions(Profile.SMOKE, (Measured(PREDICTIONS[0], good, lesser),))


def test_bounds_are_drawn_with_what_was_measured_of_the_same_quantity():
    found = finite()
    axes = finite_sample_page.figure(found).axes[0]
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert list(lines["risk of clipped answers, first seed"]) == [0.19, 0.19]
    drawn = list(lines["risk of clipped answers: at most (hoeffding)"])
    assert drawn == [claim.value for n, claim in found.bounds if n]
    assert "clipped to the largest |y|" in finite_sample_page.page(found).caption
    sentences = " ".join(found.sentences())
    assert "the range of the loss from n = 30 on" in sentences
    assert "the best constant answer from n = 300 on" in sentences
    assert found.to_json()["useful"] == [
        {"method": "hoeffding", "below_range": 30, "below_constant": 300}
    ]


@pytest.mark.parametrize(
    ("make", "page", "cells"),
    [
        (finite, finite_sample_page.page, ["estimation", "enough:", "takes about 250 samples"]),
        (
            rivals,
            rivals_page.page,
            ["optimisation", "exp-fast", "share of the budget", "50% on 2 of 2"],
        ),
        (robustness, robustness_page.page, ["optimiser (1 of 1)", "refuted", "no dots"]),
        (zoo, zoo_page.page, ["real tokens", "gru reaches 1 of 2 memories."]),
        (mad, rivals_page.mad_page, ["holds", "multi-query recall", "without dot products"]),
    ],
    ids=["finite-sample", "rivals", "robustness", "zoo", "mad"],
)
def test_a_page_has_its_sentences_its_figure_and_its_rows(make, page, cells, tmp_path):
    found = make()
    written = write_page(page(found), found.to_json(), tmp_path / "out").read_text()
    for text in (*cells, "<svg", "<table"):
        assert text in written
    assert caveat(Profile.SMOKE) in written.split("<figure")[0]
    assert "n = None" not in written
    assert "nan" not in written.lower().split("<table")[1]
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["profile"] == Profile.SMOKE
    assert document["sentences"] == list(found.sentences())
    assert (tmp_path / "out" / "figure.png").stat().st_size > 1000
