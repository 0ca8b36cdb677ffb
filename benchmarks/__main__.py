"""`python -m benchmarks` runs all; `python -m benchmarks experiment_1b attention` runs some.
Each has a process of its own.
"""

import os
import subprocess
import sys

NAMES = (
    "experiment_1b",
    "training",
    "step_parts",
    "attention",
    "language_model",
    "language_model_parts",
    "workers",
    "latency",
    "fit_speed",
    "fit_tables",
    "bounds_tables",
    "diagnose",
    "bounds_tightness",
    "server",
    "finite_sample",
    "store",
    "report",
)
# XLA sizes its pools by the cores it sees, and a second thread costs the small steps of `training`
# half of their speed.
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1"}

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(
                f"error: no benchmark {name!r}; expected one of {', '.join(NAMES)}; check the"
                " spelling"
            )
        print(f"== {name}", flush=True)
        setting = ONE_THREAD if name in ("training", "step_parts", "language_model_parts") else {}
        done = subprocess.run(
            [sys.executable, "-c", f"from benchmarks import {name}; {name}.main()"],
            env={**os.environ, **setting},
        )
        if done.returncode:
            sys.exit(done.returncode)
