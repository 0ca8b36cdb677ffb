"""Work beside other work: a function on a thread of its own, its answer when it is wanted.

>>> total = Beside(sum, [1, 2, 3])
>>> total.answer()
6

It pays where either side leaves Python (matrix products, trees, compilation, files). Nothing waits
for a thread whose answer is no longer wanted, not even the end of the process.

Where both sides hold Python's lock (imports), one of them goes to a process of its own:

>>> other = Apart("math")
>>> other.ask(sum, [1, 2, 3]).answer()
6
"""

import contextlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from headcount.core.children import SAFE_FLAG, asked_path

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


_CHILD = """
import importlib, pickle, sys
sys.path[:], modules = pickle.load(sys.stdin.buffer)
for module in modules:
    importlib.import_module(module)
work, arguments = pickle.load(sys.stdin.buffer)
answer, sys.stdout = sys.stdout.buffer, sys.stderr
pickle.dump(work(*arguments), answer)
"""


class Apart:
    """A process that loads modules at once, and does one piece of work when asked.

    Where no process can be made, or it fails, this one does the work, so that an error is raised
    here with its own words. A process that was interrupted raises an interruption.
    """

    def __init__(self, *modules: str) -> None:
        self._asked = False
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                [sys.executable, SAFE_FLAG, "-c", _CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            self._process = None
            return
        self._send((asked_path(), modules))

    def ask(self, work: Callable[..., T], *arguments: Any) -> Beside[T]:
        """`work(*arguments)`, begun once the modules are loaded; `work` can be imported."""
        self._asked = True
        return Beside(self._answered, work, arguments)

    def leave(self) -> None:
        """End the process, if it has not ended: its answer is no longer wanted."""
        if self._process is not None:
            self._process.kill()
            if not self._asked:  # else its thread sees the end
                self._process.communicate()

    def _answered(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        if self._process is None:
            return work(*arguments)
        self._send((work, arguments))
        answer, _ = self._process.communicate()
        if self._process.returncode < 0:
            raise KeyboardInterrupt
        return work(*arguments) if self._process.returncode else pickle.loads(answer)

    def _send(self, value: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: its code tells
            pickle.dump(value, self._process.stdin)
            self._process.stdin.flush()


@contextlib.contextmanager
def quick_turns() -> Iterator[None]:
    """Inside the block threads change places often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(QUICK_TURNS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
