"""`python -m benchmarks` runs all; `python -m benchmarks experiment_1b attention` runs some."""

import importlib
import sys

NAMES = ("experiment_1b", "training", "attention", "language_model", "workers", "fit_speed", "fit_tables", "bounds_tables")

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"error: no benchmark {name!r}; expected one of {', '.join(NAMES)}; check the spelling")
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").main()
