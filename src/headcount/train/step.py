"""The training step, and the whole run around it as one compiled program.

    outer scan over log points { inner loop over steps { step }; evaluate; keep the best }

The inner loop ends early when the loss is not finite or above the limit (the weights before that
step are kept) or when the validation loss has not fallen for `patience` log points. Nothing returns
to Python before the run is over.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from headcount.core.bits import fold
from headcount.memory.target import Batch
from headcount.train.losses import Sums, mean_loss, measured
from headcount.train.optimiser import Numbers, optimiser, rate
from headcount.train.population import gap, lag_errors, population_loss, variance_of
from headcount.train.run_plan import Plan
from headcount.train.run_spec import Loss
from headcount.train.splits import Splits

Params = Any  # the trainable arrays of a model
Answers = Callable[[Params, jax.Array], jax.Array]  # weights and sequences → [B, R, o]


class Keys(NamedTuple):
    """Streams of random numbers that never meet."""

    data: jax.Array
    shuffle: jax.Array


class State(NamedTuple):
    """What a step changes."""

    step: jax.Array  # steps done
    params: Params
    moments: optax.OptState
    order: jax.Array  # [samples] rows of this epoch; empty for fresh data
    alive: jax.Array  # False: diverged, or stopped early
    diverged: jax.Array  # the step that did, or 0
    total: jax.Array  # losses since the last log point
    best: jax.Array  # smallest validation loss
    best_params: Params
    waited: jax.Array  # log points since then


class Row(NamedTuple):
    """What a log point says."""

    step: jax.Array
    train_loss: jax.Array
    eval_loss: jax.Array
    accuracy: jax.Array
    validation_loss: jax.Array
    lag_errors: jax.Array  # [M] of `plan.lags`
    slice_losses: jax.Array  # [S] of `plan.slices`


def step(
    plan: Plan, answers: Answers, numbers: Numbers, keys: Keys, splits: Splits, state: State
) -> State:
    """One step: data, loss, gradient, update; none from a loss that is not finite or too large."""
    batch, order = next_batch(plan, keys, splits, state)  # [B, N, d], [B, R, o]
    loss, grads = jax.value_and_grad(lambda params: objective(plan, answers, params, batch))(
        state.params
    )
    fine = jnp.isfinite(loss) & (loss <= numbers.limit)
    lr = rate(plan.schedule, numbers, state.step)
    updates, moments = optimiser(plan.optimiser, numbers, lr).update(
        grads, state.moments, state.params
    )
    return state._replace(
        step=state.step + fine,
        params=jax.tree.map(
            lambda weight, update: jnp.where(fine, weight + update, weight), state.params, updates
        ),
        moments=moments,
        order=order,
        alive=fine,
        diverged=jnp.where(fine, 0, state.step + 1),
        total=state.total + loss,
    )


def objective(plan: Plan, answers: Answers, params: Params, batch: Batch | None) -> jax.Array:
    """The loss that is minimised: of a batch, or of the whole law."""
    if batch is None:
        return expected(plan, answers, params, plan.length)[0]
    return mean_loss(plan.loss, answers(params, batch.x), batch)


def expected(
    plan: Plan, answers: Answers, params: Params, length: int
) -> tuple[jax.Array, jax.Array]:
    """The population loss on sequences of some length, and what is left of each lag that the
    target reads.
    """
    source = plan.source
    between = gap(lambda x, _: answers(params, x), source.evaluate, plan.read, length, source.dim)  # type: ignore[union-attr]
    return population_loss(between, variance_of(source)), lag_errors(between, plan.read, plan.lags)


def next_batch(
    plan: Plan, keys: Keys, splits: Splits, state: State
) -> tuple[Batch | None, jax.Array]:
    """Fresh sequences from the step's own key, or the next rows of the epoch's order."""
    if plan.loss is Loss.POPULATION:
        return None, state.order
    if splits.train is None:
        return plan.source.sample(fold(keys.data, state.step), plan.batch, plan.length), state.order  # type: ignore[union-attr]
    epoch, place = state.step // plan.epoch, state.step % plan.epoch
    order = jax.lax.cond(
        place == 0,
        lambda: jax.random.permutation(fold(keys.shuffle, epoch), plan.samples).astype(jnp.int32),
        lambda: state.order,
    )
    rows = jax.lax.dynamic_slice(order, (place * plan.batch,), (plan.batch,))
    return jax.tree.map(lambda array: array[rows], splits.train), order


def evaluate(
    plan: Plan, answers: Answers, params: Params, batches: Batch, slices: tuple[jax.Array, ...] = ()
) -> list[Sums]:
    """Means over [batches, B, …] sequences, first of all reads, then of each slice of them;
    `reads` is their number.
    """

    def add(
        sums: list[Sums], given: tuple[Batch, tuple[jax.Array, ...]]
    ) -> tuple[list[Sums], None]:
        batch, masks = given
        answer = answers(params, batch.x)
        found = [
            measured(plan.loss, answer, batch._replace(mask=mask)) for mask in (batch.mask, *masks)
        ]
        return jax.tree.map(jnp.add, sums, found), None

    zero = jnp.zeros((), plan.precision)
    none = [Sums(zero, zero, zero)] * (1 + len(slices))
    sums, _ = jax.lax.scan(add, none, (batches, slices))
    return [each.means() for each in sums]


def log_point(
    plan: Plan, answers: Answers, numbers: Numbers, splits: Splits, state: State, since: jax.Array
) -> tuple[State, Row]:
    """Evaluate, and keep the weights with the smallest validation loss."""
    zero, by_lag = jnp.zeros((), plan.precision), jnp.zeros(len(plan.lags), plan.precision)
    parts: list[Sums] = []
    if splits.test is not None:
        test, *parts = evaluate(plan, answers, state.params, splits.test, splits.slices)
    else:  # nothing was drawn: the expectation is exact
        loss, by_lag = expected(plan, answers, state.params, plan.test.length)
        test = Sums(loss, zero, zero)
    row = Row(
        state.step,
        state.total / jnp.maximum(state.step - since, 1),
        test.loss,
        test.right,
        zero,
        by_lag,
        jnp.array([part.loss for part in parts], plan.precision),
    )
    if splits.validation is None:
        return state, row
    loss = evaluate(plan, answers, state.params, splits.validation)[0].loss
    better = loss < state.best
    waited = jnp.where(better, 0, state.waited + 1)
    best_params = jax.tree.map(
        lambda new, old: jnp.where(better, new, old), state.params, state.best_params
    )
    patient = (numbers.patience == 0) | (waited < numbers.patience)
    state = state._replace(
        best=jnp.where(better, loss, state.best),
        best_params=best_params,
        waited=waited,
        alive=state.alive & patient,
    )
    return state, row._replace(validation_loss=loss)


def start(plan: Plan, numbers: Numbers, params: Params) -> State:
    """The state before the first step. Without a validation split there is no second set of
    weights to carry.
    """
    zero, none = jnp.zeros((), plan.precision), jnp.zeros((), jnp.int32)
    moments = optimiser(plan.optimiser, numbers, zero).init(params)
    order = jnp.zeros(plan.samples, jnp.int32)
    best = params if plan.validation else None
    return State(
        none, params, moments, order, jnp.array(True), none, zero, zero + jnp.inf, best, none
    )


def whole_run(
    plan: Plan, answers: Answers, params: Params, numbers: Numbers, keys: Keys, splits: Splits
) -> tuple[Params, Row, jax.Array]:
    """Weights (the best ones where patience was asked for), log rows [points], the step that
    diverged or 0.
    """

    def to_stop(state: State, stop: jax.Array) -> tuple[State, Row]:
        since = state.step
        state = jax.lax.while_loop(
            lambda s: s.alive & (s.step < stop),
            lambda s: step(plan, answers, numbers, keys, splits, s),
            state._replace(total=jnp.zeros_like(state.total)),
        )
        zero = jnp.zeros((), plan.precision)
        by_lag, by_slice = (jnp.zeros(len(of), plan.precision) for of in (plan.lags, plan.slices))
        skipped = Row(state.step, zero, zero, zero, zero, by_lag, by_slice)
        reached = state.step == stop
        return jax.lax.cond(
            reached,
            lambda s: log_point(plan, answers, numbers, splits, s, since),
            lambda s: (s, skipped),
            state,
        )

    state, rows = jax.lax.scan(to_stop, start(plan, numbers, params), jnp.asarray(numbers.stops))
    params = state.params
    if plan.validation:
        chosen = numbers.patience > 0
        params = jax.tree.map(
            lambda best, last: jnp.where(chosen, best, last), state.best_params, params
        )
    return params, rows, state.diverged
