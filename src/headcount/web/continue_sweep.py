"""A process that computes what a store still lacks: `python -m headcount.web.continue_sweep STORE`.

Started by the explorer's button, with `watched`: it then ends, as on ^C, when its standard input is
closed, which is when the explorer ends, in order or killed. The runs are those that the store
knows; their specs are data, and one that reads a file or names a function is refused before
anything runs (`unfinished`).
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headcount.core.errors import HeadcountError, require
from headcount.core.registry import without_files
from headcount.lab.sweep.store import Store
from headcount.web.asked import CLOSED
from headcount.web.sweeps import WATCHED

FUNCTIONS = CLOSED - {"stdlib", "english"}
PLACES = ("path", "file", "corpus")
LAST_SECONDS = 30.0  # from the wish to end until the end, whatever still runs
_PATH = re.compile(r"[/\\~]|\.\s*[A-Za-z_]")


def unfinished(path: Path) -> list[dict[str, Any]]:
    """The plain specs of the runs that are known and not stored."""
    with Store(path, read_only=True) as store:
        stored = store.present()
        specs = [spec for id, spec in store.specs().items() if id not in stored]
    outside = [found for spec in specs for found in _outside(spec)]
    require(
        not outside,
        f"runs with {outside[0]!r}" if outside else "",
        "runs that need nothing outside the store",
        "continue them on the command line",
    )
    require(specs, "a store with nothing left to compute", "unfinished runs", "choose another")
    return specs


def _outside(value: Any) -> Iterator[str]:
    """Whatever in a spec names a file, a folder or a function, at any depth. A text of the package
    itself (stdlib, english) is named without a path.
    """
    if isinstance(value, str) and (value in FUNCTIONS or _PATH.search(value)):
        yield value[:60]
    elif isinstance(value, dict):
        yield from (f"{key} {value[key]}"[:60] for key in PLACES if value.get(key))
        for item in value.values():
            yield from _outside(item)
    elif isinstance(value, list):
        for item in value:
            yield from _outside(item)


def main(store: str) -> int:
    """Until all runs are stored, or somebody asks to stop."""
    from headcount.lab.sweep.driver import sweep
    from headcount.lab.sweep.local_engine import LocalEngine
    from headcount.train.run_spec import RunSpec

    try:
        with without_files():
            specs = [RunSpec.from_values(spec) for spec in unfinished(Path(store))]
            sweep(specs, store, engine=LocalEngine(1))
    except HeadcountError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _end_with_input() -> None:
    """As on ^C when nobody holds our input open any more; then at once."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(LAST_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have come to us ignored
    try:
        if sys.argv[2:] == [WATCHED]:
            threading.Thread(target=_end_with_input, daemon=True).start()
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:  # before the sweep began: it takes them itself
        sys.exit(130)
