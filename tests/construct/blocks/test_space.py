import numpy as np
import pytest

from headcount.construct.blocks.space import Space
from headcount.core.errors import InputError


def test_reading_what_was_written():
    space = Space(token=2, lag=1, memory=2)
    x = space.vector(memory=np.array([3.0, 4.0]), lag=5.0)
    assert space.width == 5
    assert space.read("memory", "lag") @ x == pytest.approx([3.0, 4.0, 5.0])
    assert space.write("memory") @ np.array([3.0, 4.0]) + space.write("lag") @ np.array(
        [5.0]
    ) == pytest.approx(x)
    assert x[space.where("token")].tolist() == [0.0, 0.0]


def test_unknown_or_empty_subspaces_are_refused():
    with pytest.raises(InputError, match="nearest: 'token'"):
        Space(token=1).read("tokn")
    with pytest.raises(InputError, match="size 0"):
        Space(token=0)
