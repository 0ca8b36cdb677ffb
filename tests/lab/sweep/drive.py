"""A sweep of toy runs in a process of its own, to be killed, stopped, starved of disk, or given a
mad clock.

python -m tests.lab.sweep.drive STORE COUNT [seconds=0.05] [workers=2] [log=FILE] [grace=30]
[clock=mad] [file_limit=BYTES] [weights=1]
"""

import json
import resource
import signal
import sys
import time

from headcount.core.errors import HeadcountError
from headcount.lab.sweep import owners
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.local_engine import LocalEngine
from tests.lab.sweep.toy import Toy, plan


def mad_clock():
    """The wall clock jumps by years, back and forth, at every look."""
    real, jumps = time.time, [0.0]

    def jumping():
        jumps[0] = -jumps[0] + 1e8 if jumps[0] <= 0 else -jumps[0]
        return real() + jumps[0]

    time.time = jumping


def main(store, count, **options):
    if options.get("clock") == "mad":
        mad_clock()
    if "grace" in options:
        owners.Watch.__init__.__defaults__ = (float(options["grace"]),)
    if "file_limit" in options:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(options["file_limit"]),) * 2)
    specs = plan(int(count), seconds=float(options.get("seconds", 0.05)))
    runner = Toy(log=options.get("log", ""), weights="weights" in options)
    try:
        done = sweep(
            specs, store, engine=LocalEngine(int(options.get("workers", 2))), runner=runner
        )
    except HeadcountError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(json.dumps(done.to_json()))
    sys.exit(130 if done.interrupted else 0)


if __name__ == "__main__":
    main(*sys.argv[1:3], **dict(word.split("=", 1) for word in sys.argv[3:]))
