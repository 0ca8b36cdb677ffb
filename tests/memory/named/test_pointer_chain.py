import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.pointer_chain import PointerChain
from headcount.memory.read import Last
from headcount.memory.target import targets


def test_three_hops_by_hand():
    # rows 0..6; from row 6: token 1 -> row 4: token 0 -> row 3: token 2 -> row 0: token 1
    x = jnp.array([[1, 0, 0, 2, 0, 2, 1]])
    for hops, label in ((1, 0), (2, 2), (3, 1), (4, -1)):
        assert PointerChain(hops=hops, symbols=3, read=Last()).evaluate(x).tolist() == [[label]]


def test_profile_and_layers():
    profile = targets.build("pointer-chain:hops=2,symbols=6").memory_profile()
    assert (profile.memories, profile.nesting, profile.retrievals, profile.longest_lag) == (
        2,
        1,
        2,
        12,
    )


def test_the_last_position_always_has_an_answer(draw):
    target = PointerChain(hops=3, symbols=4, read=Last())
    assert bool(draw(target, 200, target.shortest).mask.all())


def test_only_lags_of_the_profile_matter(draw):
    target = PointerChain(hops=2, symbols=3, read=Last())
    x = np.asarray(draw(target, 64, 20).x).copy()
    y = np.asarray(target.evaluate(jnp.asarray(x)))
    x[:, : 20 - 1 - target.memory_profile().longest_lag] = 0
    np.testing.assert_array_equal(np.asarray(target.evaluate(jnp.asarray(x))), y)


@pytest.mark.parametrize("options", [{"hops": 0}, {"symbols": 1}])
def test_refusals(options):
    with pytest.raises(InputError, match="at least"):
        PointerChain(**options)
