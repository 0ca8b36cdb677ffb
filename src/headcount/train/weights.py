"""The weights that training starts from."""

from typing import Any

import equinox as eqx
import jax

from headcount.core.registry import PartSpec
from headcount.core.seeds import Seeds
from headcount.core.spec import content_hash
from headcount.memory.target import AbstractTarget
from headcount.model.base import AbstractModel
from headcount.model.baselines import baselines
from headcount.model.cost import Cost, cost
from headcount.model.spec import ModelSpec
from headcount.train.compiled import Program, compiled
from headcount.train.data import Source
from headcount.train.run_sizes import check_layers
from headcount.train.run_spec import Effort

_INITIALISERS: dict[tuple[Any, ...], Program] = {}


def build(recipe: ModelSpec | PartSpec, source: Source, key: jax.Array) -> AbstractModel:
    """Fresh weights with the source's sizes."""
    if isinstance(recipe, ModelSpec):
        return recipe.build(
            key, dim=source.dim, vocabulary=source.vocabulary, outputs=source.outputs
        )
    return baselines.build(recipe, source.dim, source.vocabulary, source.outputs, key)


def structure(recipe: ModelSpec | PartSpec, source: Source) -> AbstractModel:
    """The model with shapes in place of weights: nothing is computed."""
    check_layers(recipe)
    return eqx.filter_eval_shape(lambda key: build(recipe, source, key), jax.random.key(0))


def cost_of(recipe: ModelSpec | PartSpec, target: AbstractTarget, length: int) -> Cost:
    """What the model costs on sequences of a memory, from shapes alone."""
    found: list[Cost] = []

    def count(key: jax.Array) -> None:
        found.append(cost(build(recipe, target, key), length, target.read))

    check_layers(recipe)
    eqx.filter_eval_shape(count, jax.random.key(0))
    return found[0]


def fresh_model(recipe: ModelSpec | PartSpec, source: Source, seed: int) -> AbstractModel:
    """Random weights from the seed's own stream; compiled, so that they are the same to the bit
    wherever they are made.
    """
    leaves, tree = jax.tree.flatten(structure(recipe, source))
    # the recipe does not say how many tokens there are, nor does the tree: the shapes do
    sizes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    known = (content_hash(recipe), tree, sizes)
    key = Seeds(seed).init()
    if known not in _INITIALISERS:
        _INITIALISERS[known] = compiled(
            lambda key: jax.tree.leaves(build(recipe, source, key)), key, effort=Effort.LOW
        )
    return jax.tree.unflatten(tree, _INITIALISERS[known].call(key))
