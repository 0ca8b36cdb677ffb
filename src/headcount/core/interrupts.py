"""^C at a place of our own choosing.

Python raises KeyboardInterrupt between any two instructions, also inside the locks of its own
library (a queue that is waited on can be left broken: "release unlocked lock"). Inside `held_back`
^C is remembered instead, and raised where `check` is called.

    >>> with held_back() as check:
    ...     check()  # nobody pressed anything
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """`check()` raises the KeyboardInterrupt that came since the beginning, as does the end of the
    block. Nothing changes beside the main thread, or where somebody else handles ^C.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    came: list[int] = []

    def remember(number: int, frame: Any) -> None:
        came.append(number)

    def check() -> None:
        if came:
            came.clear()
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, remember)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    check()
