"""The decomposition of the risk: it adds up, and where all terms are known it finds them."""

import json
import math

import jax
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.memory.named import targets
from headcount.studies.decomposition import Floor, RiskPoint, Term
from headcount.studies.enough_effort import NEGLIGIBLE
from headcount.studies.finite_sample import Design, finite_sample
from headcount.studies.known_floors import floor_of, linear_kernel
from headcount.studies.learning_design import MOST_WORK, STEPS, default_model, planned
from headcount.theory.path_norm import path_norm
from headcount.theory.sample_bounds import least_squares_risk

TARGET, TAPS, SIGMA = "essential:kernel=exp:0.3,inputs=gaussian", 8, 0.5


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    engine = LocalEngine(1)
    return finite_sample(TARGET, f"filter:taps={TAPS}", noise=SIGMA, profile="smoke", error=0.05,
                         sizes=[40, 400], folder=folder, engine=engine)  # fmt: skip


def test_the_terms_add_up_to_the_risk(known):
    for point in known.curve:
        total = math.fsum(term.value for term in point.terms.values())
        assert total == pytest.approx(point.risk.value, rel=1e-9)


def test_known_terms_are_found_within_their_intervals(known):
    missed = math.exp(-0.6 * TAPS) / -math.expm1(-0.6)  # sum_{s >= taps} e^{-0.6 s}
    for point in known.curve:
        terms = point.terms
        assert terms[Term.APPROXIMATION].value == pytest.approx(missed, rel=1e-3)
        assert terms[Term.PRECISION].value == 0
        for term, truth in (
            (Term.OPTIMISATION, 0.0),
            (
                Term.ESTIMATION,
                least_squares_risk(math.sqrt(SIGMA**2 + missed), TAPS + 1, point.n, constant=True),
            ),
        ):
            found = terms[term]
            rounding = NEGLIGIBLE * known.trivial
            inside = found.interval.low <= truth <= found.interval.high
            assert inside or abs(found.value - truth) <= rounding, (term, point.n)


def test_the_effort_is_enough_and_says_so(known):
    assert known.effort.enough
    assert known.to_json()["effort"]["enough"] is True
    assert f"{known.effort.effort.steps} steps are enough" in " ".join(known.sentences())


def test_the_answer_is_a_document_and_sentences(known):
    document = json.loads(json.dumps(known.to_json()))
    assert set(document) >= {"curve", "bounds", "n_needed", "sentences"}
    first = document["curve"][0]
    assert set(first) >= {"n", "risk", "approximation", "precision", "estimation", "optimisation"}
    assert document["n_needed"]["error"] == 0.05
    assert 40 < document["n_needed"]["n"] < 400
    assert known.needed.dominant in document["sentences"][1]
    assert document["n_needed"]["outcome"] == "measured"
    assert document["n_needed"]["extrapolated"] is document["n_needed"]["at_most"] is False


@pytest.mark.parametrize("axis", ["heads", "neurons", "layers"])
def test_an_error_over_another_axis_than_n_is_refused(axis, tmp_path):
    with pytest.raises(InputError, match=f"error 0.01 over {axis}; expected .*use --over n"):
        finite_sample("fixed:lags=1", over=axis, samples=100, error=0.01, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_interval_of_a_risk_is_cut_at_0():
    wide = RiskPoint(30, {}, np.array([0.0, 0.0, 1.0]), np.zeros(3), Floor(0.0, 0.0))
    assert wide.risk.interval.low == 0.0 < wide.risk.value < wide.risk.interval.high
    assert wide.terms[Term.ESTIMATION].interval.low < 0  # a difference may be negative
    near = RiskPoint(30, {}, np.array([1.0, 1.1, 1.2]), np.zeros(3), Floor(0.0, 0.0))
    assert 0 < near.risk.interval.low < near.risk.value


def test_an_unknown_floor_is_part_of_optimisation():
    point = RiskPoint(10, {}, np.array([0.3, 0.2, 0.4]), np.array([0.1, 0.1, 0.2]), Floor())
    terms = point.terms
    assert terms[Term.APPROXIMATION] is None
    assert terms[Term.OPTIMISATION].value == pytest.approx(0.4 / 3)
    assert point.dominant is Term.ESTIMATION
    assert point.to_json()["approximation"] is None


def test_floors_of_heads_and_tables():
    target = targets.build("essential:kernel=power:0.5")
    model = default_model(target, 64) | {"heads": 2}
    one, two = (floor_of(target, model | {"heads": h}, 64) for h in (1, 2))
    assert 0 < two.approximation < one.approximation
    fixed = targets.build("fixed:lags=1+3")
    known = floor_of(fixed, default_model(fixed, 16), 16)
    assert known.approximation == pytest.approx(0, abs=1e-9)
    assert floor_of(fixed, {"attention": "dot", "bias": "lin"}, 16).approximation is None
    assert linear_kernel(targets.build("prop42")) is None


@pytest.mark.parametrize(
    "change",
    [
        {"bias": {"kind": "table", "window": 4}},  # lag 9 is not seen
        {"ffn": "none"},
        {"ffn": "gelu"},
        {"norm": "pre-ln"},
        {"norm": "no-residual"},
        {"normaliser": "sigmoid"},
        {"width": 1, "head_dim": 1},  # no room for a copy beside x_t
        {"layers": 2},
        {"attention": "dot"},
    ],
)
def test_formula_weights_are_no_floor_of_a_model_that_does_not_hold_them(change):
    target = targets.build("fixed:lags=2+9")
    model = default_model(target, 16)
    assert floor_of(target, model, 16).approximation == pytest.approx(0, abs=1e-9)
    assert floor_of(target, model | change, 16).approximation is None


@pytest.mark.parametrize("change", [{"norm": "pre-ln"}, {"norm": "no-residual", "ffn": "relu"},
                                    {"normaliser": "sigmoid"}, {"ffn": "relu"}])  # fmt: skip
def test_sums_of_decays_are_a_floor_of_nothing_else(change):
    target = targets.build("essential:kernel=power:0.5")
    model = default_model(target, 32)
    assert floor_of(target, model, 32).approximation > 0
    assert floor_of(target, model | change, 32).approximation is None
    bare = floor_of(target, {"kind": "heads", "heads": 2}, 32)
    assert bare.approximation > 0


def test_the_path_norm_of_a_network_is_that_of_its_neurons():
    from headcount.model.spec import ModelSpec

    spec = ModelSpec(heads=2, width=3, head_dim=2, hidden=4, attention="dp-free", bias="lin")
    model = spec.build(jax.random.key(0), dim=1)
    found, length = path_norm(model, 5), 5
    ffn, layer = model.layers[0].ffn, model.layers[0]
    units = np.eye(length)[:, :, None]  # one token each, [N, N, 1]

    def neurons(x):
        stream = model.embedding.stream(x)
        seen = stream.at(slice(4, 5)) + layer.attention(stream, np.array([4]))
        return np.asarray(seen @ ffn.w_in.T + ffn.offset)[:, 0]  # [B, m]

    zero = neurons(np.zeros((1, length, 1), np.float32))[0]
    slopes = neurons(units.astype(np.float32)) - zero  # [N, m]
    q = np.abs(np.asarray(ffn.w_out)[0]) @ (np.abs(slopes).sum(0) + np.abs(zero))
    assert found == pytest.approx(float(q), rel=1e-4)
    for other in ({"layers": 2}, {"norm": "post-ln"}, {"norm": "no-residual"}):
        made = ModelSpec.from_values({"attention": "dp-free", "width": 4, "hidden": 4, **other})
        assert path_norm(made.build(jax.random.key(0), dim=1), 5) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"profile": "huge"}, "profile"),
        ({"over": "colour"}, "axis"),
        ({"error": -1.0}, "error"),
        ({"sizes": [10, 10]}, "different"),
        ({"sizes": [0]}, "whole numbers"),
        ({"over": "heads", "samples": 0}, "samples"),
        ({"sizes": [10**9]}, "GB"),
        ({"length": 1, "target": "fixed:lags=3"}, "at least 4"),
        ({"noise": -1.0}, "noise -1"),
        ({"noise": 1e300}, r"below 1e\+09"),
        ({"noise": 1.0, "target": "recall:pairs=2"}, "below 1;"),
        ({"model": "filtr"}, "filter"),
        ({"seeds": 2}, "at least 3"),
    ],
)
def test_nonsense_is_refused_before_any_work(changes, message):
    base = {"target": TARGET, "model": None, "noise": 0.0, "series": False, "over": "n"}
    base |= {"sizes": None, "samples": 100, "error": None, "length": None, "profile": "smoke"}
    with pytest.raises(InputError, match=message):
        Design.of(**(base | changes))


@pytest.mark.parametrize("profile", ["smoke", "laptop", "full"])
def test_the_steps_of_large_models_are_what_the_time_of_the_profile_allows(profile):
    small, large = (
        Design.of(target, None, 0.0, False, "n", None, 0, None, None, profile)
        for target in ("fixed:lags=2", "pointer-chain:hops=2,symbols=6")
    )
    assert small.steps == STEPS[small.profile]
    assert large.steps[0] == STEPS[large.profile][0] < STEPS[large.profile][1]
    assert large.steps[1] < STEPS[large.profile][1]
    for design in (small, large):
        runs = planned(design)
        assert max(run.train.steps for run in runs) == design.steps[1]
        operations = sum(3 * run.train.steps * run.train.batch for run in runs) * design.operations
        assert operations <= MOST_WORK[design.profile]
        assert len({run.content_hash for run in runs}) == len(runs)


def test_a_series_counts_its_blocks():
    design = Design.of(TARGET, None, 0.1, True, "n", [100], 0, None, 16, "smoke")
    made = design.observed.sample(jax.random.key(0), 7, 16)
    np.testing.assert_array_equal(made.x[0, 1:], made.x[1, :-1])  # windows overlap
    assert design.observed.held_out() == design.target


@pytest.mark.parametrize(
    ("given", "words"), [({"model": {"heads": "two"}}, "heads is 'two'"), ({"samples": -4}, "-4")]
)
def test_what_cannot_be_is_refused_before_a_folder_is_made(given, words, tmp_path):
    with pytest.raises(InputError, match=words):
        finite_sample("fixed:lags=1", folder=tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()
