import pytest

from headcount.core.errors import InputError
from headcount.memory.named.sparse_boolean import Reading, lags_of
from headcount.memory.target import targets


def test_positions_and_lags_by_hand():
    assert lags_of((48, 56, 99), Reading.POSITIONS, 1000) == (901, 944, 952)
    assert lags_of((48, 56, 99), Reading.LAGS, 1000) == (48, 56, 99)


@pytest.mark.parametrize("name", ["exp-1b", "exp-2a", "exp-2b", "exp-3a"])
def test_the_reading_is_an_option_and_the_position_is_the_read(name):
    paper, other = targets.build(name), targets.build(f"{name}:reading=lags,position=300")
    assert (paper.target.lags[0], paper.read.position) == (901, 1000)
    assert (other.target.lags[-1], other.read.position) == (99, 300)
    assert paper.memory_profile().lags == paper.target.lags


def test_refusals():
    with pytest.raises(InputError, match="more than 99"):
        targets.build("exp-1b:position=99")
    with pytest.raises(InputError, match="reading"):
        targets.build("exp-1b:reading=backwards")
