"""From gradients to updates: Optax's parts, with every number traced, so that runs that differ
in them share a program.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib

from headcount.train.run_spec import Method, OptimiserSpec, Shape, TrainSpec


class Numbers(NamedTuple):
    """What may differ between runs of one compiled program: scalars in the run's precision."""

    stops: Any  # [points] int32: log points, the last one is the last step
    lr: Any
    b1: Any
    b2: Any
    eps: Any
    weight_decay: Any
    clip: Any
    warmup: Any
    final: Any
    limit: Any
    patience: Any

    @classmethod
    def of(cls, spec: TrainSpec, stops: tuple[int, ...]) -> "Numbers":
        o, s = spec.optimiser, spec.schedule
        real = (
            spec.lr,
            o.b1,
            o.b2,
            o.eps,
            o.weight_decay,
            o.clip,
            s.warmup,
            s.final,
            spec.limit,
            spec.data.patience,
        )
        return cls(
            np.asarray(stops, np.int32), *(np.asarray(value, spec.kept_in) for value in real)
        )


def rate(shape: Shape, numbers: Numbers, step: jax.Array) -> jax.Array:
    """The learning rate of a step (counted from 0): a linear rise, then from the peak to `final`
    times the peak.
    """
    now, last = step.astype(numbers.lr.dtype), numbers.stops[-1].astype(numbers.lr.dtype)
    rise = jnp.minimum(1.0, (now + 1) / jnp.maximum(numbers.warmup, 1))
    done = jnp.clip((now - numbers.warmup) / jnp.maximum(last - numbers.warmup, 1), 0, 1)
    fall: jax.Array = jnp.ones_like(done)
    if shape is Shape.LINEAR:
        fall = 1 - (1 - numbers.final) * done
    elif shape is Shape.COSINE:
        fall = numbers.final + (1 - numbers.final) * 0.5 * (1 + jnp.cos(math.pi * done))
    elif shape is Shape.EXPONENTIAL:
        fall = jnp.exp(jnp.log(jnp.maximum(numbers.final, 1e-30)) * done)
    elif shape is Shape.INVERSE_SQRT:
        start = jnp.maximum(numbers.warmup, 1)
        fall = jnp.sqrt(start / jnp.maximum(now + 1, start))
    return numbers.lr * rise * fall


def optimiser(spec: OptimiserSpec, numbers: Numbers, lr: jax.Array) -> optax.GradientTransformation:
    """Clip, then the method, then decay, then the learning rate of this step. `spec` gives the
    structure only.
    """
    clip = [optax.clip_by_global_norm(numbers.clip)] if spec.clip > 0 else []
    if spec.method is Method.MUON:
        # -1: a direction, which is scaled by the learning rate below
        method = optax.contrib.muon(-1.0, beta=numbers.b1, adam_b1=0.9, adam_b2=numbers.b2)
    elif spec.method is Method.ADAMW:
        method = optax.scale_by_adam(numbers.b1, numbers.b2, numbers.eps)
    else:
        method = optax.trace(numbers.b1)
    decay = (
        [optax.add_decayed_weights(numbers.weight_decay, mask=_matrices)]
        if spec.weight_decay > 0
        else []
    )
    return optax.chain(*clip, method, *decay, optax.scale(-lr))


def _matrices(params: optax.Params) -> optax.Params:
    return jax.tree.map(lambda weight: weight.ndim >= 2, params)
