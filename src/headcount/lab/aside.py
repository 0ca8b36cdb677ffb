"""Work that needs no training (floors, rates, errata, figures), in processes of its own beside
the main one, one a core.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from headcount.lab.local import cores


class Aside:
    """A pool that is ended with its block, whatever happens. Functions and arguments are
    pickled: pass those of modules.
    """

    def __enter__(self) -> "Aside":
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            cores(), context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
        )
        return self

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Begin a call; processes start with the first."""
        return self._pool.submit(function, *arguments)

    def map(self, function: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """Results in order."""
        return self._pool.map(function, values)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:  # ^C or an error: nobody waits for it
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
