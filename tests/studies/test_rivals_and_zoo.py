"""Contenders of equal size, causes of failure, the zoo with a model of the user's own."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.construct.plan import plan
from headcount.core.errors import InputError
from headcount.lab.study import Profile
from headcount.memory.read import Last
from headcount.model.baselines import baselines
from headcount.model.cost import Cost
from headcount.report.rivals_page import Square
from headcount.studies import trials
from headcount.studies import zoo as zoo_module
from headcount.studies.collection import COLLECTION, by_name, chosen
from headcount.studies.contenders import TAPS, Measure, sized
from headcount.studies.decomposition import Floor
from headcount.studies.finite_sample import finite_sample
from headcount.studies.known_floors import modes_of
from headcount.studies.mad_tasks import mad
from headcount.studies.rivals import (
    NORMED,
    Cause,
    Rival,
    Rivals,
    budget,
    floor_of,
    minimum_of,
    planned,
    rivals,
)
from headcount.studies.robustness import robustness
from headcount.studies.trials import Learned, learned
from headcount.studies.zoo import zoo

SMALL = Cost(10, 10, 10)


def row(loss, accuracy=(), floor=None, name="lag-5", rounding=0.0, share=1.0):
    known = Floor() if floor is None else Floor(floor, rounding)
    return Rival(by_name(name), "ssm", SMALL, Learned((loss,) * 3, accuracy), known, None, share)


def test_causes_follow_from_floors():
    assert row(1e-3).cause is Cause.REACHED
    assert row(0.5).cause is Cause.UNKNOWN
    assert row(0.5, floor=0.2).cause is Cause.APPROXIMATION
    assert row(0.5, floor=1e-6).cause is Cause.OPTIMISATION
    assert row(0.5, floor=1e-6, rounding=0.3).cause is Cause.PRECISION
    assert not row(1e-9, accuracy=(0.9,) * 3, name="recall").reached
    found = Rivals(Measure.PARAMETERS, Profile.SMOKE, (row(0.5, floor=0.2),))
    assert "Missed for approximation: ssm on lag-5." in found.sentences()


def test_the_share_of_the_budget_is_data_and_is_told_where_it_is_not_all():
    rows = tuple(row(0.5, share=share) for share in (1.03, 0.5, 0.062))
    found = Rivals(Measure.STATE, Profile.SMOKE, rows)
    assert [r["share"] for r in found.to_json()["rows"]] == [1.03, 0.5, 0.062]
    told = "Not equal, shares of the budget of state: ssm 6% to 50% on 2 of 3."
    assert told in found.sentences()
    assert not any("Not equal" in said for said in Rivals(Measure.STATE, Profile.SMOKE,
                                                          rows[:1]).sentences())  # fmt: skip


def test_the_smallest_model_is_the_least_of_all_rows_not_the_recommended_one():
    task = by_name("lag-1")
    found, made = minimum_of(task), plan(task.target, tol=0.1, length=task.length)
    reached = [row for row in made.rows if row.reachable]
    assert found.parameters == min(row.parameters for row in reached) == 11
    assert found.layers == min(row.architecture.layers for row in reached)
    assert found.heads == min(row.architecture.heads for row in reached)
    assert made.recommended.parameters == 12  # of common parts


def test_a_diagonal_recurrence_has_the_floor_of_a_sum_of_exponentials():
    exact = floor_of(by_name("exp-fast"), "ssm")
    assert exact.approximation == pytest.approx(0, abs=1e-9)
    assert 0 < exact.precision < 1e-9  # float32 holds one mode, not exactly
    far = floor_of(by_name("lag-30"), "ssm")
    assert far.approximation is None  # complex modes may do better than real ones
    assert floor_of(by_name("lag-30"), "local").approximation == 1.0
    assert floor_of(by_name("lag-5"), "local").approximation == 0.0
    assert floor_of(by_name("recall"), "ssm").approximation is None


@pytest.mark.parametrize("length", [7, 16, 48])
def test_complex_modes_for_half_of_the_lags_hold_any_kernel_in_the_model_itself(length):
    rng = np.random.default_rng(length)
    values = rng.normal(size=length)
    modes, weights = modes_of(values)
    lags = np.arange(length)
    np.testing.assert_allclose((weights[:, None] * modes[:, None] ** lags).real.sum(0), values,
                               atol=1e-12)  # fmt: skip
    # one channel per mode; its state is kept at unit variance by a gain that the weight undoes
    n, gain = len(modes), np.sqrt(1 - np.abs(modes) ** 2)
    model = baselines.build(f"ssm:width={n},states=1,hidden=2", 1, None, 1, jax.random.key(0))
    column = lambda numbers: jnp.asarray(numbers, jnp.float32)[:, None]  # noqa: E731
    model = eqx.tree_at(
        lambda m: (m.embedding.weight, m.log_decay, m.frequency, m.c_real, m.c_imag, m.skip,
                   m.w_in, m.offset, m.readout),
        model,
        (jnp.ones((n, 1)), column(np.log(-np.log(np.abs(modes)))), column(np.angle(modes)),
         column(weights.real / gain), column(weights.imag / gain), jnp.zeros(n),
         jnp.stack([jnp.ones(n), -jnp.ones(n)]), jnp.zeros(2), jnp.array([[1.0, -1.0]])),
    )  # fmt: skip
    x = rng.normal(size=(5, length, 1)).astype(np.float32)
    answer = np.asarray(model(jnp.asarray(x), Last()))[:, 0, 0]
    np.testing.assert_allclose(answer, x[:, ::-1, 0] @ values, atol=2e-4)


def test_layer_norm_leaves_a_linear_answer_within_what_is_told():
    """(c, -c, v, -v) behind a norm, in float32, c = 1000 times the largest v."""
    rng = np.random.default_rng(0)
    v = rng.normal(size=4096).astype(np.float32)
    c = np.float32(1000 * np.abs(v).max())
    stream = np.stack([np.full_like(v, c), np.full_like(v, -c), v, -v], axis=1)  # [n, 4]
    centred = stream - stream.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True))
    answer = normed[:, 2] * (c / np.float32(np.sqrt(2)))
    assert np.mean((answer - v) ** 2) / np.mean(v**2) < NORMED


def test_a_convolution_is_a_tensor_train_over_the_digits_of_the_lag():
    rng = np.random.default_rng(1)
    kernel = rng.normal(size=TAPS**3)  # lag = k0 + 4 k1 + 16 k2
    tensor = kernel.reshape(TAPS, TAPS, TAPS).transpose(2, 1, 0)  # [k0, k1, k2]
    left, middle, right = tensor.shape
    u, s, rest = np.linalg.svd(tensor.reshape(left, -1), full_matrices=False)
    assert len(s) <= TAPS  # channels after the first layer
    x = rng.normal(size=TAPS**3)  # newest first
    lags = np.arange(TAPS**3).reshape(TAPS, TAPS, TAPS).transpose(2, 1, 0)
    first = np.einsum("kr,kab->rab", u, x[lags])  # layer 1 at every later tap
    later = np.einsum("r,rm->rm", s, rest).reshape(-1, middle, right)
    assert np.einsum("rab,rab->", first, later) == pytest.approx(kernel @ x)


def test_a_narrow_convolution_has_no_known_floor():
    task = by_name("power-heavy")  # 256 lags: four layers, ranks up to 16
    assert floor_of(task, "convolution", 0, 16).approximation is None
    assert floor_of(task, "convolution", 0, 17).approximation == 0.0
    assert floor_of(task, "transformer").precision == NORMED


def test_the_floor_of_a_recurrence_with_enough_modes_is_zero_and_its_rounding_small():
    task = by_name("lag-30")
    enough = floor_of(task, "ssm", task.length // 2 + 1)
    assert enough.approximation == 0.0
    assert 0 < enough.precision < 1e-9
    assert floor_of(task, "ssm", task.length // 2).approximation is None
    size = sized("ssm", task, Measure.PARAMETERS, budget(task, Measure.PARAMETERS))
    assert size.modes > task.length  # so training is what fails
    assert sized("gru", task, Measure.PARAMETERS, 5000).modes == 0


def test_seeds_that_do_not_agree_are_told():
    task = by_name("lag-5")
    mixed = Learned((1e-6,) * 6 + (1.0,) * 4)
    assert (mixed.reached(task), mixed.seeds_reached(task), mixed.settled(task)) == (True, 6, False)
    found = Rivals(Measure.PARAMETERS, Profile.SMOKE,
                   (Rival(task, "gru", SMALL, mixed, Floor(), None, 1.0),))  # fmt: skip
    assert "Seeds do not agree, so many reach it: gru on lag-5 (6 of 10)." in found.sentences()
    assert found.to_json()["rows"][0]["seeds_reached"] == 6
    assert Square(task, "gru", mixed).told == "✓ 1e-06\n6 of 10"
    assert Square(task, "gru", Learned((math.inf,) * 5)).told == "diverged"
    agreed = Learned((1e-6,) * 5)
    assert (agreed.split(task), Square(task, "gru", agreed).told) == ("", "✓ 1e-06")


def test_a_diverged_run_counts_as_lost():
    class Spec:
        def __init__(self, name):
            self.content_hash = name

    finals = {"a": {"eval_loss": 0.1, "accuracy": 1.0}, "b": {}}
    found = learned([Spec("a"), Spec("b")], finals)
    assert found.losses == (0.1, math.inf)
    assert sorted(found.accuracies) == [0.0, 1.0]


def test_a_model_of_ones_own_is_asked_every_memory():
    def exact(task):
        return lambda x: task.target.reference(x)

    profile = zoo(exact, ["lag-5", "product", "exp-fast"])
    assert profile.reached == len(profile.rows) == 3
    assert profile.sentences()[0] == "exact reaches 3 of 3 memories."
    with pytest.raises(InputError, match="one answer per read"):
        zoo(lambda task: lambda x: np.zeros(3), ["lag-5"])
    with pytest.raises(InputError, match="folder"):
        zoo("gru")


def test_labels_are_judged_by_accuracy():
    def right(task):
        return lambda x: np.eye(task.target.outputs)[np.maximum(task.target.reference(x), 0)]

    assert zoo(right, ["recall"]).reached == 1


def test_what_a_model_cannot_be_asked_is_told_not_dropped():
    specs = zoo_module.planned("filter:taps=4", ["lag-1", "recall"], "smoke")
    assert {spec.memory.kind for spec in specs} == {"fixed"}
    with pytest.raises(InputError, match="grru"):
        zoo_module.planned("grru", ["lag-1"], "smoke")


def test_names_are_checked_and_runs_counted():
    assert len({task.name for task in COLLECTION}) == len(COLLECTION) >= 22
    assert [t.name for t in chosen(["recall", "lag-1"])] == ["lag-1", "recall"]
    with pytest.raises(InputError, match="memory of the zoo"):
        chosen(["nothing"])
    assert len(planned(["lag-1"], ["gru", "ssm"], "parameters", "smoke")) == 2 * 5
    for equal, profile in (("foo", "smoke"), ("parameters", "foo")):
        with pytest.raises(InputError, match=r"unknown (measure|profile) 'foo'"):
            planned(["lag-1"], ["gru"], equal, profile)
    every = zoo_module.planned("gru", None, "laptop")
    assert len({spec.memory.to_plain()["kind"] for spec in every}) > 5  # the whole collection
    assert len(every) == (2 + 5) * len(COLLECTION)  # two learning rates on a pilot seed, 5 seeds


def test_more_seeds_are_run_only_where_seeds_do_not_agree(monkeypatch):
    task, ran = by_name("lag-5"), []
    left = {"sure": lambda seed: 1e-4, "torn": lambda seed: 1e-4 if seed % 2 else 0.5}

    def trained(specs, store, engine, say):
        ran.extend(spec.content_hash for spec in specs)
        return {s.content_hash: {"relative_loss": s.value} for s in specs}

    class Spec:
        def __init__(self, name, seed):
            self.content_hash, self.value = f"{name}{seed}", left[name](seed)

    monkeypatch.setattr(trials, "trained", trained)
    runs = {("lag-5", name): lambda n, name=name: [Spec(name, i) for i in range(n)]
            for name in left}  # fmt: skip
    found = trials.by_looks(runs, {"lag-5": task}, (4, 6), None, None, None)
    assert [len(found["lag-5", name].losses) for name in left] == [4, 6]
    assert sum(name.startswith("sure") for name in set(ran)) == 4


def test_a_profile_shows_itself_in_a_notebook():
    profile = zoo(lambda task: lambda x: np.zeros((len(x), 1, 1)), ["lag-1", "lag-5"])
    assert repr(profile).endswith("reaches 0 of 2 memories>")
    shown = profile._repr_html_()
    assert shown.count("<tr>") == shown.count("</tr>") == 3
    assert "1 of the variance left" in shown
    assert "not reached" in shown


def test_an_unknown_model_is_told_what_there_is():
    with pytest.raises(InputError, match="transformer") as told:
        zoo("trnsformer", folder="nowhere")
    assert "gru" in str(told.value)


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for study in (
        functools.partial(finite_sample, "fixed:lags=1"),
        functools.partial(robustness, ["3a"]),
        functools.partial(rivals, ["lag-5"], ["gru"]),
        functools.partial(mad, ["memorising"]),
        functools.partial(zoo, "gru", ["lag-5"]),
    ):
        with pytest.raises(InputError, match="cannot write to"):
            study(folder=file, profile="smoke")
