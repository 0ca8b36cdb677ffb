"""The fewest heads that do: count up, then bisect.

    fewest(attempt, reaches, doubling(64))

Fits are searches, so that more heads may by accident be worse: what is returned has been tried and
reaches, and the largest smaller number that was tried does not.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Fewest(Generic[T]):
    """The answer with the fewest heads that reaches, or None, and every answer by the number of
    heads that was asked for.
    """

    found: T | None
    tried: dict[int, T]


def fewest(
    attempt: Callable[[int], T],
    reaches: Callable[[T], bool],
    counts: Iterable[int],
    used: Callable[[T], int] | None = None,
) -> Fewest[T]:
    """Ask for each of the ascending `counts` until one reaches, then bisect down to the last that
    did not. `used` says how many heads an answer has, where that may be fewer than were asked for.
    """
    tried: dict[int, T] = {}
    low, found = None, None
    for high in counts:
        low = high - 1 if low is None else low
        tried[high] = attempt(high)
        if reaches(tried[high]):
            found = tried[high]
            break
        low = high
    if found is None or low is None:
        return Fewest(None, tried)
    high = _at_most(high, found, low, used)
    while high - low > 1:
        middle = (low + high) // 2
        tried[middle] = attempt(middle)
        if reaches(tried[middle]):
            found = tried[middle]
            high = _at_most(middle, found, low, used)
        else:
            low = middle
    return Fewest(found, tried)


def _at_most(asked: int, found: T, low: int, used: Callable[[T], int] | None) -> int:
    return asked if used is None else min(asked, max(used(found), low + 1))


def doubling(most: int) -> Iterator[int]:
    """1, 2, 4, …, most."""
    count = 1
    while count < most:
        yield count
        count *= 2
    yield most
