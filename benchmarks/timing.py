"""Interleaved timing: every round runs each candidate once, so that a noisy machine slows all of
them alike.
"""

import statistics
import time
from collections.abc import Callable


def interleaved(
    candidates: dict[str, Callable[[], object]],
    rounds: int = 7,
    summary: Callable[[list[float]], float] = statistics.median,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds of each candidate over interleaved rounds, after one warm-up call each: the median,
    or another summary.

    `time.process_time` as the clock counts CPU seconds, which a busy machine disturbs less.
    """
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return {name: summary(times) for name, times in seconds.items()}
