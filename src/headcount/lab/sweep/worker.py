"""A worker process: `python -m headcount.lab.sweep.worker`, spoken to over its standard input and
output in pickles.

In: the runner, then lists of (id, plain spec). Out: ("ready",), then ("answer", …) as they come and
("end", error) after each list. A thread listens for the next list all the time, so that the worker
notices at once, in the middle of a computation, when the driver is gone, and ends with it: no
orphan goes on computing. ^C is the driver's business.
"""

import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from typing import Any


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints to the log
    incoming = sys.stdin.buffer
    runner = pickle.load(incoming)
    lists: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, lists), daemon=True).start()
    _say(out, ("ready",))
    while True:
        jobs = lists.get()
        try:
            for answer in runner.answers(jobs):
                _say(out, ("answer", answer))
            error = ""
        except Exception:
            error = traceback.format_exc()
        _say(out, ("end", error))


def _listen(incoming: Any, lists: Any) -> None:
    try:
        while True:
            lists.put(pickle.load(incoming))
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(0)


def _say(out: Any, message: Any) -> None:
    try:
        pickle.dump(message, out, protocol=pickle.HIGHEST_PROTOCOL)
        out.flush()
    except OSError:
        os._exit(0)


if __name__ == "__main__":
    main()
