"""The long run: chunks of inputs of every sort with a new seed each, one line of JSON per chunk.

    python -m tests.fuzz FILE [SORT=COUNT …]

FILE is appended to: a run that was stopped goes on with the seeds that are not there. A fault is
written down with its smallest input, and the run goes on.
"""

import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.attack import CHANGED, SORTS, Tally, attack, prepare
from tests.fuzz.mutate import Mutator

CHUNK = 2000


def chunk(sort: str, seed: int, count: int) -> dict[str, object]:
    """One chunk in a folder of its own."""
    tally, fault, begun = Tally(), "", time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(prepare(Path(folder)))
        os.chdir(folder)
        try:
            attack(sort, count // (1 + CHANGED), seed, tally, Mutator(seed))
        except (Exception, AssertionError):
            fault = traceback.format_exc()
        finally:
            os.chdir("/")
    return {
        "sort": sort,
        "seed": seed,
        "inputs": tally.inputs,
        "different": len(tally.different),
        "cpu_seconds": round(time.process_time() - begun, 2),
        "slowest": tally.slowest,
        "gigabytes": round(tally.gigabytes, 2),
        "fault": fault,
    }


def main(file: str, *wanted: str) -> None:
    path = Path(file).absolute()
    counts = {sort: int(count) for sort, count in (word.split("=") for word in wanted)}
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(line["sort"], line["seed"]) for line in map(json.loads, lines)}
    most = max(counts.values(), default=0)
    for seed in range(-(-most // CHUNK)):
        for sort in SORTS:
            if (sort, seed) in done or seed * CHUNK >= counts.get(sort, 0):
                continue
            with path.open("a") as out:
                out.write(json.dumps(chunk(sort, seed, CHUNK)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
