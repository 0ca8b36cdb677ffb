"""The exact loss: against basis inputs, against the float64 reference, against sampling; and
when it is refused.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import targets
from headcount.memory.read import Last
from headcount.model.baselines import baselines
from headcount.model.scores import DotProduct
from headcount.model.shape import LayerShape
from headcount.model.spec import ModelSpec
from headcount.train.population import (
    check_population,
    gap,
    kernel,
    lag_errors,
    lags_read,
    population_loss,
    target_variance,
    variance_of,
)
from headcount.train.run import train
from headcount.train.run_plan import shape_key
from headcount.train.run_spec import RunSpec

LENGTH = 24
LINEAR = ModelSpec(heads=3, width=5, head_dim=2, attention="dp-free", ffn="none", bias="log1p")


def built(spec=LINEAR, dim=1):
    model = spec.build(jax.random.key(1), dim=dim)
    return model.__class__(**{**vars(model), "embedding": _shifted(model.embedding)})


def _shifted(embedding):
    """With an offset, so that the answer has a constant."""
    return embedding.__class__(embedding.weight, embedding.offset + 0.3, embedding.position)


@pytest.mark.parametrize(
    "spec",
    [
        LINEAR,
        LINEAR.model_copy(update={"layers": 2}),
        LINEAR.model_copy(update={"readout": "linear"}),
    ],
)
def test_the_kernel_is_the_answer_to_basis_inputs(spec, x64):
    model = built(spec)
    kappa, constant = jax.jit(lambda: kernel(model, Last(), LENGTH, 1))()
    answer = jax.jit(lambda x: model(x, Last()))
    basis = jnp.eye(LENGTH)[:, :, None]  # [N, N, 1]: input i is 1 at row i
    np.testing.assert_allclose(
        kappa[0, :, 0] + constant, answer(basis)[:, 0, 0], rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(constant, answer(jnp.zeros((1, LENGTH, 1)))[0, 0], rtol=1e-12)


def test_the_targets_kernel_is_its_definition(x64):
    rho, constant = kernel(targets.build("exp-4a").evaluate, Last(), LENGTH, 1)
    assert np.asarray(rho[0, :, 0]) == pytest.approx(
        [(LENGTH - 1 - row) ** -0.5 for row in range(LENGTH - 1)] + [0.0], rel=1e-12
    )
    assert float(constant[0]) == 0.0


@pytest.mark.parametrize(
    "memory",
    ["exp-4b", "fixed:lags=2+5,inputs=uniform", "essential:kernel=power:1.5,inputs=gaussian(d=2)"],
)
def test_the_loss_is_the_mean_over_many_samples(memory, x64):
    target = targets.build(memory)
    model = built(dim=target.dim)

    @jax.jit
    def both(key):
        rest = gap(model, target.evaluate, Last(), LENGTH, target.dim)
        batch = target.sample(key, 20000, LENGTH)
        each = (model(batch.x, Last()) - batch.y)[:, 0, 0] ** 2
        return population_loss(rest, variance_of(target)), batch, each

    exact, batch, each = both(jax.random.key(0))
    each = np.asarray(each)
    assert float(exact) == pytest.approx(each.mean(), abs=5 * each.std() / np.sqrt(len(each)))
    variance = np.asarray(batch.y)[:, 0, 0].var()
    assert target_variance(target, Last(), LENGTH) == pytest.approx(variance, rel=0.1)


def test_errors_by_lag_are_those_of_impulses(x64):
    """An impulse s steps back is answered by kappa(s), and by the weight of the lag where the
    target reads it.
    """
    target, model = targets.build("fixed:lags=2+5+9,readout=linear(weights=2.0+0.0+-1.0)"), built()
    lags = lags_read(target)
    assert lags == (2, 9)  # a lag of weight 0 is not read
    found = jax.jit(
        lambda: lag_errors(gap(model, target.evaluate, Last(), LENGTH, 1), Last(), lags)
    )()
    answer = jax.jit(lambda x: model(x, Last()))
    silent = np.zeros((1, LENGTH, 1))
    for lag, weight, error in zip(lags, (2.0, -1.0), found, strict=True):
        impulse = silent.copy()
        impulse[0, LENGTH - 1 - lag] = 1.0
        kappa = float((answer(impulse) - answer(silent)).item())
        assert float(error) == pytest.approx((kappa - weight) ** 2 / weight**2, rel=1e-9)


@pytest.mark.parametrize("memory", ["exp-4a", "fixed:lags=1+2,readout=product", "pointer-chain"])
def test_other_memories_have_no_errors_by_lag(memory):
    assert lags_read(targets.build(memory)) == ()


def test_a_run_tells_the_error_of_every_lag():
    run = train("fixed:lags=1+3", LINEAR, {"steps": 4, "length": 8, "loss": "population", "log": 2})
    errors = [run.record.final[f"lag_{lag}_error"] for lag in (1, 3)]
    assert len(run.record.metrics["lag_1_error"]) == 2
    rest, _ = jax.jit(lambda: kernel(run.model, Last(), 8, 1))()
    assert errors == pytest.approx(
        [(float(rest[0, 7 - lag, 0]) - 1.0) ** 2 for lag in (1, 3)], rel=1e-4
    )
    assert (
        "lag_1_error"
        not in train(
            "fixed:lags=1+3", LINEAR, {"steps": 2, "length": 8, "loss": "squared", "log": 1}
        ).record.final
    )


def test_refused_with_all_the_reasons():
    with pytest.raises(InputError) as caught:
        spec = ModelSpec(width=4, norm="post-ln", readout="linear")
        check_population(
            targets.build("fixed:lags=1,readout=product,inputs=ar1(phi=0.5),read=all"),
            spec.build(jax.random.key(0), dim=1),
            8,
            10,
        )
    for words in (
        "readout is product",
        "ar1",
        "more than one position",
        "is dot",
        "is relu",
        "layer 1 has a norm",
        "final norm",
        "10 samples",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("prop42", "no fixed or essential"),
        ("adaptive-boolean", "no fixed or essential"),
        ("parity:lags=2", "not linear"),
    ],
)
def test_other_memories_are_refused(memory, words):
    target = targets.build(memory)
    with pytest.raises(InputError, match=words):
        check_population(target, LINEAR.build(jax.random.key(0), dim=target.dim), 128, 0)


def test_bare_heads_are_linear_and_train_on_the_exact_loss():
    model = {"kind": "heads", "heads": 4, "bias": {"kind": "lin", "positive": "softplus"}}
    spec = RunSpec(
        memory="exp-4a",
        model=model,
        train={"steps": 40, "length": LENGTH, "loss": "population", "log": 2},
    )
    assert RunSpec.from_values(spec.to_plain()).content_hash == spec.content_hash
    assert shape_key(spec) == shape_key(spec.model_copy(update={"seed": 1}))
    record = train(spec.target(), spec.model, spec.train, spec.seed).record
    first, last = record.metrics["train_loss"]
    assert 0 < last < first


def test_bare_heads_with_a_dot_product_are_refused():
    model = baselines.build("heads", 1, None, 1, jax.random.key(0))
    shape = LayerShape(width=1, heads=1, value_dim=1, query_dim=1, hidden=0, outputs=1)
    model = eqx.tree_at(
        lambda m: m.attention.score, model, DotProduct.init(shape, jax.random.key(1))
    )
    with pytest.raises(InputError, match="the attention is dot, not dp-free"):
        check_population(targets.build("exp-4a"), model, 16, 0)


def test_a_recurrent_network_is_refused():
    model = baselines.build("gru:width=4", 1, None, 1, jax.random.key(0))
    with pytest.raises(InputError, match="GRU, no Transformer"):
        check_population(targets.build("exp-4a"), model, 16, 0)
