"""One BLAS thread where we compute, and the user's own setting again afterwards.

Our matrices are small (a few hundred rows): handing them to several threads costs up to twenty
times the CPU time and saves none.

    with one_thread():
        ...

    @one_thread()
    def fit(...): ...

Calls inside one another cost next to nothing. OpenBLAS has one setting for the whole process: of
several Python threads the first one in sets and restores it (threadpoolctl 3.8 sees to that).
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

_here = threading.local()  # .inside: this Python thread is inside the block already


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Inside the block BLAS runs on one thread."""
    if getattr(_here, "inside", False):
        yield
        return
    _here.inside = True
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _here.inside = False


@functools.cache
def _libraries() -> Any:
    """The BLAS libraries of numpy and scipy, each its own. Finding them takes up to 0.1 s, so that
    it is done once, when both are loaded.
    """
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
