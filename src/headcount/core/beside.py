"""Work beside other work: a function on a thread of its own, its answer when it is wanted.

>>> total = Beside(sum, [1, 2, 3])
>>> total.answer()
6

It pays where either side leaves Python (matrix products, trees, compilation, files). Nothing waits
for a thread whose answer is no longer wanted, not even the end of the process.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

QUICK_TURNS = (
    5e-5  # seconds; with Python's own 5e-3 every matrix product waits that long for its turn
)


class Beside(Generic[T]):
    """`work(*arguments)`, begun at once."""

    def __init__(self, work: Callable[..., T], *arguments: Any) -> None:
        self._made: T
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work, arguments), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        try:
            self._made = work(*arguments)
        except BaseException as error:  # raised where the answer is asked for
            self._failed = error

    def answer(self) -> T:
        """What the function returned, once it has; what it raised is raised here."""
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._made


@contextlib.contextmanager
def quick_turns() -> Iterator[None]:
    """Inside the block threads change places often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(QUICK_TURNS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
