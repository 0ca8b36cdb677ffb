"""Claims about trained weights: from their own losses, with the range that the memory gives."""

import jax
import numpy as np
import pytest

from headcount.memory.named import targets
from headcount.model.spec import ModelSpec
from headcount.studies.explicit_bounds import (
    held_out_losses,
    largest_answer,
    loss_range,
    of_design,
    of_weights,
)
from headcount.theory.sample_bounds import lag_samples

FREE = {"attention": "dp-free", "bias": "lin", "heads": 1, "width": 4, "hidden": 8}


def model(target, **fields):
    size = {"vocabulary": target.vocabulary} if target.vocabulary else {"dim": target.dim}
    spec = ModelSpec.from_values({**FREE, **fields})
    return spec.build(jax.random.key(0), outputs=target.outputs, **size)


def test_losses_lie_in_the_range():
    for text in ("fixed:lags=1+3", "recall:pairs=2,symbols=3"):
        target = targets.build(text)
        losses = held_out_losses(model(target), target, 12, 50)
        assert losses.shape == (50,)
        assert (losses >= 0).all()
        assert (losses <= loss_range(target)).all()
        assert losses.std() > 0


def test_claims_come_from_the_losses_and_the_path_norm():
    target = targets.build("fixed:lags=1+3")
    found = {claim.method: claim for claim in of_weights(model(target), target, 8, 30)}
    assert set(found) == {"hoeffding", "empirical bernstein", "path norm"}
    losses = held_out_losses(model(target), target, 8, 30)
    assert found["hoeffding"].value > losses.mean()
    assert found["hoeffding"].scope.samples == 30
    assert found["path norm"].scope.loss_range == 4 * largest_answer(target) ** 2
    noisy = of_weights(model(target), target, 8, 30, noise=True)
    assert "path norm" not in {claim.method for claim in noisy}


def test_labels_are_right_or_wrong_and_unbounded_answers_have_no_claim():
    target = targets.build("recall:pairs=2,symbols=3")
    assert {c.method for c in of_weights(model(target), target, 12, 20)} == {
        "hoeffding", "empirical bernstein"
    }  # fmt: skip
    gaussian = targets.build("fixed:lags=1,inputs=gaussian")
    assert of_weights(model(gaussian), gaussian, 8, 20) == []


def test_what_a_design_says_before_training():
    target = targets.build("fixed:lags=2+5+9")
    (lag, deficit) = of_design(target, FREE | {"head_dim": 1}, 64, noise=1.0)
    assert lag.value == lag_samples(1 / 4, 64).value  # each lag: 1 of 3 + the noise
    assert deficit.method == "head deficit"
    assert deficit.value == pytest.approx((16 - 1 - 3 + 1) / 3 - 1)
    assert of_design(targets.build("prop42"), FREE, 8, 0.0) == []
    assert np.isfinite(lag.value)
