"""A user's own modules as models of the zoo: makers of Equinox or PyTorch modules, trained here.

A maker takes a task and gives a module that maps x (as `task.batches` gives it) to answers
[B, R, o]; Equinox makers take a key as well. Whoever trains on their own passes a function from a
task to a predictor to `zoo` instead.

Worked example: one linear map of the last five tokens learns lag 1, not lag 5.

    >>> import equinox as eqx
    >>> import jax
    >>> from headcount.studies.zoo import zoo
    >>> class Last5(eqx.Module):
    ...     inner: eqx.nn.Linear
    ...     def __call__(self, x):
    ...         return jax.vmap(self.inner)(x[:, -5:, 0])[:, None, :]
    >>> def last_five(task, key):
    ...     return Last5(eqx.nn.Linear(5, 1, key=key))
    >>> profile = zoo(equinox_model(last_five, steps=200, lr=0.03), ["lag-1", "lag-5"])
    >>> [row.reached for row in profile.rows]
    [True, False]
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from headcount.core.errors import InputError
from headcount.studies.collection import MemoryTask
from headcount.studies.zoo import OwnModel, Predictor

DATA_SEED, BATCH = 1, 64


def equinox_model(
    make: Callable[[MemoryTask, jax.Array], Any], steps: int = 1000, lr: float = 3e-3, seed: int = 0
) -> OwnModel:
    """The user's maker of JAX or Equinox modules, as a model of the zoo."""

    def fitted(task: MemoryTask) -> Predictor:
        module = make(task, jax.random.key(seed))
        optimiser = optax.adam(lr)
        state = optimiser.init(eqx.filter(module, eqx.is_inexact_array))

        def loss(module: Any, x: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
            answer = module(x)
            if task.target.labels:
                each = optax.softmax_cross_entropy_with_integer_labels(answer, jnp.maximum(y, 0))
            else:
                each = ((answer - y) ** 2).mean(axis=-1)
            return (each * mask).sum() / jnp.maximum(mask.sum(), 1)

        @eqx.filter_jit
        def step(module: Any, state: Any, batch: Any) -> tuple[Any, Any]:
            grads = eqx.filter_grad(loss)(module, *batch)
            updates, state = optimiser.update(grads, state)
            return eqx.apply_updates(module, updates), state

        batches = task.batches(DATA_SEED, BATCH)
        for _ in range(steps):
            module, state = step(module, state, next(batches))
        return lambda x: np.asarray(module(jnp.asarray(x)))

    fitted.__name__ = getattr(make, "__name__", "equinox model")
    return fitted


def torch_model(make: Callable[[MemoryTask], Any], steps: int = 1000, lr: float = 3e-3) -> OwnModel:
    """The user's `nn.Module` maker as a model of the zoo: modules map x to answers [B, R, o]."""
    try:
        import torch
    except ImportError:
        wanted = ("the extra torch", "pip install torch")
        raise InputError("PyTorch is not installed", *wanted) from None

    def fitted(task: MemoryTask) -> Predictor:
        module = make(task)
        optimiser = torch.optim.Adam(module.parameters(), lr=lr)
        batches = task.batches(DATA_SEED, BATCH)
        for _ in range(steps):
            x, y, mask = (torch.from_numpy(np.array(part)) for part in next(batches))
            answer = module(x)
            if task.target.labels:
                loss = torch.nn.functional.cross_entropy(answer[mask], y[mask].long())
            else:
                loss = ((answer - y)[mask] ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

        def predict(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return module(torch.from_numpy(np.array(x))).numpy()

        return predict

    fitted.__name__ = getattr(make, "__name__", "torch model")
    return fitted
