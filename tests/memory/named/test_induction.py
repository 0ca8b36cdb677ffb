import jax.numpy as jnp
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.induction import Induction
from headcount.memory.read import At, Everywhere


def test_by_hand_at_every_position():
    x = jnp.array([[2, 0, 2, 2, 1, 0]])
    assert Induction(symbols=3, read=Everywhere()).evaluate(x).tolist() == [[-1, -1, 0, 2, -1, 2]]


@pytest.mark.parametrize("length", [2, 5, 40])
def test_the_read_token_always_stood_before(length, draw):
    batch = draw(Induction(symbols=1000), 100, length)
    assert bool(batch.mask.all())
    assert bool((batch.x[:, :-1] == batch.x[:, -1:]).any(axis=1).all())


def test_another_read_position(draw):
    assert bool(draw(Induction(symbols=1000, read=At(7)), 50, 12).mask.all())
    with pytest.raises(InputError, match="position 1"):
        draw(Induction(read=At(1)), 5, 12)
