"""Interleaved timing: every round runs each candidate once, so that a noisy machine slows all of them alike."""

import statistics
import time
from collections.abc import Callable


def interleaved(
    candidates: dict[str, Callable[[], object]], rounds: int = 7, summary: Callable[[list[float]], float] = statistics.median
) -> dict[str, float]:
    """Seconds of each candidate over interleaved rounds, after one warm-up call each: the median, or another summary."""
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: summary(times) for name, times in seconds.items()}
