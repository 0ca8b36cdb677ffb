"""Claims about trained weights: from their own losses, with the range that the memory gives."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import UserArray
from headcount.memory.named import EXAMPLES, targets
from headcount.model.baselines import LinearFilter
from headcount.model.spec import ModelSpec
from headcount.studies.explicit_bounds import (
    MEASURED,
    held_out_losses,
    largest_answer,
    loss_range,
    of_design,
    of_weights,
    useful,
)
from headcount.theory.path_norm import path_norm
from headcount.theory.sample_bounds import hoeffding, lag_samples, path_norm_gap
from headcount.theory.sample_claims import Quantity, Rows, Unit

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
    (lag,) = of_design(target, 64, noise=1.0)  # no head deficit: one table head copies every lag
    assert lag.value == lag_samples(1 / 4, 64).value  # each lag: 1 of 3 + the noise
    assert of_design(targets.build("prop42"), 8, 0.0) == []
    assert of_design(targets.build("fixed:lags=2"), 8, 0.0) == []  # nothing hides it


@dataclasses.dataclass
class Always:
    """Answers one label."""

    outputs: int
    label: int = 0  # of recall: a key, which is no answer

    def __call__(self, x, read):
        answers = np.zeros((len(x), len(read.rows(x.shape[1])), self.outputs))
        answers[..., self.label] = 1
        return answers


def test_sequences_without_a_question_do_not_count_as_right():
    target = targets.build("sticky:of=recall(pairs=3,symbols=4),stay=0.8")
    losses = held_out_losses(Always(target.outputs), target, 16, 400)
    asked = int(np.asarray(target.sample(jax.random.key(78), 400, 16).mask).any(axis=1).sum())
    assert len(losses) == asked < 400
    assert losses.min() == 1.0
    claim = of_weights(Always(target.outputs), target, 16, 400)[0]
    assert (claim.scope.samples, claim.scope.unit) == (asked, Unit.SEQUENCE)
    assert claim.quantity is Quantity.WRONG
    assert claim.measured == 1.0
    assert "sequence that has any" in str(claim)


def test_held_out_claims_are_of_clipped_answers_and_say_so():
    """Answers far outside: their risk is above any bound, that of clipped ones is what is told."""
    target = targets.build("fixed:lags=1")
    wild = LinearFilter(jnp.array([0.0, 9.0]).reshape(2, 1, 1), jnp.zeros(1))
    found = {claim.method: claim for claim in of_weights(wild, target, 8, 300)}
    for method in ("hoeffding", "empirical bernstein"):
        claim = found[method]
        assert claim.quantity is Quantity.CLIPPED_RISK
        assert claim.scope.clip == largest_answer(target) == 1
        assert claim.measured == 0 < claim.value < 64  # 9 x - x has a risk of 64
        assert "answers clipped to ±1" in str(claim)
        assert claim.constant == pytest.approx(1, abs=0.01)
    assert found["path norm"].quantity is Quantity.CLIPPED_GAP
    assert "of clipped answers" in str(found["path norm"])


def test_the_path_norm_grows_with_the_tokens():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (4, 200))
    model = LinearFilter(jnp.array([0.0, 3.0]).reshape(2, 1, 1), jnp.ones(1))
    for scale, norm in ((1.0, 8), (10.0, 62)):
        target = FixedMemory((1,), inputs=UserArray.of(scale * signs))
        claim = of_weights(model, target, 8, 100)[-1]
        assert claim.scope.path_norm == norm == path_norm(model, 8, scale)
        assert f"|x| <= {scale:g} in each coordinate" in str(claim)
        again = path_norm_gap(norm, 100, 8, lipschitz=4 * scale, loss_range=4 * scale**2)
        assert claim.value == pytest.approx(again.value)


def path_claims(text, **options):
    target = targets.build(text)
    return [c for c in of_weights(model(target), target, 8, 160, **options) if "path" in c.method]


def test_a_series_counts_as_proved_where_its_tokens_are_independent_only():
    (windows,) = path_claims("fixed:lags=1+3", independent=False)
    assert windows.scope.rows is Rows.WINDOWS
    assert "overlapping windows of one series of independent tokens" in str(windows)
    (given,) = path_claims("series:of=fixed(lags=1+3)")  # a series without being told
    assert (given.scope.rows, given.scope.samples) == (Rows.WINDOWS, 10)
    lookup = "readout=lookup"
    onehot, chain = "inputs=onehot:2", "inputs=markov(symbols=2)"
    assert path_claims(f"fixed:lags=1,{lookup},{onehot}", independent=False)
    assert path_claims(f"fixed:lags=1,{lookup},{chain}")  # rows are independent
    assert path_claims(f"fixed:lags=1,{lookup},{chain}", independent=False) == []


@pytest.mark.parametrize("text", ["fixed:lags=1+3,read=all", "noisy:of=fixed(lags=1+3),sigma=1"])
def test_no_path_norm_at_several_rows_or_with_noise(text):
    assert path_claims(text) == []
    target = targets.build(text)
    losses = held_out_losses(model(target), target, 8, 2000)
    assert losses.max() <= loss_range(target)  # held out is clean


BOUNDED = {
    *(text for text, _ in EXAMPLES.values()),
    "essential:kernel=exp:2,readout=linear(weights=1+1)",  # uses x_t
    "essential:kernel=window(length=5),readout=linear(weights=2+-1)",
    "essential:kernel=window(length=4)+lag:5,readout=linear(weights=1+-2+1),read=all",
    "fixed:lags=1+3,readout=linear(weights=2+-1+1)",
    "fixed:lags=1+4,readout=product(current=true),inputs=uniform:2",
    "fixed:lags=2+5,readout=parity(current=true),inputs=boolean:3,read=all",
    "fixed:lags=2,readout=triangle:4,inputs=uniform",
    "fixed:lags=1+3,readout=teacher",
    "fixed:lags=1+2,readout=relu-sum,inputs=boolean:2",
    "adaptive:lag_functions=table(lags=2+5+3),inputs=onehot:3,readout=lookup(current=true)",
    "adaptive:lag_functions=bits(first=1)+bits(first=2)+bits(stride=2),nesting=2,readout=teacher",
}


def bounded():
    for text in sorted(BOUNDED):
        try:
            target = targets.build(text)
        except Exception:  # a corpus that is not installed
            continue
        limit = largest_answer(target)
        if limit is not None and target.shortest <= 100:
            yield text, target, limit


def length_of(target):
    return max(target.shortest, getattr(target.read, "position", 24))


def test_no_answer_is_larger_than_the_largest():
    seen = 0
    for text, target, limit in bounded():
        made = target.held_out().sample(jax.random.key(1), 2000, length_of(target))
        assert float(np.abs(np.asarray(made.y)).max()) <= limit * (1 + 1e-5), text
        seen += 1
    assert seen >= 15


@pytest.mark.parametrize("text", ["fixed:lags=1+3,readout=linear(weights=2+-1+1)",
                                  "essential:kernel=exp:2,readout=linear(weights=1+1)",
                                  "essential:kernel=osc:0.3,1"])  # fmt: skip
def test_worst_signs_of_a_linear_memory_reach_the_largest_answer(text):
    """Unit impulses give the coefficients; tokens of their signs the largest answer there is."""
    target, length = targets.build(text), 40
    impulses = np.asarray(target.evaluate(jnp.eye(length)[:, :, None]))[:, -1, 0]
    worst = np.where(impulses < 0, -1.0, 1.0)[None, :, None]
    reached = float(np.asarray(target.evaluate(jnp.asarray(worst, jnp.float32)))[0, -1, 0])
    assert reached == pytest.approx(np.abs(impulses).sum(), rel=1e-4)
    limit = largest_answer(target)
    assert reached <= limit * (1 + 1e-5)
    if "osc" not in text:  # its norm is bounded by that of its envelope
        assert limit == pytest.approx(reached, rel=1e-4)


def test_from_which_size_on_counts_the_sizes_after_it_too():
    def at(n, value, constant=0.4):
        claim = hoeffding(0.0, 100, 1.0)
        return n, dataclasses.replace(claim, value=value, constant=constant)

    bounds = [(None, lag_samples(0.3, 8)), at(30, 0.5), at(100, 1.2), at(300, 0.6), at(1000, 0.3)]
    (use,) = useful(bounds)
    assert (use.method, use.below_range, use.below_constant) == ("hoeffding", 300, 1000)
    assert "from n = 300 on, and below that of the best constant answer from n = 1000" in (
        use.sentence()
    )
    (use,) = useful(bounds[:4])
    assert use.below_constant is None
    assert "at none" in use.sentence()
    (use,) = useful(bounds[:3])
    assert "no more than the range of the loss" in use.sentence()


def test_the_best_constant_answer_is_of_the_same_quantity():
    target = targets.build("recall:pairs=2,symbols=3")
    best = min(
        held_out_losses(Always(target.outputs, label), target, 12, MEASURED, 79).mean()
        for label in range(target.outputs)
    )
    assert of_weights(Always(target.outputs), target, 12, 20)[0].constant == pytest.approx(best)
