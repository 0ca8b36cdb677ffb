"""Depth, heads and bias: well formed at every profile, floors checked by hand, one arm of each
trained.
"""

import functools

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.overrides import merged
from headcount.experiments import CHECKS, EXPERIMENTS, STUDIES, chosen, studies_of
from headcount.experiments.further.bias import bias_numbers, trivial_loss
from headcount.experiments.further.depth import composed_numbers as computed_numbers
from headcount.experiments.further.depth import split
from headcount.lab.judge.hypothesis import Kind
from headcount.lab.run_studies import FAMILY, planned
from headcount.lab.study import Profile
from headcount.memory.kernels import kernels
from headcount.train.run import train
from headcount.train.run_spec import RunSpec

composed_numbers = functools.cache(computed_numbers)  # several tests read the same ones
TRAINED = ("depth", "heads", "bias", "failures")


def test_the_list_is_in_order_and_lazy():
    assert list(STUDIES) == [*EXPERIMENTS, *CHECKS]
    assert chosen(["bias", "1a", "bias"]) == ["1a", "bias"]
    assert chosen(["all"]) == chosen([]) == list(STUDIES)
    with pytest.raises(InputError, match="unknown experiment '5a'"):
        chosen(["5a"])
    with pytest.raises(InputError, match="leave out the corpus"):
        studies_of(["4a"], Profile.SMOKE, "texts")


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("name", [*EXPERIMENTS, *CHECKS])
def test_every_study_is_well_formed(name, profile):
    studies = STUDIES[name](profile)
    assert (len(studies) == 0) == (name == "rates")
    assert all(study.id.startswith(name) for study in studies)
    assert len({study.key for study in studies}) == len(studies)


@pytest.mark.parametrize("profile", [Profile.LAPTOP, Profile.FULL])
def test_every_insight_has_its_three_claims(profile):
    """One of each kind, whatever the profile runs; Holm is over those about training."""
    studies = studies_of(EXPERIMENTS, profile)
    hypotheses = [h for study in studies for h in study.hypotheses]
    existences = [e for study in studies for e in study.existences]
    main = [(h.insight, h.kind) for h in hypotheses if not h.further]
    assert sorted(main) == [
        (id, kind) for id in EXPERIMENTS for kind in (Kind.CONTRAST, Kind.TRAINED)
    ]
    assert len(main) == FAMILY
    assert sorted(e.insight for e in existences if not e.further) == list(EXPERIMENTS)
    keys = [claim.key for claim in (*hypotheses, *existences)]
    assert len(set(keys)) == len(keys)


def test_smoke_judges_nothing():
    assert not any(s.hypotheses or s.existences for s in studies_of(EXPERIMENTS, Profile.SMOKE))


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("name", TRAINED)
def test_specs_of_the_checks_validate(name, profile):
    (study,) = STUDIES[name](profile)
    runs = planned(study)
    assert (
        len({run.spec.content_hash for run in runs})
        == len(runs)
        == len(study.arms) * len(study.seeds)
    )
    assert profile is not Profile.SMOKE or len(study.arms) <= 3


# arms of `failures` train in test_failures.py
@pytest.mark.parametrize("name", ["depth", "bias", pytest.param("heads", marks=pytest.mark.slow)])
def test_one_arm_of_each_trains(name):
    (study,) = STUDIES[name](Profile.SMOKE)
    spec = RunSpec.from_values(
        merged(study.arms[0].run, {"train": {"steps": 2, "log": 1, "batch": 4}})
    )
    final = train(spec.target(), spec.model, spec.train, 0).record.final
    assert np.isfinite(final["eval_loss"])
    assert final["eval_loss"] > 0


def test_every_bias_of_the_model_is_in_the_check():
    from headcount.experiments.further.bias import BIASES
    from headcount.model.biases import biases

    assert set(BIASES) == set(biases.names())


def test_lags_are_split_evenly():
    assert split(8, 2) == (4, 4)
    assert split(2, 3) == (1, 1)
    assert all(sum(split(lag, layers)) == lag for lag in range(1, 9) for layers in (1, 2, 3))


@pytest.mark.slow
def test_depth_brings_lags_into_reach():
    one, two = composed_numbers(8, 1), composed_numbers(8, 2)
    assert one.lower is not None
    assert one.lower <= one.possible  # 4 lin heads do not reach lag 8 (Theorem A)
    assert one.possible > 0.5
    assert two.possible < one.possible
    assert two.possible < 1e-12


def test_a_layer_that_adds_its_input_reaches_lag_four_with_four_heads():
    """x_t comes free: e^{-p} = 0.01 (1, 2, 3, 4) meets lags 1 to 4 and leaves 0.01."""
    x = 0.01 * np.arange(1, 5)
    a = np.linalg.solve(x[None, :] ** np.arange(1, 5)[:, None], np.eye(4)[3])
    loss = ((np.eye(32)[4] - x[None, :] ** np.arange(32)[:, None] @ a)[1:] ** 2).sum()
    assert loss == pytest.approx(0.01, rel=0.02)
    numbers = composed_numbers(4, 1)
    assert numbers.lower <= numbers.possible <= loss
    assert numbers.possible <= numbers.float32 <= 0.0136  # as large as float32 affords


@pytest.mark.parametrize(
    ("lag", "float32", "bfloat16"),
    [
        pytest.param(2, 1.1e-9, 0.0031, marks=pytest.mark.slow),
        (4, 0.0136, 0.442),
        pytest.param(8, 0.7931, 0.8102, marks=pytest.mark.slow),
    ],
)
def test_one_layer_as_the_formats_hold_it(lag, float32, bfloat16):
    """Limits found by other searches; training reached 0.848 at lag 8."""
    numbers = composed_numbers(lag, 1)
    assert numbers.float32 <= float32
    assert numbers.bfloat16 <= bfloat16


def test_two_layers_reach_what_one_does_not():
    one, two = composed_numbers(4, 1), composed_numbers(4, 2)
    assert two.float32 < one.float32
    assert two.bfloat16 < one.bfloat16
    assert two.floor == two.float32
    assert "as it draws them" in two.note


@pytest.mark.slow
def test_layers_compose_as_the_formats_hold_them():
    assert composed_numbers(2, 2).possible < 1e-3  # lag 1 twice, 4 heads each
    one, two, three = (composed_numbers(8, layers) for layers in (1, 2, 3))
    assert two.possible < two.float32 < two.bfloat16 <= one.bfloat16 * (1 + 1e-12)
    # unrounded weights of 1e38 are no floor
    assert two.possible < 1e-12 < 1e-3 < two.float32 < 0.1 < one.float32
    assert three.float32 < two.float32
    assert three.bfloat16 < 0.1 < two.bfloat16
    assert two.floor == two.float32
    assert "as it draws them" in two.note


@pytest.mark.parametrize(
    ("kernel", "bias"),
    [
        ("exp:0.5", "lin"),
        ("power:0.5", "log1p"),
        pytest.param("exp:0.5", "log1p", marks=pytest.mark.slow),
        pytest.param("power:0.5", "lin", marks=pytest.mark.slow),
    ],
)
def test_bounds_of_biases_hold_for_heads_beside_a_residual(kernel, bias):
    rho, lags = kernels.build(kernel).values(64)[1:], np.arange(1, 64)
    numbers = bias_numbers(kernel, bias, 2, 64)
    assert numbers.lower is not None  # also where rho(0) is not 0
    rates = np.geomspace(0.02, 12.0, 25)
    curves = np.exp(-np.outer(lags if bias == "lin" else np.log1p(lags), rates))
    pairs = [curves[:, [i, j]] for i in range(25) for j in range(i)]
    best = min(((rho - c @ np.linalg.lstsq(c, rho, rcond=None)[0]) ** 2).sum() for c in pairs)
    assert numbers.lower <= numbers.possible <= best * (1 + 1e-6)


@pytest.mark.parametrize(
    "bias",
    [
        *("lin", "log", "alibi", "t5", "none", "peak"),
        pytest.param("kerple-log", marks=pytest.mark.slow),  # quick below
    ],
)
def test_floors_of_biases_lie_between_0_and_the_residual_alone(bias):
    numbers = bias_numbers("power:1.2", bias, 2, 64)
    assert 0 <= numbers.possible < trivial_loss("power:1.2", 64)
    assert numbers.lower is None or numbers.lower <= numbers.possible * (1 + 1e-9)
    assert numbers.float32 == pytest.approx(numbers.possible, rel=1e-3, abs=1e-12)
    assert numbers.bfloat16 == pytest.approx(numbers.possible, rel=0.05, abs=1e-4)


def test_buckets_as_the_formats_hold_them():
    numbers = bias_numbers("exp:0.5", "t5", 2, 64)  # the last buckets are 0 up to rounding
    assert numbers.float32 == pytest.approx(numbers.possible, rel=1e-3)
    assert numbers.possible < numbers.bfloat16 < 1e-4


def test_a_table_as_the_formats_hold_it():
    numbers = bias_numbers("power:1.2", "table", 2, 64)
    assert numbers.possible == 0 < numbers.float32 < 1e-12
    rho = kernels.build("power:1.2").values(64)[1:]
    # probability and weight, 2^-9 of each value at most
    assert 0 < numbers.bfloat16 <= 2 * (2.0**-8) ** 2 * (rho @ rho)


@pytest.mark.parametrize(
    ("bias", "curve"),
    [
        ("kerple-log", lambda s: (1 + 1e-4 * s) ** -500.0),  # nearly e^{-0.05 s}
        # a centre before lag 0: e^{-0.05 s} times a slow factor
        ("peak", lambda s: np.exp(-2e-5 * ((s + 1250) ** 2 - 1250**2))),
    ],
)
def test_two_numbers_a_head_are_used(bias, curve):
    """What one head does by hand, two heads must do; training reached 0.03 and 0.02."""
    lags = np.arange(1.0, 256)
    rho, drawn = kernels.build("exp:0.05").values(256)[1:], curve(lags)
    by_hand = ((rho - drawn * (rho @ drawn) / (drawn @ drawn)) ** 2).sum()
    numbers = bias_numbers("exp:0.05", bias, 2, 256)
    assert numbers.possible <= min(by_hand, 1e-4)
    assert numbers.possible * (1 - 1e-6) <= numbers.float32 <= 1e-4


def test_floors_by_hand():
    rho = kernels.build("power:1.2").values(64)[1:]
    assert bias_numbers("power:1.2", "none", 2, 64).possible == pytest.approx(
        ((rho - rho.mean()) ** 2).sum()
    )
    curves = np.exp(-np.outer(np.arange(1, 64), [2.0**-4, 2.0**-8]))
    best = min(  # a crude search must not beat least squares
        ((rho - curves @ [a, b]) ** 2).sum()
        for a in np.linspace(-1, 2, 61)
        for b in np.linspace(-1, 2, 61)
    )
    found = bias_numbers("power:1.2", "alibi", 2, 64).possible
    assert found <= best <= found * 1.1
    assert bias_numbers("power:1.2", "log", 1, 64).possible < 1e-20  # the kernel is a log head
    assert bias_numbers("power:1.2", "fire", 2, 64).possible is None
