"""Whole runs: they learn, they repeat to the bit whatever their company, and bad endings are
results.
"""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import headcount as hc
from headcount.core.errors import InputError
from headcount.train.run import train, train_group
from headcount.train.run_spec import RunSpec, TrainSpec

MODEL = {"heads": 2, "width": 8, "hidden": 16, "attention": "dp-free", "bias": "lin"}
SHORT = {"steps": 60, "batch": 16, "length": 8, "log": 4, "lr": 0.01, "evaluation": {"batches": 2}}
CLAIMED = ("outcome", "step", "sentence", "metrics", "final")


def spec_of(seed=0, lr=0.01, memory="fixed:lags=1"):
    return RunSpec(memory=memory, model=MODEL, train={**SHORT, "lr": lr}, seed=seed)


def claimed(record):
    """What must not change from run to run."""
    return {name: record.to_json()[name] for name in CLAIMED}


@pytest.fixture(scope="module")
def alone():
    """Each run by itself."""
    specs = [spec_of(seed, lr) for seed, lr in itertools.product((0, 1), (0.01, 0.003))]
    return {
        spec.content_hash: (spec, train(spec.target(), spec.model, spec.train, spec.seed))
        for spec in specs
    }


def test_it_learns(alone):
    for _, run in alone.values():
        losses = run.record.metrics["eval_loss"]
        assert run.record.outcome == "finished"
        assert losses[-1] < 0.8 * losses[0]
        assert run.record.final["eval_loss"] == losses[-1]
        assert run.record.metrics["step"] == [15, 30, 45, 60]
        assert run.record.peak_memory_bytes > 10**7
        assert run.record.program_memory_bytes > 1000
        assert run.record.versions["jax"] == jax.__version__


def test_the_reported_loss_is_that_of_the_returned_weights(alone):
    spec, run = next(iter(alone.values()))
    key = hc.Seeds(spec.seed).data("test")
    sample = jax.jit(lambda key: spec.target().sample(key, 16, 8))
    answer = jax.jit(lambda x: run.model(x, hc.Last()))
    batches = [sample(jax.random.fold_in(key, i)) for i in range(2)]
    losses = [float(((answer(batch.x) - batch.y) ** 2).mean()) for batch in batches]
    assert run.record.final["eval_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    variance = np.concatenate([batch.y for batch in batches]).var()
    assert run.record.final["relative_loss"] == pytest.approx(np.mean(losses) / variance, rel=1e-5)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1), (2,), (1, 1, 0)])
def test_bits_do_not_depend_on_the_company(alone, order):
    every = list(alone.values())
    for spec, record in train_group([every[i][0] for i in order]):
        assert claimed(record) == claimed(alone[spec.content_hash][1].record)
        assert record.seconds["compile"] == 0


def test_seed_and_rate_matter(alone):
    assert len({run.record.final["eval_loss"] for _, run in alone.values()}) == 4


def test_another_process_gives_the_same_bits(alone):
    import json
    import subprocess
    import sys

    spec, run = next(iter(alone.values()))
    code = (
        "import json, sys; from headcount.train.run import train_group;"
        " from headcount.train.run_spec import RunSpec\n"
        "spec = RunSpec.from_values(json.loads(sys.argv[1]));"
        " print(json.dumps(next(train_group([spec]))[1].to_json()))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, hc.canonical_json(spec)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert {name: json.loads(done.stdout)[name] for name in CLAIMED} == claimed(run.record)


def test_a_group_has_one_shape():
    with pytest.raises(hc.InputError, match="2 shapes"):
        list(train_group([spec_of(), spec_of(memory="fixed:lags=2")]))


def test_one_step_is_one_step_of_optax():
    """Against the plain loop that one would write: sample, gradient, Adam."""
    import optax

    spec = spec_of()
    run = train(spec.target(), spec.model, TrainSpec(**{**SHORT, "steps": 3, "log": 3}), seed=5)
    seeds, target = hc.Seeds(5), spec.target()
    model = spec.model.build(seeds.init(), dim=1)
    adam = optax.adam(0.01)
    state = adam.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def stepped(model, state, key):
        batch = target.sample(key, 16, 8)
        loss, grads = eqx.filter_value_and_grad(
            lambda m: ((m(batch.x, hc.Last()) - batch.y) ** 2).mean()
        )(model)
        updates, state = adam.update(grads, state)
        return loss, eqx.apply_updates(model, updates), state

    for step in range(3):
        loss, model, state = stepped(model, state, jax.random.fold_in(seeds.data("train"), step))
        assert run.record.metrics["train_loss"][step] == pytest.approx(float(loss), rel=1e-4)
    for ours, theirs in zip(jax.tree.leaves(run.model), jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize(("lr", "limit"), [(1e12, 1e8), (3.0, 2.0)])
def test_divergence_is_an_outcome(lr, limit):
    run = train("fixed:lags=1", MODEL, {**SHORT, "lr": lr, "limit": limit})
    record = run.record
    assert record.outcome == "diverged"
    assert 1 < record.step <= 60
    assert record.sentence.startswith(f"diverged at step {record.step}")
    assert record.final == {}
    assert all(step < record.step for step in record.metrics["step"])
    assert all(np.isfinite(values).all() for values in record.metrics.values())
    # the weights before the bad step
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(run.model))


def test_finite_data_are_used_in_whole_epochs_and_overfitted():
    run = train("fixed:lags=1+2,readout=teacher,inputs=gaussian", {**MODEL, "hidden": 64}, {
        **SHORT, "steps": 0, "lr": 0.02, "data": {"samples": 20, "epochs": 200, "validation": 0.2},
    })  # fmt: skip
    assert run.record.metrics["step"][-1] == 200  # 16 for training: one batch an epoch
    assert run.record.final["train_loss"] < 0.5 * run.record.final["eval_loss"]
    assert len(run.record.metrics["validation_loss"]) == 4


def test_early_stopping_returns_the_best_weights():
    data = {"samples": 20, "validation": 0.4, "patience": 3}
    values = {**SHORT, "steps": 4000, "log": 80, "lr": 0.03, "data": data}
    run = train("fixed:lags=1+2,readout=teacher,inputs=gaussian", {**MODEL, "hidden": 64}, values)
    record = run.record
    assert record.outcome == "stopped-early"
    validation = record.metrics["validation_loss"]
    assert record.step == record.metrics["step"][-1] < 4000
    assert int(np.argmin(validation)) == len(validation) - 1 - 3
    assert record.final["validation_loss"] == min(validation)
    assert "stopped early" in record.sentence
    other = train(
        "fixed:lags=1+2,readout=teacher,inputs=gaussian",
        {**MODEL, "hidden": 64},
        {**values, "steps": record.step, "log": 80},
    )
    assert (
        other.record.final["validation_loss"] != record.final["validation_loss"]
        or other.record.outcome == "stopped-early"
    )


def test_labels_masks_and_accuracy():
    run = train(
        "recall:pairs=2,symbols=3",
        {"layers": 2, "heads": 2, "width": 8, "readout": "linear"},
        {**SHORT, "length": 9},
    )
    assert set(run.record.metrics) == {"step", "train_loss", "eval_loss", "accuracy"}
    assert 0 < run.record.final["accuracy"] <= 1
    assert run.record.final["eval_loss"] < np.log(6) * 1.2


TEXT = {"heads": 2, "width": 8, "bias": "table:window=64", "norm": "pre-ln", "readout": "linear"}


@pytest.mark.slow
def test_on_text_repeats_of_a_context_are_told_apart():
    memory, recipe = "stdlib:megabytes=0.2", {**SHORT, "length": 32, "steps": 20, "batch": 8}
    run = train(memory, TEXT, recipe, seed=3)
    final = run.record.final
    shares = final["repeat_share"], final["novel_share"]
    assert sum(shares) == 1
    assert 0 < shares[0] < 0.5
    mixed = shares[0] * final["repeat_loss"] + shares[1] * final["novel_loss"]
    assert mixed == pytest.approx(final["eval_loss"], rel=1e-5)
    assert len(run.record.metrics["repeat_loss"]) == len(run.record.metrics["step"])
    assert claimed(train(memory, TEXT, recipe, seed=3).record) == claimed(run.record)
    # windows of 6 bytes have no context that could come back
    short = train(memory, TEXT, {**SHORT, "length": 6}).record.final
    assert short["repeat_share"] == 0
    assert "repeat_loss" not in short
    assert short["novel_loss"] == pytest.approx(short["eval_loss"], rel=1e-6)


def test_a_baseline_and_a_model_with_weights(alone):
    assert train("fixed:lags=1", "gru:width=4", SHORT).record.outcome == "finished"
    _, run = next(iter(alone.values()))
    again = train("fixed:lags=1", run.model, SHORT, seed=9)
    assert again.record.metrics["eval_loss"][-1] < run.record.metrics["eval_loss"][0]


def test_the_users_own_arrays_and_function():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 8, 1))
    run = train(
        (x, x[:, -2, 0]), MODEL, {**SHORT, "length": 0, "steps": 300, "data": {"test": 0.1}}
    )
    assert run.record.final["relative_loss"] < 0.5

    def sample(key, batch, length):
        x = jax.random.normal(key, (batch, length, 1))
        return x, x[:, -2:-1]

    assert train(sample, MODEL, {**SHORT, "steps": 300}).record.final["relative_loss"] < 0.5


def test_the_exact_loss_needs_no_sample_and_finds_the_kernel():
    linear = {"heads": 1, "width": 2, "attention": "dp-free", "ffn": "none"}
    run = train(
        "essential:kernel=exp:0.5",
        linear,
        {"steps": 400, "length": 30, "loss": "population", "lr": 0.03, "log": 2},
    )
    assert run.record.final["eval_loss"] < 1e-3
    assert run.record.final["relative_loss"] < 1e-3
    sampled = train(
        "essential:kernel=exp:0.5",
        run.model,
        {"steps": 1, "lr": 1e-30, "length": 30, "evaluation": {"batches": 50}},
    )
    assert sampled.record.final["eval_loss"] == pytest.approx(
        run.record.final["eval_loss"], rel=0.2
    )


def test_evaluation_on_longer_sequences():
    linear = {"heads": 1, "width": 2, "attention": "dp-free", "ffn": "none"}
    values = {"steps": 20, "length": 10, "loss": "population", "log": 1}
    short, long = (
        train("exp-4a", linear, {**values, "evaluation": {"length": n}}).record for n in (10, 40)
    )
    assert short.metrics["train_loss"] == long.metrics["train_loss"]
    assert long.final["eval_loss"] > short.final["eval_loss"] + 0.5


def test_bfloat16_computes_coarsely_and_keeps_float32_weights():
    exact, half = (
        train("fixed:lags=1", MODEL, {**SHORT, "precision": p}) for p in ("float32", "bfloat16")
    )
    assert jax.tree.leaves(half.model)[0].dtype == jnp.float32
    fine, coarse = (run.record.final["eval_loss"] for run in (exact, half))
    assert fine != coarse
    assert coarse == pytest.approx(fine, rel=0.1)


def test_an_exact_loss_is_not_computed_in_bfloat16():
    with pytest.raises(InputError, match="bfloat16"):
        train("exp-4b", MODEL, {**SHORT, "loss": "population", "precision": "bfloat16"})


def test_float64_is_more_precise():
    coarse, fine = (
        train("fixed:lags=1", MODEL, {**SHORT, "precision": p}) for p in ("float32", "float64")
    )
    assert jax.tree.leaves(fine.model)[0].dtype == jnp.float64
    assert fine.record.metrics["train_loss"] != coarse.record.metrics["train_loss"]
    assert fine.record.metrics["train_loss"][0] == pytest.approx(
        coarse.record.metrics["train_loss"][0], rel=0.9
    )


@pytest.mark.parametrize(
    ("target", "model", "words"),
    [
        ("fixed:lags=1,inputs=gaussian(d=2)", "built", "as the target has"),
        ("recall", "built", "as the target has"),
        ("nothing", MODEL, "unknown memory"),
        ("fixed:lags=1", {"hedas": 1}, "nearest: 'heads'"),
        ("fixed:lags=1", 3, "model 3"),
    ],
)
def test_what_does_not_fit_is_refused(target, model, words):
    given = hc.ModelSpec(**MODEL).build(jax.random.key(0), dim=1) if model == "built" else model
    with pytest.raises(hc.InputError, match=words):
        train(target, given, {**SHORT, "length": 24})


def test_the_record_is_plain(alone):
    import json

    record = next(iter(alone.values()))[1].record
    again = json.loads(json.dumps(record.to_json(), allow_nan=False))
    assert set(again) == {field.name for field in dataclasses.fields(record)}
    assert hc.train is not None
    assert callable(hc.train)
