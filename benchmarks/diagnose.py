"""How often `diagnose` is right, and how often it finds what is not there.

    python -m benchmarks diagnose                      everything (hours)
    python -c "from benchmarks.diagnose import main; main('values', 30, first_seed=1000)"

Every line is one case: how often right (or how often something was detected), a 95 % binomial
interval, CPU seconds per diagnosis, and what else was said.
"""

import sys
import time
from collections import Counter

import numpy as np
from scipy import stats

from benchmarks import diagnose_cases as cases

SHOWN = 3


def binomial(hits: int, of: int) -> str:
    low, high = stats.binomtest(hits, of).proportion_ci()
    return f"{hits}/{of} [{low:.3f}, {high:.3f}]"


def said(found) -> str:
    parts = [str(found.memory), str(found.reason or ""), str(list(found.lag_numbers) or "")]
    parts += [str(found.tail.shape) if found.tail else ""]
    parts += [str([e.lags for e in found.map])] if found.map else []
    if found.clock:
        parts.append(
            f"clock {found.clock.degree} {[round(p.length, 1) for p in found.clock.periods]}"
        )
        parts += [f"step {found.clock.step}"] if found.clock.step is not None else []
    return " ".join(filter(None, parts))


def run(name: str, make, right, repetitions: int, first_seed: int, **options) -> None:
    from headcount.diagnose import diagnose

    hits, else_said, spent, shares = 0, Counter(), 0.0, []
    for seed in range(first_seed, first_seed + repetitions):
        arguments = make(np.random.default_rng([77, seed]))
        started = time.process_time()
        found = diagnose(**arguments, seed=seed, advise=False, **options)
        spent += time.process_time() - started
        good = right(found)
        hits += good
        shares += [found.share] if found.share is not None else []
        if not good:
            else_said[said(found)] += 1
    told = "; ".join(f"{count}x {what}" for what, count in else_said.most_common(SHOWN))
    share = f" share {np.min(shares):.2f}..{np.max(shares):.2f}" if shares else ""
    print(
        f"{name}: {binomial(hits, repetitions)} {spent / repetitions:.2f} s{share} | {told}",
        flush=True,
    )


def detected(found) -> bool:
    """Something was said to be there: a named memory, or something found that did not hold."""
    return found.memory != "none"


def main(
    which: str = "all", repetitions: int = 30, first_seed: int = 1000, only: str = "", **options
) -> None:
    """`only` is a part of the names of the cases to run."""
    options = {"learner": False, **options}
    if which in ("values", "all"):
        for name, case in cases.VALUES.items():
            if only in name:
                run(name, case.make, case.right, repetitions, first_seed, **options)
    if which in ("tokens", "all"):
        for name, case in cases.TOKENS.items():
            if only in name:
                run(name, case.make, case.right, repetitions, first_seed, **options)
    if which in ("nulls", "token-nulls", "all"):
        made = cases.NULLS if which == "nulls" else cases.TOKEN_NULLS
        made = {**cases.NULLS, **cases.TOKEN_NULLS} if which == "all" else made
        count = 200 if which == "all" else repetitions
        for name, make in made.items():
            if only in name:
                run(f"false detections, {name}", make, detected, count, first_seed, **options)


if __name__ == "__main__":
    words = sys.argv[1:]
    main(*(words[:1] or ["all"]), *(int(word) for word in words[1:3]), *words[3:])
