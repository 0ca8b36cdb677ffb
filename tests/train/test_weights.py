import jax
import pytest

from headcount.memory.named import targets
from headcount.model.spec import ModelSpec
from headcount.train.data import source_of
from headcount.train.run_spec import read_model
from headcount.train.weights import fresh_model, structure


def shapes(tree):
    return [leaf.shape for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("model", [ModelSpec(width=8, readout="linear"), "gru:width=4"])
def test_one_recipe_has_the_sizes_of_each_memory_in_turn(model):
    """The number of tokens is the memory's: weights made for one must not serve another."""
    recipe = read_model(model)
    for symbols in (4, 6, 4):
        source = source_of(targets.build(f"pointer-chain:hops=1,symbols={symbols}"), 8, "float32")
        assert shapes(fresh_model(recipe, source, 0)) == shapes(structure(recipe, source))
