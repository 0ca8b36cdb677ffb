"""What a training run would take, from shapes alone: refused before anything is drawn or compiled.

Only what is sure to be held is counted: weights with their gradients and moments, the data, and the
stream where a layer needs it at every position.
"""

import math
from typing import Any

import jax

from headcount.core.registry import PartSpec
from headcount.core.sizes import TRAINING_MINUTES, require_memory, require_time
from headcount.model.spec import ModelSpec
from headcount.train.run_spec import Loss, TrainSpec

BYTES = {"float32": 4, "float64": 8}
COPIES = 4  # weights, gradients and two moments
LAYER_SECONDS, LAYER_BYTES = 1.0, 20e6  # of compiling; measured: 1.8 to 2.5 s and 26 MB
STEP_SECONDS = 5e-6  # of the smallest step
SPEED = 1e13  # operations per second: beyond any one processor
POINT_BYTES = 200  # a logged point: its step as a Python number, its metrics


def check_data(spec: TrainSpec, length: int, dim: int, samples: int, points: int) -> None:
    """Data that is held at once: a finite set, a batch with its answers, all test batches."""
    require_memory(points * POINT_BYTES, f"{points} log points", "log fewer points")
    if spec.loss is Loss.POPULATION:
        return
    token = max(dim, 1) * BYTES[spec.kept_in]
    tests = spec.evaluation
    sequences = {
        f"{samples} samples": samples * length,
        f"a batch of {spec.batch} sequences": spec.batch * length,
        f"{tests.batches} test batches": (
            tests.batches * (tests.batch or spec.batch) * (tests.length or length)
        ),
    }
    for what, tokens in sequences.items():
        require_memory(
            tokens * token, f"{what} of {length} tokens", "ask for fewer or shorter ones"
        )


def check_layers(recipe: ModelSpec | PartSpec) -> None:
    """Every layer is compiled by itself: before even the shapes of thousands are worked out."""
    layers = recipe.layers if isinstance(recipe, ModelSpec) else recipe.options.get("layers", 1)
    what = f"compiling {layers} layers"
    require_time(layers * LAYER_SECONDS, what, "use fewer layers")
    require_memory(layers * LAYER_BYTES, what, "use fewer layers")


def check_weights(skeleton: Any) -> int:
    """The numbers of the weights; refused where they and their gradients do not fit."""
    leaves = [leaf for leaf in jax.tree.leaves(skeleton) if hasattr(leaf, "shape")]
    count = sum(math.prod(leaf.shape) for leaf in leaves)
    held = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
    require_memory(COPIES * held, f"a model of {count:.3g} weights", "use a smaller model")
    return count


def check_run(recipe: Any, spec: TrainSpec, weights: int, steps: int, length: int) -> None:
    """What depends on model and data together: the stream of all layers but the last, and the time
    of all steps.
    """
    exact = spec.loss is Loss.POPULATION
    batch = 1 if exact else spec.batch
    if isinstance(recipe, ModelSpec) and not exact:
        stream = batch * length * recipe.width * BYTES[spec.kept_in]
        require_memory(
            (recipe.layers - 1) * stream,
            f"the stream of {recipe.layers} layers for {batch} sequences of {length} tokens",
            "use smaller batches or fewer layers",
        )
    seconds = steps * max(STEP_SECONDS, 6.0 * weights * batch / SPEED)
    require_time(
        seconds, f"{steps} steps on {batch} sequences", "train for fewer steps", TRAINING_MINUTES
    )
