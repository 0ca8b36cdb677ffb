import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.selective_copy import SelectiveCopy


def test_asking_early_and_too_often_by_hand():
    # content {0,1}, noise 2, asking 3: asked once before any content, then for the second and third
    # item
    x = jnp.array([[3, 1, 2, 0, 3, 3, 1]])
    assert SelectiveCopy(items=1, symbols=2).evaluate(x).tolist() == [[-1, -1, -1, -1, 0, -1, -1]]


@pytest.mark.parametrize("length", [8, 9, 50])
def test_answers_spell_the_content_in_order(length, draw):
    target = SelectiveCopy(items=4, symbols=5)
    x, y, mask = (np.asarray(a) for a in draw(target, 30, length))
    for row, labels, counted in zip(x, y, mask, strict=True):
        content = row[row < 5]
        assert len(content) == 4
        assert labels[counted].tolist() == content.tolist()
        assert counted[-4:].all()
        assert not counted[:-4].any()
        assert set(row[row >= 5]) <= {target.noise, target.ask}


def test_refusals():
    with pytest.raises(InputError, match="0 items"):
        SelectiveCopy(items=0)
