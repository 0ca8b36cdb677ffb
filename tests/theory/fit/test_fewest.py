"""Counting up and bisecting, on answers that are plain numbers."""

import pytest

from headcount.theory.fit.fewest import doubling, fewest


@pytest.mark.parametrize("needed", range(1, 65))
def test_the_fewest_are_found_in_few_tries(needed):
    found = fewest(lambda heads: heads, lambda heads: heads >= needed, doubling(64))
    assert found.found == needed
    assert len(found.tried) <= 13


def test_none_reaches():
    found = fewest(lambda heads: heads, lambda heads: False, doubling(10))
    assert found.found is None
    assert list(found.tried) == [1, 2, 4, 8, 10]


def test_counts_begin_where_they_are_told_to():
    asked = []

    def attempt(heads):
        asked.append(heads)
        return heads

    found = fewest(attempt, lambda heads: heads >= 11, (7, 8, 9, 11, 15))
    assert found.found == 11
    assert asked == [7, 8, 9, 11, 10]


def test_an_answer_with_fewer_heads_than_asked_saves_tries():
    """Sixteen are asked for, nine used: ten to fifteen need not be tried."""
    found = fewest(lambda heads: min(heads, 9), lambda used: used >= 9, doubling(64), used=int)
    assert found.found == 9
    assert max(heads for heads in found.tried if heads != 16) <= 9


def test_doubling():
    assert list(doubling(1)) == [1]
    assert list(doubling(8)) == [1, 2, 4, 8]
