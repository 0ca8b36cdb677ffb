"""Studies as figures and rows: which number is which, and nothing said that was only asked."""

import csv
import dataclasses
import itertools
import math

import pytest

from headcount.experiments.tuning import Pilot, Setting
from headcount.lab.judge.hypothesis import Benefit, Hypothesis, Kind, Part
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Study, Variant
from headcount.lab.study_outcome import ArmOutcome, LearningCurve, StudyOutcome, summarised
from headcount.report.document import Report, Section
from headcount.report.figure_data import Axis, Curve, FigureData, Place
from headcount.report.from_studies import (
    _least,
    curve_figures,
    is_one_point,
    pilot_text,
    report_of,
    setting_of,
    study_figure,
    study_figures,
)
from headcount.report.write import arms_csv
from headcount.train.run_spec import Shape
from tests.report import example

SEEDS = (1, 2, 3)
CLAIM = Hypothesis(
    "t",
    Kind.CONTRAST,
    "Log heads win.",
    (Part("p", Benefit("a", "b", Scale.LOG10_RATIO)),),
    trivial=1.0,
)
LONGER = {"train": {"length": 64, "evaluation": {"length": 256}}}


def outcome(arms, variant=Variant.AS_WRITTEN, **changes):
    study = Study(
        "t",
        variant,
        "Title",
        "Does it?",
        tuple(a.arm for a in arms),
        SEEDS,
        x_label="heads",
        **changes,
    )
    return StudyOutcome(study, tuple(arms))


def learned(name, losses, numbers=None, run=None, finals=(), ratio=True, **place):
    arm = Arm(name, run or {}, series=place.pop("series", "lin"), **place)
    told = dataclasses.replace(summarised("tuned", losses, ratio), accuracy=0.75)
    return ArmOutcome(arm, numbers or Numbers(), (told,), 7, tuple(finals))


def rows(made):
    """Of arms.csv."""
    text = arms_csv(Report("t", "smoke", "c", (Section("t", "t"),), outcomes=(made,)))
    return list(csv.DictReader(text.splitlines()))


def curves(made, reported=()):
    return {(c.family, c.kind): c for c in study_figure(made, reported).curves}


def test_bounds_are_drawn_where_they_explain_the_loss_and_the_constant_answer_is_no_floor():
    far = Numbers(possible=1.0, lower=0.9, constant=True, lower_for="affine readouts only")
    easy = Numbers(possible=1e-31, lower=1e-32, float32=1e-13)
    made = outcome([learned("a", [1.0] * 3, far, x=1.0), learned("b", [1e-3] * 3, easy, x=2.0)])
    found = curves(made)
    # 1e-32 is far below 1e-3
    assert (found["lin", "lower"].x, found["lin", "lower"].y) == ((1.0,), (0.9,))
    assert (found["lin", "floor"].x, found["lin", "floor"].y) == ((2.0,), (1e-13,))
    assert "Certified lower bounds (affine readouts only)" in study_figure(made).caption
    zero = outcome([learned("a", [1e-3] * 3, Numbers(possible=0.0, lower=0.0), x=1.0)])
    assert ("lin", "lower") not in curves(zero)  # a loss is not negative: no news


def test_arms_without_a_place_share_one_colour():
    found = curves(
        outcome(
            [
                learned("a", [0.5] * 3, Numbers(possible=0.1, lower=0.1), paper=0.2),
                learned("b", [0.4] * 3),
            ]
        )
    )
    assert set(found) == {
        ("arms", "measured"),
        ("arms", "floor"),
        ("arms", "lower"),
        ("arms", "paper"),
    }


def test_a_claim_is_shown_as_a_claim():
    made = outcome(
        [learned("a", [0.5] * 3), learned("b", [0.5] * 3)],
        notes=("x_48 is a lag", "table: two entries"),
    )
    tested = dataclasses.replace(made.study, question=CLAIM.claim, hypotheses=(CLAIM,))
    assert study_figure(dataclasses.replace(made, study=tested)).caption.endswith(
        "Claim tested: Log heads win."
    )
    assert setting_of(tested) == "Claim tested: Log heads win. x_48 is a lag. Table: two entries."
    assert setting_of(made.study).startswith("Does it?")


def test_cells_are_drawn_one_by_one_where_there_are_several():
    """A band alone would hide that one initialisation learns it and the other does not."""
    arm = learned("a", [0.5] * 3, x=1.0)
    cells = tuple(
        summarised(cell, [loss] * 3, True)
        for cell, loss in (("p=uniform", 1e-6), ("p=log-spaced", 0.1))
    )
    made = outcome([dataclasses.replace(arm, learned=cells)])
    made = dataclasses.replace(
        made, study=dataclasses.replace(made.study, cells={"p=uniform": {}, "p=log-spaced": {}})
    )
    figure = study_figure(made)
    assert {c.name: c.y for c in figure.curves if c.kind == "cell"} == {
        "lin learned, p=uniform": (pytest.approx(1e-6),),
        "lin learned, p=log-spaced": (pytest.approx(0.1),),
    }
    assert "p=uniform, p=log-spaced one by one" in figure.caption
    assert "geometric mean" in figure.caption
    assert not [c for c in study_figure(outcome([arm])).curves if c.kind == "cell"]


def test_losses_that_count_different_things_do_not_share_an_axis():
    arms = [
        learned("text-a", [2.0] * 3, series="text"),
        learned("recall-a", [0.1] * 3, series="recall"),
    ]
    made = outcome(arms)
    made = dataclasses.replace(
        made,
        study=dataclasses.replace(
            made.study, panels={"text": "nats per byte", "recall": "nats per answer"}
        ),
    )
    text, recall = study_figures(made)
    assert (text.name, recall.name) == (f"{made.study.key}-text", f"{made.study.key}-recall")
    assert (text.y.label, recall.y.label) == ("nats per byte", "nats per answer")
    assert text.x.categories == ("text-a",)
    assert [row["metric"] for row in rows(made)] == ["nats per byte", "nats per answer"]
    assert len(study_figures(outcome(arms))) == 1


def test_the_band_is_called_what_it_is():
    made = outcome([learned("a", [0.5] * 3)])
    assert "the band is its 90% interval" in study_figure(made).caption
    few = dataclasses.replace(made, study=dataclasses.replace(made.study, seeds=SEEDS[:2]))
    assert "from the lowest to the highest seed" in study_figure(few).caption
    one = dataclasses.replace(made, study=dataclasses.replace(made.study, seeds=SEEDS[:1]))
    assert study_figure(one).caption.startswith("Learned: one seed.")


def test_the_papers_relation_is_told():
    made = outcome([learned("a", [0.5] * 3, x=1.0, paper=1e-5)])
    assert "The paper says: MSE < 1e-05." in study_figure(made, ("MSE < 1e-05",)).caption
    assert (
        "The paper"
        not in study_figure(outcome([learned("a", [0.5] * 3, x=1.0)]), ("MSE < 1e-05",)).caption
    )


def test_the_loss_at_the_trained_length_stands_beside_that_at_the_longer_one():
    finals = [{"train_loss": 0.01}] * 3
    made = outcome([learned("a", [0.5] * 3, run=LONGER, finals=finals, x=1.0, paper=0.1)])
    found = curves(made)
    assert found["lin, at the trained length 64", "measured"].y == pytest.approx((0.01,))
    assert ("lin", "paper") not in found  # the paper's figure is not about other lengths
    (row,) = rows(made)
    found = [float(row[name]) for name in ("learned", "learned_at_trained_length", "accuracy")]
    assert found == pytest.approx([0.5, 0.01, 0.75])
    diverged = outcome([learned("a", [0.5] * 3, run=LONGER, finals=[{}] * 3, x=1.0)])
    assert rows(diverged)[0]["learned_at_trained_length"] == ""
    same = outcome(
        [
            learned(
                "a",
                [0.5] * 3,
                run={"train": {"length": 64, "evaluation": {"length": 64}}},
                finals=finals,
                x=1.0,
            )
        ]
    )
    assert set(curves(same)) == {("lin", "measured")}


def test_many_series_with_two_lengths_lie_on_their_side():
    arms = [
        learned(
            f"a{i}", [0.5] * 3, run=LONGER, finals=[{"train_loss": 0.01}] * 3, series=f"s{i}", x=1.0
        )
        for i in range(4)
    ]
    assert study_figure(outcome(arms)).x.scale == "category"
    assert set(curves(outcome(arms))) == {
        ("at the tested length", "measured"),
        ("at the trained length 64", "measured"),
    }


def test_cells_are_pooled_by_what_a_quotient_means_not_by_the_axis():
    def pooled(ratios):
        arm = learned("a", [1.0] * 3, x=1.0, ratio=ratios)
        cells = (*arm.learned, summarised("other", [4.0] * 3, ratios))
        return curves(
            outcome([dataclasses.replace(arm, learned=cells)], ratios=ratios, y_log=not ratios)
        )["lin", "measured"].y

    assert pooled(True) == pytest.approx((2.0,))
    assert pooled(False) == pytest.approx((2.5,))


def test_one_of_a_thing_is_not_called_many():
    assert curves(outcome([learned("a", [0.5] * 3, series="1 hops, 1 layers", x=1.0)])).keys() == {
        ("1 hop, 1 layer", "measured")
    }


def judged(*arms, **changes):
    """Arms with the curve that each is to have, under a claim about a and b."""
    made = outcome([dataclasses.replace(learned(n, [0.5] * 3), curve=c) for n, c in arms])
    return dataclasses.replace(
        made, study=dataclasses.replace(made.study, hypotheses=(CLAIM,), **changes)
    )


FALLING = LearningCurve((0, 10, 20), (3.0, 2.0, 1.0), (2.0, 1.0, 0.5), (4.0, 3.0, math.inf))


def test_judged_arms_show_how_they_learned():
    (figure,) = curve_figures(judged(("a", FALLING), ("b", FALLING), ("shown only", FALLING)))
    assert (figure.place, figure.families) == (Place.FOLDED, ("a", "b"))
    (a, _) = figure.curves
    assert (a.x, a.y) == ((10.0, 20.0), (2.0, 1.0))  # a logarithmic axis has no step 0
    assert (a.low, a.high) == ((1.0, 0.5), (3.0, 1.0))  # one seed diverged: no upper end
    assert curve_figures(judged(("a", LearningCurve()), ("b", LearningCurve()))) == []
    half = dataclasses.replace(FALLING, median=(3.0, 2.0, math.inf))
    assert curve_figures(judged(("a", half), ("b", half))) == []  # one point is no curve


def test_more_curves_than_colours_make_more_figures():
    names = [f"arm {i}" for i in range(9)]
    pairs = itertools.pairwise(names)
    parts = tuple(Part(a, Benefit(a, b, Scale.LOG10_RATIO)) for a, b in pairs)
    claim = dataclasses.replace(CLAIM, parts=parts)
    made = outcome([dataclasses.replace(learned(n, [0.5] * 3), curve=FALLING) for n in names])
    made = dataclasses.replace(made, study=dataclasses.replace(made.study, hypotheses=(claim,)))
    many, few = curve_figures(made)
    assert [(f.name, len(f.families)) for f in (many, few)] == [
        ("t-as-written-curves-1", 7),
        ("t-as-written-curves-2", 2),
    ]
    assert not any(curve.low for curve in many.curves)  # seven bands would cover each other
    assert all(curve.low for curve in few.curves)


def test_a_pilot_says_how_much_better_its_choice_was():
    fast, slow = (Setting(lr, Shape.COSINE) for lr in (0.01, 0.001))
    told = pilot_text(Pilot({slow: (2.0, 3.0, math.inf), fast: (0.1, 0.2, 0.3)}))
    assert told == "best of 2 settings on 3 pilot seeds: 0.2; next lr 0.001, cosine: 3"


def test_one_point_is_no_picture():
    one = FigureData("n", "s", "t", Axis("x"), Axis("y"), (Curve("a", "measured", (1.0,), (2.0,)),))
    two = dataclasses.replace(one, curves=(Curve("a", "measured", (1.0, 2.0), (2.0, 3.0)),))
    assert is_one_point(one)
    assert not is_one_point(two)


def test_a_far_floor_wastes_no_decades():
    learned = Curve("a", "measured", (1.0, 2.0), (0.02, 0.5))
    near, far = (Curve("f", "floor", (1.0, 2.0), (y, y)) for y in (1e-3, 1e-18))
    assert _least([learned, near]) is None
    assert _least([learned, far]) == 0.01
    assert _least([learned, near, far]) == 1e-3
    assert _least([learned]) is None


def test_one_experiment_is_led_by_its_claim_and_several_by_the_learning_rate():
    arms = [learned("a", [0.1, 0.2, 0.3], x=1.0), learned("b", [0.1, 0.2, 0.3], x=2.0)]
    meant = outcome(arms, Variant.AS_MEANT)
    other = dataclasses.replace(meant, study=dataclasses.replace(meant.study, id="u"))
    rates = example.headline(Numbers(possible=0.0), Numbers(possible=1e-8))
    further = dataclasses.replace(rates, study=dataclasses.replace(rates.study, id="t"))

    def lead(*outcomes):
        return report_of(outcomes, profile="p", command="c", store="", versions={}).headline.name

    assert lead(meant, further) == meant.study.key
    assert lead(meant, other, further) == further.study.key
