"""Searches that are remembered, refusals included."""

import pytest

from headcount.construct.draft import Unreachable, remembered


def test_answers_and_refusals_are_kept():
    asked = []

    @remembered
    def search(size, limit=3):
        """Finds sizes up to a limit."""
        asked.append(size)
        if size > limit:
            raise Unreachable(f"size {size}", f"at most {limit}", "ask for less")
        return 10 * size

    assert [search(2), search(2), search(4, limit=5)] == [20, 20, 40]
    for _ in range(2):
        with pytest.raises(Unreachable, match="size 9"):
            search(9)
    assert asked == [2, 4, 9]
    assert search.__doc__ == "Finds sizes up to a limit."
